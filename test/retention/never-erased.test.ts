/**
 * Law: a run erases nothing that is younger than the floor and nothing on hold, and it erases everything else that is
 * older than the ceiling, whatever the order of rules, holds, appends and runs. The test keeps its own account in days.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import { isLedgerError } from '../../src/lib/ledger-error.js'
import type { Ledger } from '../../src/library/ledger.js'
import { createHandClock } from '../support/hand-clock.js'
import { runsOf } from '../support/length.js'

const DAY = 86_400_000
const REASON = { reason: 'law' }
const SCOPES = ['acme', 'zeta', undefined] as const

const daysRule = fc.option(fc.integer({ min: 1, max: 60 }), { nil: null })
const scope = fc.constantFrom(...SCOPES)
const step = fc.oneof(
  fc.record({ do: fc.constant('append' as const), scope, age: fc.integer({ min: 0, max: 60 }) }),
  fc.record({ do: fc.constant('append' as const), scope, age: fc.integer({ min: 0, max: 60 }) }),
  fc.record({ do: fc.constant('rules' as const), scope, floor: daysRule, ceiling: daysRule }),
  fc.record({ do: fc.constant('hold' as const), scope, whole: fc.boolean() }),
  fc.record({ do: fc.constant('release' as const) }),
  fc.record({ do: fc.constant('pass' as const), days: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ do: fc.constant('run' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** The account of the test: conversations with the day of their last message, rules in days, holds. */
class Account {
  readonly last = new Map<string, { scope: string | undefined; at: number }>()
  readonly rules = new Map<string | undefined, { floor: number | null; ceiling: number | null }>()
  readonly holds = new Map<string, { id?: string; scope?: string }>()
  readonly gone = new Set<string>()
  readonly runs: { readonly erased: readonly string[]; readonly expected: readonly string[] }[] = []

  private rule(ofScope: string | undefined, name: 'floor' | 'ceiling'): number | null {
    return this.rules.get(ofScope)?.[name] ?? this.rules.get(undefined)?.[name] ?? null
  }

  due(now: number): string[] {
    return [...this.last]
      .filter(([id, { scope: own, at }]) => {
        const [floor, ceiling] = [this.rule(own, 'floor'), this.rule(own, 'ceiling')]
        const isHeld = [...this.holds.values()].some(
          (hold) => hold.id === id || (hold.scope !== undefined && hold.scope === own),
        )
        const age = now - at
        return !this.gone.has(id) && !isHeld && ceiling !== null && age >= ceiling * DAY && age >= (floor ?? 0) * DAY
      })
      .map(([id]) => id)
      .toSorted()
  }
}

let ledger: Ledger
const clock = createHandClock()
let histories = 0

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', erasable: true, keys: createMemoryKeyVault(), clock })
})
afterAll(async () => {
  await ledger.close()
})

const days = (count: number | null): string | null => (count === null ? null : `${String(count)} days`)

async function take(account: Account, each: Step, at: number): Promise<void> {
  const { retention } = ledger.admin
  const now = clock.now().getTime()
  if (each.do === 'pass') clock.pass(each.days * DAY)
  else if (each.do === 'append') {
    const id = `${String(histories)}-${String(at)}`
    const created = now - each.age * DAY
    await ledger.append(
      id,
      [{ role: 'user', content: 'x', created_at: new Date(created).toISOString() }],
      each.scope === undefined ? {} : { scope: each.scope },
    )
    account.last.set(id, { scope: each.scope, at: created })
  } else if (each.do === 'rules') {
    const settings = { keepAtLeast: days(each.floor), eraseAfter: days(each.ceiling) }
    try {
      await retention.set({ ...settings, ...(each.scope === undefined ? {} : { scope: each.scope }) }, REASON)
      account.rules.set(each.scope, each)
    } catch (error) {
      // A ceiling below the floor is rejected, and the rules stay.
      if (!isLedgerError(error, 'BadInput')) throw error
    }
  } else if (each.do === 'hold') {
    const [first] = account.last.keys()
    const target =
      each.whole && each.scope !== undefined
        ? { scope: each.scope }
        : first === undefined
          ? undefined
          : { conversationId: first }
    if (target === undefined) return
    const { holdId } = await retention.hold(target, REASON)
    account.holds.set(holdId, 'scope' in target ? target : { id: target.conversationId })
  } else if (each.do === 'release') {
    const [holdId] = account.holds.keys()
    if (holdId === undefined) return
    await retention.release(holdId, REASON)
    account.holds.delete(holdId)
  } else {
    const expected = account.due(now)
    const run = await retention.run()
    account.runs.push({
      erased: (run?.receipt.erased ?? []).map(({ conversationId }) => conversationId).toSorted(),
      expected,
    })
    for (const id of expected) account.gone.add(id)
  }
}

/** Rules and holds of the history before do not count in the next one. */
async function clear(): Promise<void> {
  const { retention } = ledger.admin
  for (const { holdId } of (await retention.status()).holds) await retention.release(holdId, REASON)
  for (const each of SCOPES.toReversed())
    await retention.set({ keepAtLeast: null, eraseAfter: null, ...(each === undefined ? {} : { scope: each }) }, REASON)
}

it('a run erases exactly the conversations older than ceiling and floor and not on hold', async () => {
  const account = new Account()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 14 }), async (steps) => {
      histories += 1
      // One ledger for all histories: the conversations of earlier ones stay, their rules and holds do not.
      await clear()
      account.rules.clear()
      account.holds.clear()
      for (const [at, each] of [...steps, { do: 'run' as const }].entries()) await take(account, each, at)
      for (const { erased, expected } of account.runs) expect(erased).toEqual(expected)
      for (const id of account.last.keys())
        expect([id, (await ledger.context(id)).messages[0]?.content]).toEqual([
          id,
          account.gone.has(id) ? '[erased]' : 'x',
        ])
    }),
    { numRuns: runsOf(6), timeout: 100_000, endOnFailure: true },
  )
  expect((await ledger.admin.verify()).problems).toEqual([])
})
