/**
 * A later audit: conversations are imported into a folder, message by message with two windows, and contexts that the
 * library returned at random moments are saved as text. After the ledger was closed, the context as of each moment is
 * the same byte for byte: by revision, by time if no later event has the same time, and on the command line.
 * `CONTEXT_LEDGER_DATA` names a folder of conversations (default: one short one). The counts are printed on standard
 * error.
 */
import { toWire } from '../../src/domain/values/revision.js'
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
// The sample is too short for the windows that the conversations of a folder fill.
const WINDOWS = IMPORTS === undefined ? [1_500, 4_000] : [8_000, 32_000]
const MOMENTS = 20
const CLI_CALLS = IMPORTS === undefined ? 2 : 10

/** Random numbers from 0 up to 1 for a seed (mulberry32). */
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

const asText = (context: Context): string => toWire(context)

/** A context that the library returned, and its revision. */
interface Sample {
  readonly conversationId: string
  readonly revision: number
  readonly text: string
}

let folder: string
let store: string
let conversations: string[]
let samples: Sample[]

async function live(
  ledger: Ledger,
  conversationId: string,
  messages: readonly MessageInput[],
  modelMaxTokens: number,
  random: () => number,
): Promise<Sample[]> {
  const found = new Map<number, Sample>()
  const takeSample = async (): Promise<void> => {
    const context = await ledger.context(conversationId)
    found.set(context.revision, { conversationId, revision: context.revision, text: asText(context) })
  }
  // After a message there are two moments: directly after it, while its compaction runs, and after that has finished.
  // Only one of the two is sampled, so that each sample has another revision.
  const moments = new Map<number, 'appended' | 'settled'>()
  while (moments.size < Math.min(MOMENTS, messages.length))
    moments.set(Math.floor(random() * messages.length), random() < 0.5 ? 'appended' : 'settled')
  for (const [at, message] of messages.entries()) {
    await ledger.append(conversationId, message, { policy: { modelMaxTokens } })
    if (moments.get(at) === 'appended') await takeSample()
    await ledger.admin.waitForCompaction(conversationId)
    if (moments.get(at) === 'settled') await takeSample()
  }
  return [...found.values()]
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-as-of-'))
  store = join(folder, 'ledger')
  conversations = []
  samples = []
  const random = randomOf(20_261_121)
  const ledger = await openLedger({ store })
  const startedAt = performance.now()
  for (const file of await files()) {
    const messages = await messagesIn(file)
    for (const modelMaxTokens of WINDOWS) {
      const conversationId = `${basename(file, '.jsonl')} at ${String(modelMaxTokens)}`
      conversations.push(conversationId)
      samples.push(...(await live(ledger, conversationId, messages, modelMaxTokens, random)))
    }
  }
  await ledger.close()
  process.stderr.write(
    `${String(conversations.length)} conversations imported in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s, ${String(samples.length)} contexts saved\n`,
  )
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

describe('a context that was returned live', () => {
  it('equals the context as of its revision and as of its time, byte for byte', async () => {
    const ledger = await openLedger({ store })
    const different: string[] = []
    let byTime = 0
    const times: number[] = []
    try {
      for (const { conversationId, revision, text } of samples) {
        const startedAt = performance.now()
        const atRevision = await ledger.context(conversationId, { at: revision })
        times.push(performance.now() - startedAt)
        if (asText(atRevision) !== text) different.push(`${conversationId} at revision ${String(revision)}`)
        const { recordedAt } = await ledger.messages(conversationId, { at: revision })
        const atTime = await ledger.context(conversationId, { at: recordedAt })
        expect(atTime.revision).toBeGreaterThanOrEqual(revision)
        // A batch and its prune have the same time, which then means the later of the two.
        if (atTime.revision !== revision) continue
        byTime += 1
        if (asText(atTime) !== text) different.push(`${conversationId} at ${recordedAt}`)
      }
    } finally {
      await ledger.close()
    }
    times.sort((a, b) => a - b)
    process.stderr.write(
      `${String(samples.length)} contexts compared by revision (median ${(times[Math.floor(times.length / 2)] ?? 0).toFixed(1)} ms) and ${String(byTime)} of them by time; ${String(different.length)} differ\n`,
    )
    expect(different).toEqual([])
    expect(samples.length).toBeGreaterThan(conversations.length * 10)
    expect(byTime).toBeGreaterThan(samples.length / 3)
  })

  it('has the hash that its cycle recorded', async () => {
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
          const summaryView = await ledger.context(conversationId, { at: event.revision, view: 'session-summary' })
          if (summaryView.inForce?.hash !== event.data.contextHash || summaryView.hash === event.data.contextHash)
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

  longTest('equals the context that the command line prints', async () => {
    const random = randomOf(7)
    let compared = 0
    for (let call = 0; call < CLI_CALLS; call += 1) {
      const one = samples[Math.floor(random() * samples.length)]
      if (one === undefined) continue
      const { stdout, stderr, status } = await runCli(
        ['context', one.conversationId, '--at', String(one.revision), '--json', '--store', store],
        { cwd: folder },
      )
      expect([status, stderr]).toEqual([0, ''])
      const { messageIds: _ids, ...document } = jsonAs<Record<string, unknown>>(one.text)
      // The fields of the command's document have another order; the messages, which a model receives, are compared as
      // text.
      expect(jsonAs<Record<string, unknown>>(stdout)).toEqual(document)
      expect(stdout).toContain(`"messages":${JSON.stringify(document['messages'])}`)
      compared += 1
    }
    process.stderr.write(`${String(compared)} contexts compared on the command line\n`)
    expect(compared).toBe(CLI_CALLS)
  })
})
