/** Copilot CLI: the context is what the program sends, before and after its own compaction. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contentText } from '../../src/domain/values/message.js'
import { openLedger, type Ledger } from '../../src/index.js'

let folder: string
let ledger: Ledger
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-copilot-'))
  ledger = await openLedger({ store: 'memory' })
})
afterAll(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

const time = (at: number): string => `2026-06-24T07:20:${String(at).padStart(2, '0')}.000Z`

/** Events of a session, each with an id by its position. */
const linesOf = (events: readonly (readonly [type: string, data: object])[]): string =>
  events
    .map(([type, data], at) =>
      JSON.stringify({ type, data, id: `e${String(at)}`, timestamp: time(at), parentId: null }),
    )
    .map((line) => `${line}\n`)
    .join('')

const answerOf = (content: string): readonly [string, object] => [
  'user.message',
  { content, transformedContent: `<current_datetime>${time(0)}</current_datetime>\n\n${content}` },
]
const answered = (content: string): readonly [string, object] => ['assistant.message', { messageId: content, content }]

it('sends the words of the user with the summary in one message after a compaction, and loses none of them', async () => {
  const path = join(folder, 'events.jsonl')
  await writeFile(
    path,
    linesOf([
      ['session.start', { sessionId: 's1', copilotVersion: '1.0.102' }],
      answerOf('Rule: never touch harbour_prod.'),
      ['system.message', { role: 'system', content: 'You are a terminal assistant.' }],
      answered('Understood.'),
      answerOf('Rig the mast.'),
      ['session.compaction_start', {}],
      answered('It is rigged.'),
      ['session.compaction_complete', { success: true, summaryContent: 'A mast was rigged.', trigger: 'threshold' }],
      answerOf('And the boom?'),
    ]),
  )
  const { conversations } = await ledger.transcripts.import(path)
  const { conversationId = '' } = conversations[0] ?? {}
  const { messages } = await ledger.context(conversationId)
  const texts = messages.filter(({ role }) => role !== 'system').map(({ content }) => contentText(content))
  expect(texts.slice(0, -2).join('\n')).toBe(
    [
      'Some of the conversation history has been summarized to free up context.',
      '',
      'You were originally given instructions from a user over one or more turns. Here were the user messages:',
      '<user_message>',
      'Rule: never touch harbour_prod.',
      '</user_message>',
      '<user_message>',
      'Rig the mast.',
      '</user_message>',
      '',
      'Here is a summary of the prior context:',
      '<summary>',
      'A mast was rigged.',
      '</summary>',
    ].join('\n'),
  )
  expect(texts.slice(-2)).toEqual(['It is rigged.', `<current_datetime>${time(0)}</current_datetime>\n\nAnd the boom?`])
  const listed = (await ledger.list()).conversations.map(({ title, lost }) => ({ title, lost }))
  expect(listed).toEqual([{ title: 'Rule: never touch harbour_prod.', lost: 0 }])
  expect((await ledger.transcripts.import(path)).conversations).toEqual([])
})
