/** Retention rules, holds and runs as text. */
import type {
  CompletedRun,
  RecordedRules,
  RetentionHold,
  RetentionRules,
  RetentionStatus,
} from '../../../library/ledger.js'
import { durationText } from '../../../domain/values/duration.js'
import { colours, count, line, many, printable, showTable } from '../output.js'

const scopeText = (scope: string | undefined): string =>
  scope === undefined ? 'all conversations' : `scope ${printable(scope)}`

const rulesText = ({ keepAtLeast, eraseAfter }: RetentionRules): string =>
  [
    ...(keepAtLeast === undefined ? [] : [`keep at least ${durationText(keepAtLeast)}`]),
    ...(eraseAfter === undefined ? [] : [`erase after ${durationText(eraseAfter)}`]),
  ].join(', ')

/** The rules that are set. */
export async function showRules(rules: readonly RecordedRules[]): Promise<void> {
  if (rules.length === 0) await line('no rules')
  for (const each of rules) {
    const by = `set ${each.at} by ${printable(each.actor)}: ${printable(each.reason)}`
    await line(`${scopeText(each.scope)}: ${rulesText(each)} ${colours.dim(`(${by})`)}`)
  }
}

async function showHold({ holdId, conversationId, scope, at, actor, reason }: RetentionHold): Promise<void> {
  const target = conversationId === undefined ? scopeText(scope) : printable(conversationId)
  const by = `placed ${at} by ${printable(actor)}: ${printable(reason)}`
  await line(`${colours.yellow('hold')} ${holdId} on ${target} ${colours.dim(`(${by})`)}`)
}

/** The receipt of a run. */
export async function showRun({ runId, isResumed, receipt }: CompletedRun): Promise<void> {
  const { erased, kept } = receipt
  const resumed = isResumed ? ', which continued an interrupted one' : ''
  await line(`run ${runId}${resumed}: ${many(erased.length, 'conversation')} erased, ${count(kept.length)} kept`)
  for (const { conversationId, messages, summaries } of erased)
    await line(
      `${colours.green('erased')} ${printable(conversationId)}: ${many(messages, 'message')}, ${many(summaries, 'summary', 'summaries')}`,
    )
  for (const { conversationId, reason } of kept)
    await line(`${colours.yellow('kept')} ${printable(conversationId)}: ${reason}`)
}

/** The conversations that a run would erase now. */
export async function showDue({ due }: Pick<RetentionStatus, 'due'>): Promise<void> {
  if (due.length === 0) await line('nothing is due')
  for (const { conversationId, lastMessageAt, eraseAfter } of due)
    await line(
      `due: ${printable(conversationId)}, last message ${lastMessageAt}, erase after ${durationText(eraseAfter)}`,
    )
}

/** `retention status`. */
export async function showRetention(status: RetentionStatus): Promise<void> {
  const { rules, holds, scopes, lastRun } = status
  if (!status.isErasable)
    await line(
      colours.yellow(
        'this ledger is not erasable: nothing is erased in it. `migrate-log --erasable` makes a copy that is',
      ),
    )
  await showRules(rules)
  for (const hold of holds) await showHold(hold)
  if (scopes.length > 0)
    await showTable(
      ['scope', 'keep at least', 'erase after', 'conversations', 'due', 'on hold', 'next due'],
      scopes.map(({ scope, rules: { keepAtLeast, eraseAfter }, conversations, due, onHold, nextDueAt }) => [
        scope === undefined ? '(none)' : printable(scope),
        keepAtLeast === undefined ? '' : durationText(keepAtLeast),
        eraseAfter === undefined ? '' : durationText(eraseAfter),
        count(conversations),
        count(due),
        count(onHold),
        nextDueAt ?? '',
      ]),
      new Set([3, 4, 5]),
    )
  if (lastRun === undefined) await line('no run yet')
  else if (lastRun.receipt === undefined)
    await line(
      colours.yellow(
        `run ${lastRun.runId}, started ${lastRun.startedAt} by ${printable(lastRun.actor)}, is not completed: \`retention run --once --yes\` continues it if it was interrupted`,
      ),
    )
  else
    await line(
      `last run: ${lastRun.completedAt ?? ''} by ${printable(lastRun.actor)}, ${many(lastRun.receipt.erased.length, 'conversation')} erased, ${count(lastRun.receipt.kept.length)} kept`,
    )
}
