/** What changed in a conversation between two moments, as it is shown. */
import { diffWordsWithSpace } from 'diff'
import { contentText } from '../../domain/values/message.js'
import type { Difference, Ledger } from '../../library/ledger.js'
import { describeEvent } from './describe-event.js'
import { brief, colours, count, line, many, printable } from '../output.js'

const TEXT_CHARACTERS = 100
/** Lines of the view that stay the same, shown before and behind what changed. */
const SAME_LINES = 2

const left = (text: string): string => colours.red(`- ${text}`)
const came = (text: string): string => colours.green(`+ ${text}`)

type Message = Difference['messages']['left'][number]
type Batch = Difference['batches']['left'][number]

const ofMessage = ({ messageId, revision, role, tokens, content, toolCalls = [], batchId }: Message): string => {
  const said = [
    contentText(content),
    ...toolCalls.map((call) => `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`),
  ]
    .filter((part) => part !== '')
    .join(' ')
  return `${printable(messageId)} (revision ${revision.toString()}, ${role}, ${many(tokens, 'token')}${batchId === undefined ? '' : `, now in ${batchId}`}): ${brief(said, TEXT_CHARACTERS)}`
}

const ofBatch = ({ batchId, depth, messageCount, startTime, endTime, tokens }: Batch): string =>
  `${batchId} (depth ${String(depth)}, ${many(messageCount, 'message')}, ${startTime} to ${endTime}, ${many(tokens, 'token')})`

/** The words of two lines as one line: what went as [-…-], what came as {+…+}. */
const wordsOf = (before: string, after: string): string =>
  diffWordsWithSpace(before, after)
    .map(({ added, removed, value }) =>
      added ? colours.green(`{+${value}+}`) : removed ? colours.red(`[-${value}-]`) : value,
    )
    .join('')

const linesOf = (text: string): string[] => printable(text).replace(/\n$/u, '').split('\n')

/** The lines of the view that changed, with a few beside them that did not. */
export function viewLines(changes: Difference['view']): string[] {
  const lines: string[] = []
  for (const [at, { kind, text }] of changes.entries()) {
    const own = linesOf(text)
    const next = changes[at + 1]
    const before = changes[at - 1]
    // A line in another one's place differs by a few words as a rule: those are shown in it.
    if (kind === 'removed' && own.length === 1 && next?.kind === 'added' && linesOf(next.text).length === 1)
      lines.push(`~ ${wordsOf(own[0] ?? '', linesOf(next.text)[0] ?? '')}`)
    else if (kind === 'added' && own.length === 1 && before?.kind === 'removed' && linesOf(before.text).length === 1)
      continue
    else if (kind === 'removed') lines.push(...own.map(left))
    else if (kind === 'added') lines.push(...own.map(came))
    else {
      const head = before === undefined ? [] : own.slice(0, SAME_LINES)
      const tail = next === undefined ? [] : own.slice(Math.max(head.length, own.length - SAME_LINES))
      const rest = own.length - head.length - tail.length
      lines.push(
        ...head.map((text_) => `  ${text_}`),
        ...(rest === 0 ? [] : [colours.dim(`  … ${many(rest, 'line')} the same`)]),
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

const OUT_OF_FORCE: Readonly<Record<NonNullable<NonNullable<Difference['cycle']>['outOfForce']>['type'], string>> = {
  CycleUndone: 'was undone',
  EditionAdopted: 'was replaced by an adopted edition',
  EditionReverted: 'went with an edition that was reverted',
}

/** Which of the cycles of a number it is, where that may be asked: one that is not in force, or one of several. */
function cycleLines({ cycle, outOfForce, others }: NonNullable<Difference['cycle']>): string[] {
  return [
    ...(outOfForce === undefined
      ? []
      : [
          colours.yellow(
            `cycle ${String(cycle)} ${OUT_OF_FORCE[outOfForce.type]} at revision ${outOfForce.revision.toString()}, ${outOfForce.recordedAt}, asked by ${printable(outOfForce.actor)}`,
          ),
        ]),
    ...others.map(
      ({ from, to }) =>
        `another cycle ${String(cycle)}, which is not in force: --from ${from.toString()} --to ${to.toString()}`,
    ),
  ]
}

/** Shows a difference: lines with + and -, by messages, batches and the view. */
export async function showDifference(
  ledger: Ledger,
  { conversationId, from, to, cycle, messages, batches, view, events }: Difference,
): Promise<void> {
  await line(`${colours.bold(printable(conversationId))}: ${side(from)} → ${side(to)}`)
  for (const said of cycle === undefined ? [] : cycleLines(cycle)) await line(said)
  const change = to.tokens - from.tokens
  await line(
    `context ${count(from.tokens)} → ${count(to.tokens)} tokens (${change < 0 ? '' : '+'}${count(change)}), ${many(from.liveMessages, 'live message')} → ${count(to.liveMessages)}, ${many(from.batches, 'batch', 'batches')} → ${count(to.batches)}, ${many(from.cycles, 'cycle')} → ${count(to.cycles)}`,
  )
  const passed = messages.passed.length === 0 ? '' : `; ${count(messages.passed.length)} more came and left in between`
  await section(`messages: ${count(messages.left.length)} left, ${count(messages.came.length)} came${passed}`, [
    ...messages.left.map((each) => left(ofMessage(each))),
    ...messages.came.map((each) => came(ofMessage(each))),
  ])
  await section(`batches: ${count(batches.left.length)} left, ${count(batches.came.length)} came`, [
    ...batches.left.map((each) => left(ofBatch(each))),
    ...batches.came.map((each) => came(ofBatch(each))),
  ])
  await section('the view', view.length === 0 ? [colours.dim('  is the same')] : viewLines(view))
  const appended = events.filter(({ type }) => type === 'MessageAppended').length
  await line(`\n${colours.bold(`facts in between: ${count(events.length)}, ${many(appended, 'message')} among them`)}`)
  if (events.length === appended) return
  for await (const event of ledger.log(conversationId, { from: from.revision + 1n, limit: events.length })) {
    if (event.type !== 'MessageAppended')
      await line(
        `${event.revision.toString().padStart(5)}  ${colours.dim(event.metadata.recordedAt)}  ${event.type}  ${describeEvent(event)}`,
      )
  }
}
