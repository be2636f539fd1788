/** An evaluation as tables, one row for each candidate, and as a JSON document. */
import { KIND_NAMES, KEPT_KINDS, type KeptCount } from '../../../application/loss-report/kept.js'
import type {
  CandidateMeasures,
  EvaluatedCandidate,
  Evaluation,
  EvaluationEstimate,
  Ledger,
} from '../../../library/ledger.js'
import { moneyText, tokensOf } from '../../../domain/reports/prices.js'
import { percent } from '../../../domain/text/count.js'
import { sentenceOfProblem } from '../../../library/problem.js'
import { titlesOf } from '../../../library/titles.js'
import { colours, count, line, many, printable, showTable } from '../output.js'
import { idWithTitle } from '../titles.js'
import { documentOfEstimate } from '../replay/estimate.js'

/** A candidate of an evaluation, with the command that adopts its edition. */
interface AdoptableCandidate extends EvaluatedCandidate {
  readonly adopt: string
}

/** An evaluation with the adopt command of each candidate. */
export interface AdoptableEvaluation extends Evaluation {
  readonly candidates: readonly AdoptableCandidate[]
}

const finishedOf = (
  evaluation: AdoptableEvaluation,
): readonly (AdoptableCandidate & {
  readonly measures: CandidateMeasures
})[] =>
  evaluation.candidates.flatMap((candidate) =>
    candidate.measures === undefined ? [] : [{ ...candidate, measures: candidate.measures }],
  )

function costRow(candidate: AdoptableCandidate, { currency, conversationIds }: AdoptableEvaluation): string[] {
  const { name, editionId, spent, measures } = candidate
  const cost = spent.costMicros === undefined || currency === undefined ? '' : moneyText(spent.costMicros, currency)
  if (measures === undefined)
    return [printable(name), editionId, '', count(tokensOf(spent)), cost, '', '', 'not finished']
  const { contextTokens, cycles } = measures.figures
  return [
    printable(name),
    editionId,
    count(candidate.calls ?? 0),
    count(tokensOf(spent)),
    cost,
    count(Math.round(contextTokens / conversationIds.length)),
    count(cycles),
    candidate.reused === 0 ? '' : `${many(candidate.reused, 'summary', 'summaries')} reused`,
  ]
}

const shareOf = ({ kept, total }: KeptCount): string => percent(kept, total)

async function showShares(evaluation: AdoptableEvaluation): Promise<void> {
  const finished = finishedOf(evaluation)
  const [first] = finished
  if (first === undefined) return
  const kinds = KEPT_KINDS.filter((kind) => first.measures.kept[kind].total > 0)
  const hasEvidence = first.measures.evidence !== undefined
  await line(colours.bold('kept in the context'))
  await showTable(
    [
      '',
      ...kinds.map((kind) => `${KIND_NAMES[kind]} (${count(first.measures.kept[kind].total)})`),
      ...(hasEvidence ? [`evidence (${count(first.measures.evidence?.questions ?? 0)})`, 'with one search'] : []),
    ],
    finished.map(({ name, measures: { kept, evidence } }) => [
      printable(name),
      ...kinds.map((kind) => shareOf(kept[kind])),
      ...(hasEvidence
        ? [
            percent(evidence?.inContext ?? 0, evidence?.questions ?? 0),
            percent(evidence?.withinReach ?? 0, evidence?.questions ?? 0),
          ]
        : []),
    ]),
    new Set(Array.from({ length: kinds.length + 2 }, (_none, at) => at + 1)),
  )
  await line()
}

/** Prints one line for each failure, with the conversation's title. */
async function showFailures(
  ledger: Pick<Ledger, 'list'>,
  candidates: readonly {
    readonly failures: readonly {
      readonly conversationId: string
      readonly failure: Parameters<typeof sentenceOfProblem>[0]
    }[]
    readonly what: string
  }[],
): Promise<void> {
  const titles = await titlesOf(
    ledger,
    candidates.flatMap(({ failures }) => failures.map(({ conversationId }) => conversationId)),
  )
  for (const { failures, what } of candidates)
    for (const { conversationId, failure } of failures)
      await line(colours.yellow(`${what} ${idWithTitle(conversationId, titles)}: ${sentenceOfProblem(failure)}`))
}

/** Prints the tables, the failures, and the command that adopts each candidate. */
export async function showEvaluation(ledger: Pick<Ledger, 'list'>, evaluation: AdoptableEvaluation): Promise<void> {
  const { candidates, conversationIds, messages } = evaluation
  await line(
    `${many(candidates.length, 'candidate')} over ${many(conversationIds.length, 'conversation')}, ${many(messages, 'message')}`,
  )
  await line()
  await showTable(
    ['', 'edition', 'calls', 'tokens bought', 'cost', 'context', 'cycles', ''],
    candidates.map((candidate) => costRow(candidate, evaluation)),
    new Set([2, 3, 4, 5, 6]),
  )
  await line()
  await showShares(evaluation)
  const finished = finishedOf(evaluation)
  const [first] = finished
  if (first !== undefined && finished.every(({ measures }) => measures.figures.cycles === 0))
    await line(
      colours.yellow(
        `nothing was compacted: every conversation is below ${count(first.measures.budget.most.softLimit)} tokens, the limit at which a cycle starts; set a smaller window with --model-max-tokens`,
      ),
    )
  if (!evaluation.hasEqualBudgets)
    await line(
      colours.yellow('the token budgets differ, so the figures of these candidates are not directly comparable:'),
    )
  if (!evaluation.hasEqualBudgets)
    for (const { name, measures } of finished)
      await line(
        `  ${printable(name)}: a cycle starts at ${count(measures.budget.most.softLimit)} tokens, and the limit is ${count(measures.budget.most.hardLimit)}`,
      )
  await showFailures(
    ledger,
    candidates.map(({ name, failures }) => ({ failures, what: `${printable(name)} failed in` })),
  )
  for (const { name, adopt, measures } of candidates)
    if (measures !== undefined) await line(colours.dim(`adopt ${printable(name)}: ${adopt}`))
}

/** The evaluation as a JSON document: failures are sentences with their kind. */
export const documentOfEvaluation = ({ candidates, ...evaluation }: AdoptableEvaluation): unknown => ({
  ...evaluation,
  candidates: candidates.map(({ failures, ...candidate }) => ({
    ...candidate,
    failures: failures.map(({ conversationId, failure }) => ({
      conversationId,
      failure: failure.kind === 'SummarizerFailed' ? failure.failure : failure.kind,
      detail: sentenceOfProblem(failure),
    })),
  })),
})

/** Prints the upper bound of the purchases of each candidate. */
export async function showEvaluationEstimate(
  ledger: Pick<Ledger, 'list'>,
  { candidates }: EvaluationEstimate,
): Promise<void> {
  if (candidates.length === 0) return
  await line(colours.bold('estimate (upper bound)'))
  await showTable(
    ['', 'edition', 'calls', 'prompt tokens', 'completion tokens', 'cost', 'reused'],
    candidates.map(({ name, estimate }) => [
      printable(name),
      estimate.editionId,
      count(estimate.calls),
      count(estimate.promptTokens),
      count(estimate.completionTokens),
      estimate.costMicros === undefined || estimate.currency === undefined
        ? ''
        : moneyText(estimate.costMicros, estimate.currency),
      count(estimate.reused),
    ]),
    new Set([2, 3, 4, 5, 6]),
  )
  await showFailures(
    ledger,
    candidates.map(({ name, estimate }) => ({
      failures: estimate.failures,
      what: `${printable(name)} cannot be built for`,
    })),
  )
  await line()
}

/** The estimate as a JSON document. */
export const documentOfEvaluationEstimate = ({ candidates, calls }: EvaluationEstimate): unknown => ({
  calls,
  candidates: candidates.map(({ name, estimate }) => ({ name, estimate: documentOfEstimate(estimate) })),
})
