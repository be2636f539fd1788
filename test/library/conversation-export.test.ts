/** Conversations as documents of other programs. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bodyOf } from '../../src/domain/values/message.js'
import { atifSchema } from '../../src/application/importers/atif-schema.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { exportedDocument, type DocumentFormat } from '../../src/library/conversation-export.js'
import { longTest } from '../support/length.js'
import { messagesOf } from '../support/read-back.js'
import { realTranscripts } from '../support/real-transcripts.js'

const EXAMPLE = 'examples/claude-code-session.jsonl'
const ID = 'claude-code/3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'

let ledger: Ledger
let folder: string

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
  await ledger.transcripts.import(EXAMPLE)
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-'))
})
afterAll(async () => {
  await ledger.close()
  await rm(folder, { recursive: true, force: true })
})

async function exported(id: string, format: DocumentFormat): Promise<string> {
  return await exportedDocument(ledger, id, format, await ledger.admin.secrets.redactor({ redaction: 'on' }))
}

/** Exports a conversation as ATIF and imports the file. */
async function roundTrip(id: string): Promise<{ readonly before: unknown[]; readonly after: unknown[] }> {
  const text = await exported(id, 'atif')
  expect(atifSchema.safeParse(JSON.parse(text)).error?.issues ?? []).toEqual([])
  const file = join(folder, 'trajectory.json')
  await writeFile(file, text)
  const { conversations, damage } = await ledger.transcripts.import(file, { from: 'atif' })
  expect(damage).toEqual([])
  const withdrawn = new Set<string>()
  for await (const { type, data } of ledger.log(id))
    if (type === 'MessagesWithdrawn') for (const { messageId } of data.messages) withdrawn.add(messageId)
  const before = (await messagesOf(ledger, id)).filter(({ messageId }) => !withdrawn.has(messageId))
  return {
    before: before.map(bodyOf),
    after: (await messagesOf(ledger, conversations[0]?.conversationId ?? '')).map(bodyOf),
  }
}

describe('a conversation', () => {
  it('is imported from ATIF as it was exported', async () => {
    const { before, after } = await roundTrip(ID)
    expect(before.length).toBeGreaterThan(20)
    expect(after).toEqual(before)
    expect((await ledger.admin.verify(`atif/${ID}`)).ok).toBe(true)
    const { steps } = atifSchema.parse(JSON.parse(await exported(ID, 'atif')))
    expect(JSON.parse(await exported(`atif/${ID}`, 'atif'))).toMatchObject({ steps })
  })

  it('is a list of messages for the APIs of OpenAI and Anthropic, and Markdown for people', async () => {
    const id = 'berths'
    await ledger.append(id, [
      { role: 'system', content: 'You answer briefly.' },
      { role: 'user', content: 'Which berths are free?' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'query', arguments: '{"day":"Friday"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'Berth ```4```' },
      { role: 'assistant', content: 'Berth 4.' },
    ])
    expect(JSON.parse(await exported(id, 'openai'))).toMatchObject({
      messages: [
        { role: 'system', content: 'You answer briefly.' },
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'query' } }] },
        { role: 'tool', tool_call_id: 'c1' },
        { role: 'assistant', content: 'Berth 4.' },
      ],
    })
    expect(JSON.parse(await exported(id, 'anthropic'))).toEqual({
      system: 'You answer briefly.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Which berths are free?' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'query', input: { day: 'Friday' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'Berth ```4```' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'Berth 4.' }] },
      ],
    })
    const markdown = await exported(id, 'markdown')
    expect(markdown).toContain('# berths\n\n## System\n')
    expect(markdown).toContain('**query**\n\n```json\n{"day":"Friday"}\n```')
    expect(markdown).toContain('## Result of query\n')
    expect(markdown).toContain('````\nBerth ```4```\n````')
  })

  it.each(['atif', 'openai', 'anthropic', 'markdown'] as const)('has no secret as %s', async (format) => {
    const secret = `ghp_${'a1B2'.repeat(9)}`
    const id = `old-${format}`
    await ledger.append(id, { role: 'user', content: `The token is ${secret}.` }, { policy: { redaction: 'off' } })
    const text = await exported(id, format)
    expect(text).toContain('The token is ')
    expect(text).not.toContain(secret)
  })
})

longTest('real sessions are imported from ATIF as they were exported', async () => {
  let messages = 0
  for (const { path } of await realTranscripts()) {
    const { conversations } = await ledger.transcripts.import(path)
    for (const { conversationId } of conversations.filter((each) => each.messages > 0)) {
      const { before, after } = await roundTrip(conversationId)
      expect([conversationId, after]).toEqual([conversationId, before])
      messages += before.length
    }
  }
  expect(messages).toBeGreaterThan(0)
})
