/** Notes about a context for people. */
import { count, many } from '../text/count.js'
import { SUMMARY_UNKNOWN, type Context, type OverBudget } from './context.js'

/** Why a context is at or above its limit. Each text follows a sentence that names the limit. */
export const whyOverBudget: Readonly<Record<OverBudget['reason'], string>> = {
  'compaction-due': 'the next append compacts it',
  'compaction-failed': 'compaction failed and is retried with later messages',
  'cycle-undone': 'a cycle was undone, and the next one waits for more messages',
  'recent-messages': 'at least half of it is messages that are never compacted: leading, pinned and recent ones',
  'pinned-and-leading': 'the leading and pinned messages alone reach the limit, and they are never compacted',
  'open-calls': 'tool calls without a result block the compaction of messages',
  summaries: 'at least half of it is summaries of earlier messages',
  'too-little-to-fold': 'too few messages can be compacted to be worth a cycle',
}

/** Notes about a context, in addition to its messages. */
export function contextNotes(context: Context): string[] {
  const { observed, overBudget, shortened = [], openCalls = [] } = context
  return [
    ...(observed === undefined
      ? []
      : [
          `built by ${observed.program}${observed.programVersion === undefined ? '' : ` ${observed.programVersion}`}, according to its transcript`,
          ...(observed.summaryUnknown === true ? [SUMMARY_UNKNOWN] : []),
        ]),
    ...(overBudget === undefined
      ? []
      : [
          `over budget: ${count(overBudget.tokens)} tokens, the limit is ${count(overBudget.limit)}: ${whyOverBudget[overBudget.reason]}. ${many(overBudget.messageIds.length, 'message')} cannot be compacted`,
        ]),
    ...(shortened.length === 0
      ? []
      : [
          `to fit the model’s window, ${many(shortened.length, 'text is', 'texts are')} shortened or omitted: ${shortened.map(({ id, how }) => `${id} (${how})`).join(', ')}`,
        ]),
    ...(openCalls.length === 0
      ? []
      : [`tool calls without a result: ${openCalls.map(({ name, callId }) => `${name} (${callId})`).join(', ')}`]),
  ]
}
