/** The HTML file of `evaluate --html`: cost, kept items and adopt command of each candidate. */
import type { Child } from 'hono/jsx'
import { moneyText, tokensOf } from '../../domain/reports/prices.js'
import { KIND_NAMES, KEPT_KINDS } from '../../application/loss-report/kept.js'
import { percent } from '../../domain/text/count.js'
import type { EvaluatedCandidate, Evaluation } from '../../library/ledger.js'
import { sentenceOfProblem } from '../../library/problem.js'
import { documentOf } from './document.js'
import { figure, Table } from './views/table.js'
import { count, many, Name, visible, Time } from './views/text.js'

export interface EvaluationReportOptions {
  readonly evaluation: Evaluation
  /** The command that adopts each candidate, by the id of its edition. */
  readonly adoptCommands: ReadonlyMap<string, string>
  /** When the report is written. */
  readonly now: Date
}

function costText({ spent }: EvaluatedCandidate, currency: string | undefined): string {
  const { costMicros } = spent
  return costMicros === undefined || currency === undefined ? '' : moneyText(costMicros, currency)
}

/** The smallest and the largest value of the conversations. */
const rangeText = (least: number, most: number): string =>
  least === most ? count(most) : `${count(least)} to ${count(most)}`

function CostTable({ evaluation }: { evaluation: Evaluation }): Child {
  const { candidates, currency, conversationIds } = evaluation
  return (
    <Table
      label="What each candidate costs"
      columns={[
        'Candidate',
        'Edition',
        figure('Calls'),
        figure('Tokens spent'),
        figure('Cost'),
        figure('Context tokens'),
        figure('Cycle starts at'),
        figure('Cycles'),
        figure('Reused summaries'),
      ]}
      rows={candidates.map((candidate) => {
        const { name, editionId, calls, measures, spent, reused } = candidate
        return [
          visible(name),
          <code>{editionId}</code>,
          calls === undefined ? 'not finished' : count(calls),
          count(tokensOf(spent)),
          costText(candidate, currency),
          measures === undefined ? '' : count(Math.round(measures.figures.contextTokens / conversationIds.length)),
          measures === undefined ? '' : rangeText(measures.budget.least.softLimit, measures.budget.most.softLimit),
          measures === undefined ? '' : count(measures.figures.cycles),
          count(reused),
        ]
      })}
    />
  )
}

function KeptTable({ evaluation }: { evaluation: Evaluation }): Child {
  const finished = evaluation.candidates.flatMap(({ name, measures }) =>
    measures === undefined ? [] : [{ name, measures }],
  )
  const [first] = finished
  if (first === undefined) return <p class="note warn">No candidate finished.</p>
  const kinds = KEPT_KINDS.filter((kind) => first.measures.kept[kind].total > 0)
  const hasEvidence = first.measures.evidence !== undefined
  return (
    <Table
      label="What each candidate keeps"
      columns={[
        'Candidate',
        ...kinds.map((kind) => figure(`${KIND_NAMES[kind]} (${count(first.measures.kept[kind].total)})`)),
        ...(hasEvidence
          ? [
              figure(`evidence in the context (${count(first.measures.evidence?.questions ?? 0)})`),
              figure('evidence with one search'),
            ]
          : []),
      ]}
      rows={finished.map(({ name, measures: { kept, evidence } }) => [
        visible(name),
        ...kinds.map((kind) => percent(kept[kind].kept, kept[kind].total)),
        ...(hasEvidence
          ? [
              percent(evidence?.inContext ?? 0, evidence?.questions ?? 0),
              percent(evidence?.withinReach ?? 0, evidence?.questions ?? 0),
            ]
          : []),
      ])}
      tight
    />
  )
}

function FailureList({ candidates }: { candidates: readonly EvaluatedCandidate[] }): Child {
  const failures = candidates.flatMap(({ name, failures: all }) => all.map((each) => ({ name, ...each })))
  if (failures.length === 0) return null
  return (
    <>
      <h2>Failures</h2>
      <ul>
        {failures.map(({ name, conversationId, failure }) => (
          <li>
            <b class="bad">{visible(name)}</b> in <Name text={conversationId} />: {visible(sentenceOfProblem(failure))}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Whether the figures of the candidates can be compared: only of those that finished, if there are two. */
function BudgetLine({ evaluation: { candidates, hasEqualBudgets } }: { evaluation: Evaluation }): Child {
  if (candidates.filter(({ measures }) => measures !== undefined).length < 2) return null
  return hasEqualBudgets ? (
    <p>The candidates that finished have the same token budget in each conversation.</p>
  ) : (
    <p class="note warn">The token budgets differ, so the figures of these candidates are not directly comparable.</p>
  )
}

/** The report, as the text of a file. */
export async function evaluationReportOf({ evaluation, adoptCommands, now }: EvaluationReportOptions): Promise<string> {
  const { candidates, conversationIds, messages, isStopped } = evaluation
  return await documentOf(
    'Evaluation of compactions',
    <>
      <h1>Evaluation of compactions</h1>
      <p class="muted">
        {many(candidates.length, 'candidate')} over {many(conversationIds.length, 'conversation')} with{' '}
        {many(messages, 'message')}. Written <Time at={now.toISOString()} /> UTC.
      </p>
      {isStopped ? <p class="note warn">The evaluation was stopped before all candidates were tried.</p> : null}
      <BudgetLine evaluation={evaluation} />
      <h2>Cost</h2>
      <p class="muted">Context tokens are the mean over the final contexts of the conversations.</p>
      <CostTable evaluation={evaluation} />
      <h2>Kept</h2>
      <p class="muted">
        Shares of the items in the removed messages; the headings have the item counts. An item is kept if a summary or
        a message in the context contains it completely.
      </p>
      <KeptTable evaluation={evaluation} />
      <FailureList candidates={candidates} />
      <h2>Adopt a candidate</h2>
      <ul>
        {candidates.map(({ name, editionId, measures }) =>
          measures === undefined ? null : (
            <li>
              {visible(name)}: <code>{visible(adoptCommands.get(editionId) ?? '')}</code>
            </li>
          ),
        )}
      </ul>
      <h2>Conversations</h2>
      <ul>
        {conversationIds.map((conversationId) => (
          <li>
            <Name text={conversationId} most={600} />
          </li>
        ))}
      </ul>
    </>,
  )
}
