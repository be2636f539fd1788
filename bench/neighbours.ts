/**
 * Two tenants of one service: answers to a quiet one before and during ten floods of another, and the longest time
 * that the event loop of the service was held. Each tenant has a thread of its own and its share of the machine.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { openService } from '../src/library/compose.js'
import { createKey } from '../src/interfaces/service/keys.js'
import { startService } from '../src/interfaces/service/server.js'
import { givenAt } from './support/bulk-log.js'
import { against, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { percentile } from './support/measure.js'
import { randomOf } from './support/text.js'
import type { TenantRequest, Work, Worked } from './support/tenants.js'

const SECONDS = 4
const PEPPER = 'a pepper of the benchmark, long enough'
const MOST_HOLD_MS = 100

const random = randomOf(7)

const post = (path: string, body: unknown): TenantRequest => ({ method: 'POST', path, body: JSON.stringify(body) })
const append = (messages: readonly object[]): TenantRequest => post('/v1/conversations/loud-#/messages', { messages })
const keys = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_none, at) => [`key${String(at)}`, at]))
const parts = (count: number): object[] => Array.from({ length: count }, () => ({ type: 'text', text: 'a' }))
const talk = (from: number, count: number): object[] =>
  Array.from({ length: count }, (_none, at) => ({ ...givenAt(from + at, random), id: `#-${String(from + at)}` }))

interface Flood {
  readonly requests: Readonly<Record<string, TenantRequest>>
  readonly atOnce: number
  readonly areStreams?: boolean
}

const one = (request: TenantRequest, atOnce: number): Flood => ({ requests: { request }, atOnce })

/** What a neighbour may send. Sizes are just below the limits of a body, or above them where the name says so. */
const floods: Readonly<Record<string, () => Flood>> = {
  'a body with 400,000 keys (refused)': () => one(append([{ role: 'user', content: 'a', extra: keys(400_000) }]), 4),
  'a message with 60,000 keys (refused)': () => one(append([{ role: 'user', content: 'a', extra: keys(60_000) }]), 4),
  'a message with 15,000 parts (refused)': () => one(append([{ role: 'user', content: parts(15_000) }]), 4),
  'a message with 9,900 keys': () => one(append([{ role: 'user', content: 'a', extra: keys(9_900) }]), 4),
  'a message with 3,300 parts': () => one(append([{ role: 'user', content: parts(3_300) }]), 4),
  '10,000 messages at once': () => one(append(talk(0, 10_000)), 2),
  'a text of 15 MB without blanks': () => one(append([{ role: 'user', content: 'x7'.repeat(7_500_000) }]), 2),
  '60 searches at once': () => one(post('/v1/search', { query: 'berth crane', conversationId: 'loud-long' }), 60),
  '2,000 event streams': () => ({
    ...one({ method: 'GET', path: '/v1/conversations/loud-long/events' }, 2_000),
    areStreams: true,
  }),
  '64 appending clients': () => one(append(talk(0, 1)), 64),
}

const quietRequests: Readonly<Record<string, TenantRequest>> = {
  append: post('/v1/conversations/quiet-a/messages', { messages: [{ role: 'user', content: 'berth #', id: 'q-#' }] }),
  context: { method: 'GET', path: '/v1/conversations/quiet-b/context' },
  search: post('/v1/search', { query: 'berth crane', conversationId: 'quiet-b' }),
}

function tenant(): { work(work: Work): Promise<Worked>; end(): Promise<void> } {
  const thread = new Worker(new URL('support/tenants.js', import.meta.url))
  return {
    work: (work) =>
      new Promise((resolve, reject) => {
        thread.removeAllListeners().once('message', resolve).once('error', reject)
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
        thread.postMessage(work)
      }),
    async end() {
      await thread.terminate()
    },
  }
}

const kinds = (statuses: Readonly<Record<string, number>>): string =>
  Object.entries(statuses)
    .map(([status, count]) => `${status}: ${String(count)}`)
    .join(', ')

async function run(bench: Bench): Promise<Figure[]> {
  const location = await bench.createPlace('neighbours')
  const { ledger, ...stores } = await openService({ store: location.store })
  const server = await startService({ ledger, stores, pepper: PEPPER, host: '127.0.0.1', port: 0, mayBeOpen: false })
  const { url } = server
  const keyOf = async (name: string): Promise<string> =>
    (await createKey(stores.keys, PEPPER, { name, roles: ['append', 'read'], bound: { prefix: name } })).key
  const [quietKey, loudKey] = [await keyOf('quiet'), await keyOf('loud')]
  const [quiet, loud] = [tenant(), tenant()]
  const figures: Figure[] = []
  const ms = SECONDS * 1_000
  const quietWork: Work = { url, key: quietKey, requests: quietRequests, atOnce: 1, ms }
  try {
    await ledger.append(
      'quiet-b',
      Array.from({ length: 200 }, (_none, at) => givenAt(at, random)),
    )
    await ledger.append(
      'loud-long',
      Array.from({ length: 5_000 }, (_none, at) => givenAt(at, random)),
    )
    await ledger.admin.waitForCompaction()
    await ledger.admin.projections.catchUp()
    await quiet.work({ ...quietWork, ms: 1_000 })
    const before = await quiet.work(quietWork)
    for (const [name, make] of Object.entries(floods)) {
      bench.say(name)
      const flood = make()
      const holds = monitorEventLoopDelay({ resolution: 1 })
      holds.enable()
      const flooding = loud.work({ url, key: loudKey, ...flood, ms: ms + 500 })
      const during = await quiet.work(quietWork)
      const { statuses } = await flooding
      holds.disable()
      bench.say(`${name}: ${kinds(statuses)}`)
      for (const [kind, times] of Object.entries(during.times)) {
        const usual = before.times[kind] ?? []
        for (const share of [0.5, 0.95])
          figures.push(
            reported(
              `${kind} during ${name}, p${String(share * 100)}`,
              percentile(times, share),
              milliseconds,
              { name: 'before', value: percentile(usual, share) },
              share === 0.5 ? `${String(times.length)} answers; the flood got ${kinds(statuses)}` : undefined,
            ),
          )
      }
      figures.push(
        against(`longest hold of the event loop during ${name}`, holds.max / 1e6, { most: MOST_HOLD_MS }, milliseconds),
      )
      await ledger.admin.waitForCompaction()
      await ledger.admin.projections.catchUp()
    }
    return figures
  } finally {
    await quiet.end()
    await loud.end()
    await server.close()
    await ledger.close()
    await location.remove()
  }
}

export const group: Group = { title: 'Neighbours of one service', run }
