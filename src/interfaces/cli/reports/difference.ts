/** Prints the difference of a conversation between two revisions. */
import { diffWordsWithSpace } from 'diff'
import { contentText } from '../../../domain/values/message.js'
import type { Difference, Ledger } from '../../../library/ledger.js'
import { titlesOf } from '../../../library/titles.js'
import { describeEvent } from '../../../domain/events/describe-event.js'
import { idWithTitle } from '../titles.js'
import { brief, colours, count, line, many, printable } from '../output.js'

const TEXT_CHARACTERS = 100
/** Unchanged lines of the view printed before and after a change. */
const SAME_LINES = 2

const removedLine = (text: string): string => colours.red(`- ${text}`)
const addedLine = (text: string): string => colours.green(`+ ${text}`)

type Message = Difference['messages']['left'][number]
type Batch = Difference['batches']['left'][number]

const ofMessage = ({ messageId, revision, role, tokens, content, toolCalls = [], batchId }: Message): string => {
  const text = [
    contentText(content),
    ...toolCalls.map((call) => `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`),
  ]
    .filter((part) => part !== '')
    .join(' ')
  return `${printable(messageId)} (revision ${revision.toString()}, ${role}, ${many(tokens, 'token')}${batchId === undefined ? '' : `, now in ${batchId}`}): ${brief(text, TEXT_CHARACTERS)}`
}

const ofBatch = ({ batchId, depth, messageCount, startTime, endTime, tokens }: Batch): string =>
  `${batchId} (depth ${String(depth)}, ${many(messageCount, 'message')}, ${startTime} to ${endTime}, ${many(tokens, 'token')})`

/** The word difference of two lines: removed words as [-…-], added words as {+…+}. */
const wordsOf = (before: string, after: string): string =>
  diffWordsWithSpace(before, after)
    .map(({ added, removed, value }) =>
      added ? colours.green(`{+${value}+}`) : removed ? colours.red(`[-${value}-]`) : value,
    )
    .join('')

const linesOf = (text: string): string[] => printable(text).replace(/\n$/u, '').split('\n')

/** The changed lines of the view, with a few unchanged lines around them. */
export function viewLines(changes: Difference['view']): string[] {
  const lines: string[] = []
  for (const [at, { kind, text }] of changes.entries()) {
    const changeLines = linesOf(text)
    const next = changes[at + 1]
    const before = changes[at - 1]
    // A replaced line usually differs in a few words, so the difference is printed by words.
    if (kind === 'removed' && changeLines.length === 1 && next?.kind === 'added' && linesOf(next.text).length === 1)
      lines.push(`~ ${wordsOf(changeLines[0] ?? '', linesOf(next.text)[0] ?? '')}`)
    else if (
      kind === 'added' &&
      changeLines.length === 1 &&
      before?.kind === 'removed' &&
      linesOf(before.text).length === 1
    )
      continue
    else if (kind === 'removed') lines.push(...changeLines.map(removedLine))
    else if (kind === 'added') lines.push(...changeLines.map(addedLine))
    else {
      const head = before === undefined ? [] : changeLines.slice(0, SAME_LINES)
      const tail = next === undefined ? [] : changeLines.slice(Math.max(head.length, changeLines.length - SAME_LINES))
      const rest = changeLines.length - head.length - tail.length
      lines.push(
        ...head.map((text_) => `  ${text_}`),
        ...(rest === 0 ? [] : [colours.dim(`  … ${many(rest, 'line')} unchanged`)]),
        ...tail.map((text_) => `  ${text_}`),
      )
    }
  }
  return lines
}

const side = ({ revision, recordedAt }: Difference['from']): string => `revision ${revision.toString()} (${recordedAt})`

async function section(title: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  await line(`\n${colours.bold(title)}`)
  for (const each of lines) await line(each)
}

const DEACTIVATED_BY: Readonly<Record<NonNullable<NonNullable<Difference['cycle']>['outOfForce']>['type'], string>> = {
  CycleUndone: 'was undone',
  EditionAdopted: 'was replaced by an adopted edition',
  EditionReverted: 'was removed with a reverted edition',
}

/** Notes for a cycle that is not active, or whose number is not unique. */
function cycleLines({ cycle, outOfForce, others }: NonNullable<Difference['cycle']>): string[] {
  return [
    ...(outOfForce === undefined
      ? []
      : [
          colours.yellow(
            `cycle ${String(cycle)} ${DEACTIVATED_BY[outOfForce.type]} at revision ${outOfForce.revision.toString()}, ${outOfForce.recordedAt}, by ${printable(outOfForce.actor)}`,
          ),
        ]),
    ...others.map(
      ({ from, to }) => `another cycle ${String(cycle)}, not active: --from ${from.toString()} --to ${to.toString()}`,
    ),
  ]
}

/** Prints a difference: messages, batches and the view, as lines with + and -. */
export async function showDifference(
  ledger: Ledger,
  { conversationId, from, to, cycle, messages, batches, view, events }: Difference,
): Promise<void> {
  const titles = await titlesOf(ledger, [conversationId])
  await line(`${idWithTitle(conversationId, titles)}: ${side(from)} → ${side(to)}`)
  for (const cycleNote of cycle === undefined ? [] : cycleLines(cycle)) await line(cycleNote)
  const change = to.tokens - from.tokens
  await line(
    `context ${count(from.tokens)} → ${count(to.tokens)} tokens (${change < 0 ? '' : '+'}${count(change)}), ${many(from.liveMessages, 'live message')} → ${count(to.liveMessages)}, ${many(from.batches, 'batch', 'batches')} → ${count(to.batches)}, ${many(from.cycles, 'cycle')} → ${count(to.cycles)}`,
  )
  const passed =
    messages.passed.length === 0 ? '' : `; ${count(messages.passed.length)} more were added and removed in between`
  await section(`messages: ${count(messages.left.length)} removed, ${count(messages.came.length)} added${passed}`, [
    ...messages.left.map((each) => removedLine(ofMessage(each))),
    ...messages.came.map((each) => addedLine(ofMessage(each))),
  ])
  await section(`batches: ${count(batches.left.length)} removed, ${count(batches.came.length)} added`, [
    ...batches.left.map((each) => removedLine(ofBatch(each))),
    ...batches.came.map((each) => addedLine(ofBatch(each))),
  ])
  await section('view', view.length === 0 ? [colours.dim('  unchanged')] : viewLines(view))
  const appended = events.filter(({ type }) => type === 'MessageAppended').length
  await line(`\n${colours.bold(`events in between: ${count(events.length)}, including ${many(appended, 'message')}`)}`)
  if (events.length === appended) return
  for await (const event of ledger.log(conversationId, { from: from.revision + 1, limit: events.length })) {
    if (event.type !== 'MessageAppended')
      await line(
        `${event.revision.toString().padStart(5)}  ${colours.dim(event.metadata.recordedAt)}  ${event.type}  ${describeEvent(event)}`,
      )
  }
}
