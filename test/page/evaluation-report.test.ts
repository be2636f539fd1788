/** The HTML file of an evaluation: budgets, limits, amounts, and whether it was stopped. */
import { expect, it } from '@jest/globals'
import { evaluationReportOf } from '../../src/interfaces/page/evaluation-report.js'
import type { EvaluatedCandidate, Evaluation } from '../../src/library/ledger.js'
import { KEPT_KINDS } from '../../src/application/loss-report/kept.js'
import type { KeptCounts } from '../../src/application/loss-report/kept.js'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one count for each kind
const kept = Object.fromEntries(KEPT_KINDS.map((kind) => [kind, { kept: 1, total: 2 }])) as unknown as KeptCounts

const candidate = (name: string, softLimits?: readonly [least: number, most: number]): EvaluatedCandidate => ({
  name,
  editionId: `e-${name}`,
  strategy: 'extractive',
  provider: 'none',
  model: 'none',
  settings: {},
  callsNow: 0,
  reused: 0,
  spent: { promptTokens: 1, completionTokens: 1, costMicros: 1_234_567 },
  ...(softLimits === undefined
    ? {}
    : {
        calls: 0,
        measures: {
          figures: {
            contextTokens: 10,
            viewTokens: 5,
            batches: 1,
            depth: 0,
            cycles: 1,
            messagesCompressed: 2,
            calls: 0,
            tokensBought: 0,
          },
          kept,
          budget: {
            least: { hardLimit: 900, softLimit: softLimits[0] },
            most: { hardLimit: 900, softLimit: softLimits[1] },
          },
        },
      }),
  failures: [],
})

const textOf = async (candidates: readonly EvaluatedCandidate[], over: Partial<Evaluation> = {}): Promise<string> =>
  (
    await evaluationReportOf({
      evaluation: {
        conversationIds: ['c1', 'c2'],
        messages: 4,
        currency: 'USD',
        hasEqualBudgets: true,
        candidates,
        isStopped: false,
        ...over,
      },
      adoptCommands: new Map(),
      now: new Date('2026-01-01T00:00:00Z'),
    })
  ).replaceAll(/<[^>]*>/gu, '\n')

const SAME = 'The candidates that finished have the same token budget'
const DIFFERENT = 'The token budgets differ'

it.each([
  ['two that finished', [candidate('a', [500, 500]), candidate('b', [500, 500])], {}, [SAME]],
  [
    'two with other budgets',
    [candidate('a', [500, 500]), candidate('b', [600, 600])],
    { hasEqualBudgets: false },
    [DIFFERENT],
  ],
  ['one that finished', [candidate('a', [500, 500]), candidate('b')], {}, []],
  ['none that finished', [candidate('a'), candidate('b')], {}, []],
] as const)('budgets are compared for %s', async (_name, candidates, over, said) => {
  const text = await textOf(candidates, over)
  expect([SAME, DIFFERENT].filter((sentence) => text.includes(sentence))).toEqual(said)
})

it('has the range of the limits, the cost as the command line prints it, and whether it was stopped', async () => {
  const text = await textOf([candidate('a', [500, 1_500])], { isStopped: true })
  expect(text).toContain('500 to 1,500')
  expect(text).toContain('1.23 USD')
  expect(text).toContain('The evaluation was stopped')
  expect(await textOf([candidate('a', [500, 500])])).not.toContain('was stopped')
})
