/** `list` has the number of losses that matter, and it is the number that `forgotten` gives. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { Ledger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { createSummarizerFrom } from '../../src/application/summarizers/from-function.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

let db: Database
let ledger: Ledger

beforeEach(async () => {
  db = await openTestDatabase()
  ledger = await ledgerOn(db, { summarizer })
})
afterEach(() => ledger.close())

const POLICY = { view: 'clip-archive' as const, modelMaxTokens: 20_000, chunkSize: 4, keepRecent: 2 }
/** A summary that keeps nothing. */
const summarizer = createSummarizerFrom(() => Promise.resolve('They worked.'))

const RULES = [
  'Never restart the crane while a ship is moored.',
  'Always ask the pilot before the ferry leaves.',
  'The tariff table must stay in integer cents.',
  'Do not paint the lighthouse without a permit.',
  'Only use the tidal chart of the northern quay.',
  'Never publish the names of the captains.',
  'Always weigh containers twice in winter.',
  'The beacon must burn during every storm.',
  'Do not sell the old winch to anybody.',
  'Only accept invoices that the warden signed.',
  'Never feed seagulls near the warehouse.',
  'Always close the lock before midnight.',
]

/** Appends rules of the user, and messages of the agent with names and numbers, and compacts. */
async function talk(conversationId: string, from: number, to: number): Promise<void> {
  const messages = Array.from({ length: to - from }, (_none, place) => {
    const at = from + place
    return {
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content:
        at % 2 === 0
          ? (RULES[(at / 2) % RULES.length] ?? '')
          : `Looked at src/module-${String(at)}/part-${String(at * 7)}.ts: port ${String(4_000 + at)} fails with E${String(1_000 + at)}.`,
    }
  })
  await ledger.append(conversationId, messages, { policy: POLICY })
  await ledger.compact(conversationId, { force: true })
}

const forgottenLost = async (conversationId: string): Promise<number> =>
  (await ledger.forgotten(conversationId)).totals.all.losses

const listedLost = async (options = {}): Promise<Record<string, number | undefined>> =>
  Object.fromEntries(
    (await ledger.list(options)).conversations.map(({ conversationId, lost }) => [conversationId, lost]),
  )

/** Lists until everything is counted: each call counts for a limited time. */
async function countedLost(): Promise<number> {
  for (;;) {
    const { long } = await listedLost({ countLost: true })
    if (long !== undefined) return long
  }
}

it('lists nothing lost for a conversation without compactions', async () => {
  await ledger.append('short', { role: 'user', content: 'hello' })
  expect(await listedLost()).toEqual({ short: 0 })
})

it('counts on demand, caches the count, and counts again only after another compaction', async () => {
  await talk('long', 0, 12)
  expect(await listedLost()).toEqual({ long: undefined })
  const first = await countedLost()
  expect(first).toBeGreaterThan(0)
  expect(await listedLost()).toEqual({ long: first })
  expect(await forgottenLost('long')).toBe(first)
  await ledger.append('long', { role: 'user', content: 'no compaction' })
  expect(await listedLost()).toEqual({ long: first })
  await talk('long', 12, 24)
  expect(await listedLost()).toEqual({ long: undefined })
  const second = await countedLost()
  expect(second).toBeGreaterThan(first)
  expect(await forgottenLost('long')).toBe(second)
})

it('keeps the count of `forgotten`, also after a cycle was undone', async () => {
  await talk('long', 0, 12)
  const lost = await forgottenLost('long')
  expect(await listedLost()).toEqual({ long: lost })
  const compactions = (await ledger.list()).conversations[0]?.compactions ?? 0
  await ledger.editions.undo('long', { cycle: compactions })
  expect(await forgottenLost('long')).toBe(lost)
  expect(await listedLost()).toEqual({ long: lost })
})

it('does not take over the count of another version', async () => {
  await talk('long', 0, 12)
  const lost = await forgottenLost('long')
  await db.query(`update lost_counts set version = 'other', lost = 1000000`)
  expect(await listedLost()).toEqual({ long: undefined })
  expect(await countedLost()).toBe(lost)
})

it('lists a conversation without its count if the count cannot be cached', async () => {
  await ledger.close()
  const problems: unknown[] = []
  ledger = await ledgerOn(db, { summarizer, onProblem: (problem) => problems.push(problem) })
  await talk('long', 0, 12)
  await db.query('alter table lost_counts add check (lost < 0)')
  expect(await listedLost({ countLost: true })).toEqual({ long: undefined })
  expect(problems).toHaveLength(1)
})
