/** What several compactions of the same messages keep, measured against the same items. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { KEPT_KINDS, keptOf, sumKept } from '../../src/application/loss-report/kept.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'

const message = (
  at: number,
  role: ReportMessage['role'],
  text: string,
  some: Partial<ReportMessage> = {},
): ReportMessage => ({
  messageId: `m${String(at)}`,
  revision: at,
  role,
  text,
  ownText: text,
  tokens: 10,
  ...some,
})

const SESSION: readonly ReportMessage[] = [
  message(1, 'user', 'Please move the export of invoices into src/billing/export.ts.'),
  message(2, 'user', 'Never write to the production database from the export job.'),
  message(3, 'assistant', 'We decided to use streamInvoices instead of loadInvoices for the export.', {
    toolCalls: [{ id: 'c1', name: 'Bash', arguments: JSON.stringify({ command: 'npm run billing:export -- --dry' }) }],
  }),
  message(4, 'tool', 'Exported 4812 invoices', { toolCallId: 'c1' }),
  message(
    5,
    'assistant',
    'The dry run wrote 4812 invoices. Still to do: the retry of failed uploads for streamInvoices.',
  ),
  message(6, 'user', 'Good.'),
]
const ids = (messages: readonly ReportMessage[]): ReadonlySet<string> =>
  new Set(messages.map(({ messageId }) => messageId))
const NOTHING = { summaryText: '', shownIds: new Set<string>() }

describe('kept items', () => {
  it('finds every kind in the removed messages', () => {
    const [empty] = keptOf(SESSION, [NOTHING])
    expect(KEPT_KINDS.map((kind) => [kind, empty?.[kind].total, empty?.[kind].kept])).toEqual([
      ['names', 2, 0],
      ['numbers', 1, 0],
      ['paths', 1, 0],
      ['commands', 1, 0],
      ['constraints', 1, 0],
      ['requests', 1, 0],
      ['decisions', 1, 0],
      ['openItems', 1, 0],
    ])
  })

  it('counts items in the summary and in remaining messages', () => {
    const summaryText =
      'Never write to the production database from the export job. Ran npm run billing:export -- --dry: 4812 invoices.'
    const [summary, stayed] = keptOf(SESSION, [
      { summaryText, shownIds: ids(SESSION.slice(5)) },
      { summaryText: '', shownIds: ids(SESSION.slice(2)) },
    ])
    expect([summary?.constraints.kept, summary?.commands.kept, summary?.numbers.kept]).toEqual([1, 1, 1])
    expect([summary?.decisions.kept, summary?.paths.kept, summary?.openItems.kept]).toEqual([0, 0, 0])
    expect([stayed?.decisions.kept, stayed?.commands.kept, stayed?.openItems.kept]).toEqual([1, 1, 1])
    expect([stayed?.constraints.kept, stayed?.requests.kept]).toEqual([0, 0])
  })

  it('has part of a command if its beginning is in the context', () => {
    const long = message(1, 'assistant', '', {
      toolCalls: [
        { id: 'c', name: 'Bash', arguments: JSON.stringify({ command: 'docker compose up --build --wait billing' }) },
      ],
    })
    const [part] = keptOf([long], [{ summaryText: 'Ran docker compose up --build.', shownIds: new Set() }])
    expect(part?.commands).toMatchObject({ total: 1, kept: 0, partial: 0, lost: 1 })
    const [more] = keptOf([long], [{ summaryText: 'Ran docker compose up --build --wait.', shownIds: new Set() }])
    expect(more?.commands).toMatchObject({ total: 1, kept: 0, partial: 1, lost: 0 })
  })

  it('law: totals are equal, counts add up to them, and a context that shows every message keeps every sentence', () => {
    const lines = fc
      .array(fc.constantFrom(...SESSION), { minLength: 1, maxLength: 8 })
      .map((drawn) => drawn.map((said, at) => ({ ...said, messageId: `m${String(at)}`, revision: at })))
    fc.assert(
      fc.property(lines, fc.nat(8), (messages, shown) => {
        const [nothing, some, all] = keptOf(messages, [
          NOTHING,
          { summaryText: '', shownIds: ids(messages.slice(shown)) },
          { summaryText: '', shownIds: ids(messages) },
        ])
        for (const kind of KEPT_KINDS) {
          for (const counts of [nothing, some, all]) {
            const { total = -1, kept = 0, partial = 0, lost = 0, unknown = 0 } = counts?.[kind] ?? {}
            expect(kept + partial + lost + unknown).toBe(total)
            expect(total).toBe(nothing?.[kind].total)
          }
          expect(nothing?.[kind].kept).toBe(0)
          expect(all?.[kind].kept).toBe(all?.[kind].total)
        }
      }),
    )
  })

  it('adds up conversations', () => {
    const [one] = keptOf(SESSION, [NOTHING])
    if (one === undefined) throw new Error('one context has one row of counts')
    expect(sumKept([one, one]).names.total).toBe(2 * one.names.total)
  })
})
