/** Prints the sources of a batch as a tree, down to the messages. */
import { summaryOf } from '../../../domain/conversation/batch.js'
import type { SummarizerRecord } from '../../../domain/events/index.js'
import { summarizerNotes } from '../../../domain/reports/summarizer-notes.js'
import { isWithoutModel } from '../../../domain/reports/prices.js'
import { editionOf } from '../../../domain/values/ids.js'
import type {
  BatchOrigin,
  ChunkOrigin,
  CycleOrigin,
  ObservedOrigin,
  OriginalMessage,
  RecordedAt,
  TakeoverOrigin,
} from '../../../library/ledger.js'
import { brief, colours, count, line, many, printable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { messageText } from './context.js'
import { sourceText } from '../../../domain/events/lines.js'

/** A node of the tree: its lines and its children. */
interface Branch {
  readonly lines: readonly string[]
  readonly under: readonly Branch[]
}

export const TEXT_CHARACTERS = 160

function* treeLines({ lines, under }: Branch, indent = '', stem = ''): Generator<string> {
  const trunk = under.length > 0 ? '│  ' : '   '
  for (const [at, text] of lines.entries()) yield at === 0 ? `${indent}${text}` : `${stem}${trunk}${text}`
  for (const [at, branch] of under.entries()) {
    const isLast = at === under.length - 1
    yield* treeLines(branch, `${stem}${isLast ? '└─ ' : '├─ '}`, `${stem}${isLast ? '   ' : '│  '}`)
  }
}

export const indented = (text: string): string[] =>
  printable(text)
    .split('\n')
    .map((part) => `  ${part}`)

/** Names the edition if the event is in an edition's stream. */
function ofStream({ stream }: RecordedAt): string {
  const edition = editionOf(stream)
  return edition === undefined ? '' : ` of edition ${printable(edition.editionId)}`
}

export const recordedText = (recorded: RecordedAt): string =>
  `revision ${recorded.revision.toString()}${ofStream(recorded)}, ${recorded.recordedAt}, by ${printable(recorded.actor)} (request ${printable(recorded.correlationId)})`

const STATES: Readonly<Record<BatchOrigin['state'], string>> = {
  shown: 'in the context',
  active: 'not in the context, searchable',
  retired: 'inactive',
}

/** The threshold and the settings it is computed from. */
function limitText(
  trigger: CycleOrigin['trigger'],
  threshold: CycleOrigin['threshold'],
  terms: CycleOrigin['terms'],
): string {
  if (threshold === undefined || terms === undefined) return ''
  const { modelMaxTokens, systemReserve, outputReserve, safetyBuffer, contextBudget } = terms
  const window = `${count(modelMaxTokens)} - ${count(systemReserve)} - ${count(outputReserve)} - ${count(safetyBuffer)}`
  return `, threshold ${count(threshold)} = (${window})${trigger === 'hard' ? '' : ` x ${String(contextBudget)}`}`
}

function cycleText({
  cycle,
  trigger,
  threshold,
  terms,
  tokensBefore,
  tokensAfter,
  recorded,
  undone,
}: CycleOrigin): string {
  return `${String(cycle)}${ofStream(recorded)}, ${trigger === 'observed' ? 'by another program' : `${trigger} trigger`}${limitText(trigger, threshold, terms)}: ${count(tokensBefore)} -> ${count(tokensAfter)} tokens; ${recordedText(recorded)}${undone === undefined ? '' : `; ${colours.yellow(`UNDONE at ${recordedText(undone)}`)}`}`
}

const ACTIVATED_BY: Readonly<Record<TakeoverOrigin['type'], string>> = {
  EditionAdopted: 'an adopted edition',
  EditionReverted: 'a reverted edition',
  CycleUndone: 'an undone cycle',
}

const DEACTIVATED_BY: Readonly<Record<TakeoverOrigin['type'], string>> = {
  EditionAdopted: 'another edition was adopted',
  EditionReverted: 'the edition was reverted',
  CycleUndone: 'a cycle was undone',
}

const deactivatedText = ({ type, editionId, recorded }: TakeoverOrigin): string =>
  `deactivated: ${DEACTIVATED_BY[type]}${editionId === undefined ? '' : ` (${printable(editionId)})`}; ${recordedText(recorded)}`

const activatedText = ({ type, editionId, recorded }: TakeoverOrigin): string =>
  `since ${ACTIVATED_BY[type]}${editionId === undefined ? '' : ` (${printable(editionId)})`}; ${recordedText(recorded)}`

/** How a summary was made, one detail per line. */
function madeLines(summarizer: SummarizerRecord, recorded: RecordedAt): string[] {
  const {
    strategy,
    provider,
    model,
    parameters,
    prompt,
    persona,
    formatterVersion,
    requestHash,
    responseId,
    usage,
    durationMs,
  } = summarizer
  const tokens = isWithoutModel(summarizer)
    ? 'no model used'
    : usage === undefined
      ? 'usage not reported'
      : `${count(usage.promptTokens)} prompt tokens, ${count(usage.completionTokens)} completion tokens`
  return [
    `made by    ${strategy}, ${printable(model)}${isWithoutModel(summarizer) ? '' : ` of ${printable(provider)}`}: ${tokens}, ${count(durationMs)} ms${summarizerNotes(
      summarizer,
    )
      .map((note) => `; ${colours.yellow(note)}`)
      .join('')}`,
    `parameters ${printable(toWire(parameters))}`,
    `prompt     ${printable(prompt.name)}, SHA-256 ${prompt.sha256}, formatter ${String(formatterVersion)}`,
    ...(persona === undefined ? [] : [`persona    SHA-256 ${persona.sha256}`]),
    `request    SHA-256 ${requestHash}${responseId === undefined ? '' : `, answer ${printable(responseId)}`}`,
    `recorded   ${recordedText(recorded)}`,
  ]
}

export function messageBranch({ message, messageId, recorded, createdAt, tokens, answers }: OriginalMessage): Branch {
  const lines = [
    ...messageText(message, messageId, false).split('\n'),
    colours.dim(`revision ${recorded.revision.toString()}, ${createdAt}, ${many(tokens, 'token')}`),
  ]
  return {
    lines: [
      ...lines,
      ...(answers === undefined
        ? []
        : [colours.dim(`answers the context at revision ${answers.revision} (hash ${answers.hash})`)]),
    ],
    under: [],
  }
}

function idsText(ids: readonly string[]): string {
  const [first = '', last = first] = [ids[0], ids.at(-1)]
  return `${many(ids.length, 'message')}: ${printable(ids.length === 1 ? first : ids.length <= 6 ? ids.join(', ') : `${first} to ${last}`)}`
}

function chunkBranch(
  { chunkId, messageIds, firstRevision, lastRevision, continues, summarizer, recorded, messages }: ChunkOrigin,
  isBrief: boolean,
): Branch {
  const head = `${colours.bold(chunkId)} ${idsText(messageIds)}, revisions ${firstRevision.toString()} to ${lastRevision.toString()}`
  return {
    lines: isBrief
      ? [head]
      : [head, ...(continues === undefined ? [] : [`background ${continues}`]), ...madeLines(summarizer, recorded)],
    under: (messages ?? []).map(messageBranch),
  }
}

/** The tokens and the price that a program reports for its summary. */
function usageText({ inputTokens, outputTokens, cost }: NonNullable<ObservedOrigin['told']['usage']>): string {
  const tokens = [
    ...(inputTokens === undefined ? [] : [`${count(inputTokens)} input tokens`]),
    ...(outputTokens === undefined ? [] : [`${count(outputTokens)} output tokens`]),
  ]
  return [...tokens, ...(cost === undefined ? [] : [`$${String(cost)}`])].join(', ')
}

/** A compaction by another program, from its transcript. */
function observedBranch(
  {
    program,
    programVersion,
    sourceId,
    trigger,
    messageIds,
    unknown,
    told,
    where,
    summary,
    recorded,
    messages,
  }: ObservedOrigin,
  isBrief: boolean,
): Branch {
  const head = `${colours.bold(printable(program))}${programVersion === undefined ? '' : ` ${printable(programVersion)}`} compacted (${trigger}) ${idsText(messageIds)}`
  const tokens =
    told.tokensBefore === undefined
      ? []
      : [
          `tokens     ${count(told.tokensBefore)}${told.tokensAfter === undefined ? '' : ` -> ${count(told.tokensAfter)}`} (reported)`,
        ]
  const details = [
    `source     ${printable(sourceId)} in ${sourceText(where)}`,
    ...(summary === 'text'
      ? []
      : [`summary    ${summary === 'opaque' ? 'not readable (encrypted, or not in the transcript)' : 'none'}`]),
    ...(unknown.length === 0
      ? []
      : [`unknown    whether the model still received ${count(unknown.length)} of these messages`]),
    ...tokens,
    ...(told.usage === undefined ? [] : [`usage      ${usageText(told.usage)} (reported)`]),
    `recorded   ${recordedText(recorded)}`,
  ]
  return { lines: isBrief ? [head] : [head, ...details], under: (messages ?? []).map(messageBranch) }
}

export function batchBranch(batch: BatchOrigin, isBrief: boolean, isTop = true): Branch {
  const {
    batchId,
    depth,
    startTime,
    endTime,
    messageCount,
    tokens,
    state,
    summarizer,
    cycle,
    takenOver,
    putOut,
    recorded,
    sources,
    chunk,
    observed,
    missing,
  } = batch
  const by = summarizer ?? chunk?.summarizer
  const head = `${colours.bold(batchId)} depth ${String(depth)}, ${startTime} to ${endTime}, ${many(messageCount, 'message')}, ${many(tokens, 'token')}, ${STATES[state]}${isBrief && by !== undefined ? `, by ${by.strategy} (${printable(by.model)})${cycle === undefined ? '' : `, cycle ${String(cycle.cycle)}${ofStream(cycle.recorded)}${cycle.undone === undefined ? '' : ' (undone)'}`}` : ''}`
  const full = [
    ...(isTop ? indented(summaryOf(batch)) : [`  ${brief(summaryOf(batch), TEXT_CHARACTERS)}`]),
    ...(summarizer === undefined ? [`archived   ${recordedText(recorded)}`] : madeLines(summarizer, recorded)),
    ...(cycle === undefined
      ? takenOver === undefined && putOut === undefined
        ? ['cycle      none yet: the batch enters the context with the next cycle']
        : []
      : [`cycle      ${cycleText(cycle)}`]),
    ...(takenOver === undefined ? [] : [`active     ${activatedText(takenOver)}`]),
    ...(putOut === undefined ? [] : [`inactive   ${deactivatedText(putOut)}`]),
  ]
  return {
    lines: [
      head,
      ...(isBrief ? [] : full),
      ...missing.map((id) => colours.red(`MISSING    ${printable(id)} is not recorded`)),
    ],
    under: [
      ...sources.map((source) => batchBranch(source, isBrief, false)),
      ...(chunk === undefined ? [] : [chunkBranch(chunk, isBrief)]),
      ...(observed === undefined ? [] : [observedBranch(observed, isBrief)]),
    ],
  }
}

export async function showBranch(branch: Branch): Promise<void> {
  for (const text of treeLines(branch)) await line(text.trimEnd())
}
