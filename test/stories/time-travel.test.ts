/**
 * An auditor comes later: conversations are imported into a folder, message by message under two windows, and what the
 * library returned at random moments is kept as text. When all is over and the ledger was closed, each context as of
 * then is the same byte for byte: by revision, by time where no later fact has the same, and on the command line.
 * `CONTEXT_LEDGER_DATA` names a folder of conversations (by default one short one); what was compared is told on
 * standard error.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { openLedger, type Context, type Ledger, type MessageInput } from '../../src/index.js'
import { runCli } from '../support/cli.js'
import { jsonAs } from '../support/json.js'
import { longTest } from '../support/length.js'

jest.setTimeout(3_600_000)

const IMPORTS = process.env['CONTEXT_LEDGER_DATA']
const SAMPLE = 'examples/sample-conversation.jsonl'
// The sample is too short to fill the windows that the conversations of a folder fill.
const WINDOWS = IMPORTS === undefined ? [1_500, 4_000] : [8_000, 32_000]
const MOMENTS = 20
const CLI_CALLS = IMPORTS === undefined ? 2 : 10

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function files(): Promise<string[]> {
  if (IMPORTS === undefined) return [SAMPLE]
  return (await readdir(IMPORTS, { recursive: true }))
    .filter((name) => name.endsWith('.jsonl') && !/manifest|questions|sessions|compactions/u.test(name))
    .toSorted()
    .map((name) => join(IMPORTS, name))
}

interface Line extends MessageInput {
  readonly type?: string
}

async function messagesIn(file: string): Promise<MessageInput[]> {
  return (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => jsonAs<Line>(line))
    .filter(({ type }) => type !== 'conversation')
}

const asText = (context: Context): string =>
  JSON.stringify(context, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part))

/** What the library returned, and where the conversation stood. */
interface Seen {
  readonly conversationId: string
  readonly revision: bigint
  readonly text: string
}

let folder: string
let store: string
let conversations: string[]
let seen: Seen[]

async function live(
  ledger: Ledger,
  conversationId: string,
  messages: readonly MessageInput[],
  modelMaxTokens: number,
  random: () => number,
): Promise<Seen[]> {
  const found = new Map<bigint, Seen>()
  const look = async (): Promise<void> => {
    const context = await ledger.context(conversationId)
    found.set(context.revision, { conversationId, revision: context.revision, text: asText(context) })
  }
  // Twice a message there is something to see: right behind it, with its compaction under way, and when that is done.
  // One of the two is looked at, so that each look is at a revision of its own.
  const places = new Map<number, 'behind' | 'settled'>()
  while (places.size < Math.min(MOMENTS, messages.length))
    places.set(Math.floor(random() * messages.length), random() < 0.5 ? 'behind' : 'settled')
  for (const [at, message] of messages.entries()) {
    await ledger.append(conversationId, message, { policy: { modelMaxTokens } })
    if (places.get(at) === 'behind') await look()
    await ledger.settled(conversationId)
    if (places.get(at) === 'settled') await look()
  }
  return [...found.values()]
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-as-of-'))
  store = join(folder, 'ledger')
  conversations = []
  seen = []
  const random = randomOf(20_261_121)
  const ledger = await openLedger({ store })
  const began = performance.now()
  for (const file of await files()) {
    const messages = await messagesIn(file)
    for (const modelMaxTokens of WINDOWS) {
      const conversationId = `${basename(file, '.jsonl')} at ${String(modelMaxTokens)}`
      conversations.push(conversationId)
      seen.push(...(await live(ledger, conversationId, messages, modelMaxTokens, random)))
    }
  }
  await ledger.close()
  process.stderr.write(
    `${String(conversations.length)} conversations imported in ${((performance.now() - began) / 1_000).toFixed(0)} s, ${String(seen.length)} contexts kept\n`,
  )
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

describe('what was returned live', () => {
  it('is what is returned as of its revision, and as of its time, byte for byte', async () => {
    const ledger = await openLedger({ store })
    const different: string[] = []
    let byTime = 0
    const times: number[] = []
    try {
      for (const { conversationId, revision, text } of seen) {
        const began = performance.now()
        const then = await ledger.context(conversationId, { at: revision })
        times.push(performance.now() - began)
        if (asText(then) !== text) different.push(`${conversationId} at revision ${String(revision)}`)
        const { recordedAt } = await ledger.messages(conversationId, { at: revision })
        const atTime = await ledger.context(conversationId, { at: recordedAt })
        expect(atTime.revision).toBeGreaterThanOrEqual(revision)
        // A batch and its prune have one time; then the time means the last of them.
        if (atTime.revision !== revision) continue
        byTime += 1
        if (asText(atTime) !== text) different.push(`${conversationId} at ${recordedAt}`)
      }
    } finally {
      await ledger.close()
    }
    times.sort((a, b) => a - b)
    process.stderr.write(
      `${String(seen.length)} contexts compared by revision (median ${(times[Math.floor(times.length / 2)] ?? 0).toFixed(1)} ms) and ${String(byTime)} of them by time; ${String(different.length)} differ\n`,
    )
    expect(different).toEqual([])
    expect(seen.length).toBeGreaterThan(conversations.length * 10)
    expect(byTime).toBeGreaterThan(seen.length / 3)
  })

  it('is what every cycle recorded', async () => {
    const ledger = await openLedger({ store })
    let cycles = 0
    const different: string[] = []
    try {
      for (const conversationId of conversations) {
        for await (const event of ledger.log(conversationId)) {
          if (event.type !== 'MessagesPruned') continue
          cycles += 1
          if ((await ledger.context(conversationId, { at: event.revision })).hash !== event.data.contextHash)
            different.push(`${conversationId} at revision ${String(event.revision)}`)
          const other = await ledger.context(conversationId, { at: event.revision, view: 'session-summary' })
          if (other.inForce?.hash !== event.data.contextHash || other.hash === event.data.contextHash)
            different.push(`${conversationId}, the other view at revision ${String(event.revision)}`)
        }
      }
    } finally {
      await ledger.close()
    }
    process.stderr.write(
      `${String(cycles)} cycles: the context as of each has the hash that it recorded, but for ${String(different.length)}\n`,
    )
    expect(different).toEqual([])
    expect(cycles).toBeGreaterThan(5)
  })

  longTest('is what the command line shows', async () => {
    const random = randomOf(7)
    let compared = 0
    for (let call = 0; call < CLI_CALLS; call += 1) {
      const one = seen[Math.floor(random() * seen.length)]
      if (one === undefined) continue
      const { stdout, stderr, status } = await runCli(
        ['context', one.conversationId, '--at', String(one.revision), '--json', '--store', store],
        { cwd: folder },
      )
      expect([status, stderr]).toEqual([0, ''])
      const { messageIds: _ids, viewAt: _viewAt, ...document } = jsonAs<Record<string, unknown>>(one.text)
      // The command's document has its fields in an order of its own; the messages, which are what a model gets, are
      // compared as text.
      expect(jsonAs<Record<string, unknown>>(stdout)).toEqual(document)
      expect(stdout).toContain(`"messages":${JSON.stringify(document['messages'])}`)
      compared += 1
    }
    process.stderr.write(`${String(compared)} contexts compared on the command line\n`)
    expect(compared).toBe(CLI_CALLS)
  })
})
