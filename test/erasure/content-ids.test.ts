/**
 * Ids that importers make from content, for programs that give none: in an erasable ledger they are keyed, so that they
 * do not confirm a guess of an erased text. Importing again records nothing.
 */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { runMigrateLog } from '../../src/interfaces/cli/migrate/migrate-log.js'
import { sha256 } from '../../src/domain/values/hash.js'
import * as places from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { isLong, longTest } from '../support/length.js'

jest.setTimeout(120_000)

const SECRET = 'Ursula Zwickel lives at Quellenweg 17'

const task = [
  { role: 'user', content: [{ type: 'text', text: `<task>${SECRET}</task>` }] },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', name: 'read_file', input: { path: 'a' } },
    ],
  },
  { role: 'user', content: [{ type: 'text', text: 'Thank you.' }] },
]
const opening = [
  { role: 'system', content: 'You fix.' },
  { role: 'user', content: SECRET },
  { role: 'assistant', content: 'Done.' },
]
const step = { action: 'ls', observation: 'a', response: 'I list.', thought: 'I list.' }

/** One transcript of each program that gives no ids to records or runs. */
const TRANSCRIPTS: readonly (readonly [program: string, path: string, content: unknown])[] = [
  ['cline', 'saoudrizwan.claude-dev/tasks/1773129600000/api_conversation_history.json', task],
  [
    'roo',
    'rooveterinaryinc.roo-cline/tasks/1773129600001/api_conversation_history.json',
    task.map((record, at) => ({ ...record, ts: 1_773_129_600_000 + at })),
  ],
  ['mini-swe-agent', 'a.traj.json', { messages: opening, info: {}, trajectory_format: 'mini-swe-agent-1.1' }],
  [
    'swe-agent',
    'task-1.traj',
    { history: opening.map((entry) => ({ ...entry, agent: 'main' })), trajectory: [step], info: {} },
  ],
  [
    'openhands',
    'events.json',
    [
      { id: 0, timestamp: '2026-01-01T10:00:00', source: 'user', action: 'message', args: { content: SECRET } },
      { id: 1, timestamp: '2026-01-01T10:00:01', source: 'agent', action: 'message', args: { content: 'Noted.' } },
    ],
  ],
]

let folder: string
const opened: Ledger[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-ids-'))
})
afterEach(async () => {
  for (const ledger of opened.splice(0)) await ledger.close()
  await rm(folder, { recursive: true, force: true })
})

async function open(options: Parameters<typeof places.openLedger>[0]): Promise<Ledger> {
  const ledger = await places.openLedger(options)
  opened.push(ledger)
  return ledger
}

async function write(path: string, content: unknown): Promise<string> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, JSON.stringify(content))
  return file
}

/** Imports the file. A byte that means nothing is added, so that it counts as changed. */
async function importAgain(ledger: Ledger, file: string) {
  await writeFile(file, `${await readFile(file, 'utf8')}\n`)
  const { program, unchanged, conversations } = await ledger.transcripts.import(file)
  const [conversation] = conversations
  if (conversation === undefined || unchanged) throw new Error(`${program} was not read`)
  return conversation
}

async function logOf(ledger: Ledger, conversationId: string): Promise<string> {
  const events: unknown[] = [conversationId]
  for await (const event of ledger.log(conversationId)) events.push(event)
  return JSON.stringify(events)
}

/** What an id from content looks like. */
const idsIn = (text: string): string[] => text.match(/(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])/gu) ?? []

it.each(isLong ? TRANSCRIPTS : TRANSCRIPTS.slice(0, 1))(
  '%s: no id of an erasable ledger can be computed from a guess',
  async (program, path, content) => {
    const file = await write(path, content)
    const plain = await open({ store: 'memory' })
    const erasable = await open({ store: 'memory', erasable: true, keys: createMemoryKeyVault() })
    const guessed = await importAgain(plain, file)
    const recorded = await importAgain(erasable, file)
    expect(recorded.conversationId.startsWith(`${program}/`)).toBe(true)
    const guesses = idsIn(await logOf(plain, guessed.conversationId))
    expect(guesses).not.toEqual([])
    const ids = idsIn(await logOf(erasable, recorded.conversationId))
    expect(ids.length).toBe(guesses.length)
    expect(ids.filter((id) => guesses.includes(id))).toEqual([])

    // Importing again records nothing, also after an erasure.
    expect(await importAgain(erasable, file)).toMatchObject({ conversationId: recorded.conversationId, messages: 0 })
    const messageIds: string[] = []
    for await (const { type, data } of erasable.log(recorded.conversationId))
      if (type === 'MessageAppended' && JSON.stringify(data).includes(SECRET)) messageIds.push(data.messageId)
    expect(messageIds).toHaveLength(1)
    const [messageId = ''] = messageIds
    await erasable.admin.erasure.run({ conversationId: recorded.conversationId, messageId }, { reason: 'r' })
    expect(await importAgain(erasable, file)).toMatchObject({ conversationId: recorded.conversationId, messages: 0 })
    expect(await logOf(erasable, recorded.conversationId)).not.toContain('Zwickel')
    expect((await erasable.list()).conversations).toHaveLength(1)
  },
)

longTest('a converted log recognizes transcripts that were imported before the conversion', async () => {
  const [from, to, keys] = ['plain', 'erasable', 'keys'].map((name) => join(folder, name))
  const plain = await places.openLedger({ store: from ?? '' })
  const files: [string, string, number][] = []
  for (const [program, path, content] of TRANSCRIPTS) {
    const file = await write(path, content)
    const { conversationId, messages } = await importAgain(plain, file)
    expect([program, messages]).toEqual([program, expect.any(Number)])
    expect(messages).toBeGreaterThan(0)
    files.push([file, conversationId, messages])
  }
  await plain.close()
  const spy = jest.spyOn(process.stdout, 'write').mockReturnValue(true)
  await runMigrateLog(
    { from, to, keys, fromDatabase: undefined, toDatabase: undefined, overwrite: false, erasable: true, json: true },
    places,
  )
  spy.mockRestore()
  const erasable = await open({ store: to ?? '', keys: keys ?? '' })
  for (const [file, conversationId, messages] of files)
    expect(await importAgain(erasable, file)).toMatchObject({ conversationId, messages: 0, known: messages })

  // The database notes which files were imported. In an erasable ledger this says nothing of their content either.
  expect((await erasable.transcripts.import(files[0]?.[0] ?? '')).unchanged).toBe(true)
  for (const ledger of opened.splice(0)) await ledger.close()
  const digests = await Promise.all(files.map(async ([file]) => sha256(await readFile(file, 'utf8'))))
  expect(await whichAreIn(to ?? '', digests)).toEqual([])
  const reopened = await places.openLedger({ store: from ?? '' })
  for (const [file] of files) await reopened.transcripts.import(file)
  await reopened.close()
  expect(await whichAreIn(from ?? '', digests)).toEqual(digests)
})

/** Which of the texts are in a file of the folder. */
async function whichAreIn(at: string, texts: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  for (const entry of await readdir(at, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const content = await readFile(join(entry.parentPath, entry.name))
    for (const text of texts) if (content.includes(text)) found.add(text)
  }
  return texts.filter((text) => found.has(text))
}
