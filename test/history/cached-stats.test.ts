/**
 * Statistics of all conversations with cached tallies: equal to those without a cache, after any history and with other
 * prices, and only conversations that have grown are read.
 */
import { describe, expect, it, test } from '@jest/globals'
import fc from 'fast-check'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { createPostgresTallies } from '../../src/adapters/postgres/tallies.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { stats, type ConversationStats, type TotalStats } from '../../src/application/history/stats.js'
import type { Log } from '../../src/application/recording/load-conversation.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import type { PriceTable } from '../../src/domain/reports/prices.js'
import type { Tallies } from '../../src/ports/tallies.js'
import { say, SMALL } from '../support/conversations.js'
import { editionHistory, editionSteps, everyStep } from '../support/edition-history.js'
import { CONVERSATION, createHarness, type Harness } from '../support/harness.js'
import { runsOf } from '../support/length.js'
import { describeOnDatabases } from '../support/projections.js'

const PRICES: PriceTable = { 'scripted-1': { promptPerMillion: 3, completionPerMillion: 15, currency: 'USD' } }

interface Counted {
  readonly total: TotalStats
  readonly each: readonly ConversationStats[]
}

async function countWith(log: Log, tallies: Tallies | undefined, prices: PriceTable = {}): Promise<Counted> {
  const each: ConversationStats[] = []
  const total = await stats(log, {
    conversationId: undefined,
    prices,
    onConversation: (one) => {
      each.push(one)
    },
    cache: tallies && {
      tallies,
      onProblem: (error) => {
        throw error
      },
    },
  })
  return { total, each }
}

/** The log of a harness, and the streams that were read from it, each once. */
function watched({ log }: Harness): { readonly log: Log; readonly read: Set<string> } {
  const read = new Set<string>()
  const store = {
    ...log.store,
    readStream: (...given: Parameters<typeof log.store.readStream>) => {
      read.add(given[0])
      return log.store.readStream(...given)
    },
  }
  return { log: { ...log, store }, read }
}

const OTHERS = 20
const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }

/** The ids of the last two live messages. */
async function lastMessages(harness: Harness): Promise<readonly string[]> {
  const { window } = await harness.conversations.load(CONVERSATION)
  return window.slice(-2).map(({ messageId }) => messageId)
}

describeOnDatabases('cached tallies', (database) => {
  test('give the same statistics as the log, after any history', async () => {
    await fc.assert(
      fc.asyncProperty(editionSteps, async (history) => {
        const db = await database.fresh()
        await migrateLog(db)
        const tallies = createPostgresTallies(db, { isReadOnly: false })
        const harness = createHarness({ policy: SMALL })
        // Enough other conversations, so that one that has grown is read and the others are not.
        for (let at = 0; at < OTHERS; at += 1) await harness.appended([say(0), say(1)], `other-${String(at)}`)
        let isFirst = true
        const expectEqual = async (): Promise<void> => {
          const { log, read } = watched(harness)
          const fromCache = await countWith(log, tallies, PRICES)
          expect(fromCache).toEqual(await countWith(harness.log, undefined, PRICES))
          // Other prices, and nothing has grown.
          expect(await countWith(harness.log, tallies)).toEqual(await countWith(harness.log, undefined))
          const otherStreams = [...read].filter((stream) => !stream.endsWith(`-${CONVERSATION}`))
          expect(otherStreams).toHaveLength(isFirst ? OTHERS : 0)
          isFirst = false
        }
        await expectEqual()
        await editionHistory(history, harness, expectEqual)
        await harness.conversations.handle(
          CONVERSATION,
          [{ type: 'WithdrawMessages', messageIds: await lastMessages(harness), why: 'rewound' }],
          BY,
        )
        await expectEqual()
      }),
      { numRuns: runsOf(10), examples: [[everyStep]], timeout: 60_000 },
    )
  })
})

describe('statistics of an erasable ledger', () => {
  const count = async (ledger: Ledger): Promise<Counted> => {
    const each: ConversationStats[] = []
    const total = await ledger.admin.stats(undefined, { onConversation: (one) => void each.push(one) })
    return { total, each }
  }

  it('are the same from the log after an erasure', async () => {
    const ledger = await openLedger({
      store: 'memory',
      erasable: true,
      keys: createMemoryKeyVault(),
      policy: { ...SMALL, maxSummaryTokens: 400 },
      summarizer: (messages) => Promise.resolve(messages.map(({ content }) => JSON.stringify(content)).join(' / ')),
    })
    for (let at = 0; at < OTHERS; at += 1) await ledger.append(`c${String(at)}`, say(at))
    const texts = (from: number, to: number) =>
      Array.from({ length: to - from }, (_none, at) => ({
        id: `m${String(from + at)}`,
        role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: `text number ${String(from + at)} ${'and so on '.repeat(40)}`,
      }))
    await ledger.append('talk', texts(0, 6))
    await ledger.compact('talk')
    await ledger.append('talk', texts(6, 14))
    await ledger.compact('talk')
    const before = await count(ledger)
    expect(before.total.batches).toBeGreaterThan(0)
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm3' }, { reason: 'r' })
    const after = await count(ledger)
    const { uncounted: _uncounted, ...ofOne } = await ledger.admin.stats('talk')
    expect(after.each.find(({ conversationId }) => conversationId === 'talk')).toEqual({
      conversationId: 'talk',
      ...ofOne,
    })
    expect(after.each).toHaveLength(before.each.length)
    await ledger.close()
  })
})
