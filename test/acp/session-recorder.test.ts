/** The lines of a connection, as they are recorded. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { LedgerError } from '../../src/lib/ledger-error.js'
import { SessionRecorder, type RecorderOptions } from '../../src/interfaces/acp/session-recorder.js'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openLedger({ store: 'memory' })
})
afterEach(() => ledger.close())

const CLOSE_MS = 60_000
let seconds = 0
const lineOf = (from: string, message: object): string => {
  seconds += 1
  const at = new Date(Date.UTC(2026, 10, 30) + seconds * 1_000).toISOString()
  return `${from} ${at} ${JSON.stringify({ jsonrpc: '2.0', ...message })}`
}
const request = (id: number, method: string, params: object): string => lineOf('client', { id, method, params })
const answer = (id: number, result: object): string => lineOf('agent', { id, result })
const update = (fields: object): string =>
  lineOf('agent', { method: 'session/update', params: { sessionId: 's1', update: fields } })
const streamed = (text: string): string =>
  update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
const prompt = (id: number, text: string): string =>
  request(id, 'session/prompt', { sessionId: 's1', prompt: [{ type: 'text', text }] })

const begin = [request(0, 'session/new', { cwd: '/quay', mcpServers: [] }), answer(0, { sessionId: 's1' })]
const turn = (id: number, text: string, ...pieces: readonly string[]): string[] => [
  prompt(id, text),
  ...pieces.map(streamed),
  answer(id, { stopReason: 'end_turn' }),
]

function recorderOf(options: Partial<RecorderOptions> = {}): SessionRecorder {
  return new SessionRecorder({
    name: `connection-${String(seconds)}`,
    withLedger: (work) => work(ledger),
    rules: [],
    onProblem: () => undefined,
    // The time for the rest is not over; otherSession pauses are short.
    wait: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (milliseconds < CLOSE_MS) setImmediate(resolve)
        signal.addEventListener('abort', resolve)
      }),
    ...options,
  })
}

async function recorded(lines: readonly string[], options: Partial<RecorderOptions> = {}) {
  const recorder = recorderOf(options)
  for (const line of lines) {
    recorder.take(line)
    await new Promise(setImmediate)
  }
  return await recorder.close(CLOSE_MS)
}

async function recordedContents(): Promise<readonly unknown[]> {
  const contents: unknown[] = []
  for await (const { type, data } of ledger.log('acp/s1')) if (type === 'MessageAppended') contents.push(data.content)
  return contents
}

it('each message is recorded once, however its pieces come', async () => {
  const lines = [...begin, ...turn(1, 'One.', 'Fi', 'r', 'st.'), ...turn(2, 'Two.', 'Second.')]
  expect(await recorded(lines)).toEqual({ unreadable: 0, messages: 0, reason: undefined })
  expect(await recordedContents()).toEqual(['One.', 'First.', 'Two.', 'Second.'])
})

it('a session that is loaded in another connection goes on where it was', async () => {
  await recorded([...begin, ...turn(1, 'continue', 'Done.')])
  const replayed = update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'continue' } })
  await recorded([
    request(0, 'session/load', { sessionId: 's1', cwd: '/quay', mcpServers: [] }),
    replayed,
    streamed('Done.'),
    answer(0, {}),
    ...turn(1, 'continue', 'Done.'),
  ])
  expect(await recordedContents()).toEqual(['continue', 'Done.', 'continue', 'Done.'])
  // Resumed without its messages.
  await recorded([
    request(0, 'session/resume', { sessionId: 's1', cwd: '/quay' }),
    answer(0, {}),
    ...turn(1, 'continue'),
  ])
  expect(await recordedContents()).toHaveLength(5)
})

it('a ledger that is locked, or opened again, gets everything once', async () => {
  let calls = 0
  const problems: unknown[] = []
  const left = await recorded(
    [...begin, ...turn(1, 'One.', 'First.'), ...turn(2, 'Two.', 'Second.'), ...turn(3, 'Three.')],
    {
      onProblem: (problem) => problems.push(problem),
      withLedger: (work) => {
        calls += 1
        if (calls % 2 === 1) throw new LedgerError('FolderLocked', 'another process has it')
        // Another object: the directory was closed meanwhile.
        return work(Object.create(ledger))
      },
    },
  )
  expect(left).toMatchObject({ messages: 0 })
  expect(await recordedContents()).toEqual(['One.', 'First.', 'Two.', 'Second.', 'Three.'])
  expect(problems.length).toBeGreaterThan(0)
})

it('messages that cannot be recorded in time, and otherSession lines, are counted', async () => {
  const locked = new LedgerError('FolderLocked', 'another process has it')
  const recorder = recorderOf({ withLedger: () => Promise.reject(locked) })
  for (const line of [...begin, 'no JSON', 'agent 2026-11-30T10:00:00.000Z null']) recorder.take(line)
  const { unreadable, messages, reason } = await recorder.close(0)
  expect([unreadable, messages]).toEqual([2, 2])
  expect([undefined, locked]).toContain(reason)
})

it('after each compaction there is a note, also if the agent writes no summary', async () => {
  const notes: (readonly string[])[] = []
  const usage = (used: number): string => update({ sessionUpdate: 'usage_update', used, size: 100_000 })
  const rule = 'Never touch plan.txt, and write all amounts in cents.'
  const lines = [...begin, prompt(1, rule), streamed('Noted.'), usage(90_000), answer(1, { stopReason: 'end_turn' })]
  await recorded(
    [...lines, prompt(2, 'Go on.'), usage(9_000), streamed('On.'), answer(2, { stopReason: 'end_turn' })],
    {
      onNote: (...note) => notes.push(note),
    },
  )
  expect(notes).toEqual([['s1', expect.stringContaining('Never touch plan.txt')]])
  const { problems } = await ledger.admin.verify()
  expect(problems).toEqual([])
})

it('a session that the ledger rejects does not stop the others', async () => {
  await ledger.close()
  ledger = await openLedger({ store: 'memory', erasable: true })
  await recorded([...begin, ...turn(1, 'One.', 'First.')])
  await ledger.admin.erasure.run({ conversationId: 'acp/s1' }, { reason: 'asked for' })
  const otherSession = [request(2, 'session/new', { cwd: '/quay', mcpServers: [] }), answer(2, { sessionId: 's2' })]
  const prompted = request(3, 'session/prompt', { sessionId: 's2', prompt: [{ type: 'text', text: 'Two.' }] })
  const { messages } = await recorded([
    ...begin,
    ...turn(1, 'More.', 'Second.'),
    ...otherSession,
    prompted,
    answer(3, { stopReason: 'end_turn' }),
  ])
  expect(messages).toBeGreaterThan(0)
  expect((await ledger.context('acp/s2')).messages.map(({ content }) => content)).toEqual(['Two.'])
})

it('a session of a scope goes on where it was', async () => {
  const scope = 'acme'
  await recorded([...begin, ...turn(1, 'continue', 'Done.')], { scope })
  await recorded(
    [request(0, 'session/resume', { sessionId: 's1', cwd: '/quay' }), answer(0, {}), ...turn(1, 'continue')],
    { scope },
  )
  const { conversations } = await ledger.list({ scope })
  expect(conversations).toMatchObject([{ messages: 3 }])
})
