/** Where a batch comes from, as a tree down to the messages. */
import type { SummarizerRecord } from '../../domain/events/index.js'
import { isWithoutModel } from '../../domain/reports/prices.js'
import { editionOf } from '../../domain/values/ids.js'
import type {
  BatchOrigin,
  ChunkOrigin,
  CycleOrigin,
  ObservedOrigin,
  OriginalMessage,
  RecordedAt,
  TakeoverOrigin,
} from '../../library/ledger.js'
import { brief, colours, count, line, many, printable, toJson } from '../output.js'
import { messageText } from './context.js'
import { sourceText } from './describe-event.js'

/** Lines with those that stand under them. */
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

/** Whose revisions these are, where they are not the conversation's own. */
function ofStream({ stream }: RecordedAt): string {
  const edition = editionOf(stream)
  return edition === undefined ? '' : ` of edition ${printable(edition.editionId)}`
}

export const recordedText = (recorded: RecordedAt): string =>
  `revision ${recorded.revision.toString()}${ofStream(recorded)}, ${recorded.recordedAt}, asked by ${printable(recorded.actor)} (request ${printable(recorded.correlationId)})`

const STATES: Readonly<Record<BatchOrigin['state'], string>> = {
  shown: 'in the view',
  active: 'not in the view, searchable',
  retired: 'not active',
}

/** The limit that was reached, and the settings whose product it is. */
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

const REPLACED_BY: Readonly<Record<TakeoverOrigin['type'], string>> = {
  EditionAdopted: 'an adopted edition',
  EditionReverted: 'an edition that was reverted',
  CycleUndone: 'a cycle that was undone',
}

const OUT_OF_FORCE: Readonly<Record<TakeoverOrigin['type'], string>> = {
  EditionAdopted: 'another edition was adopted',
  EditionReverted: 'the edition was reverted',
  CycleUndone: 'a cycle was undone',
}

const outOfForceText = ({ type, editionId, recorded }: TakeoverOrigin): string =>
  `not any more: ${OUT_OF_FORCE[type]}${editionId === undefined ? '' : ` (${printable(editionId)})`}; ${recordedText(recorded)}`

const inForceText = ({ type, editionId, recorded }: TakeoverOrigin): string =>
  `by ${REPLACED_BY[type]}${editionId === undefined ? '' : `, as edition ${printable(editionId)} made it`}; ${recordedText(recorded)}`

/** How a summary was made, a line each. */
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
    standIn,
  } = summarizer
  const tokens = isWithoutModel(summarizer)
    ? 'no model asked'
    : usage === undefined
      ? 'usage not reported'
      : `${count(usage.promptTokens)} tokens asked, ${count(usage.completionTokens)} answered`
  return [
    `made by    ${strategy}, ${printable(model)}${isWithoutModel(summarizer) ? '' : ` of ${printable(provider)}`}: ${tokens}, ${count(durationMs)} ms${standIn === true ? `; ${colours.yellow('the FALLBACK: the summarizer failed at the hard limit')}` : ''}${summarizer.reused === true ? '; reused, not bought again' : ''}`,
    `parameters ${printable(toJson(parameters))}`,
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
  inShort: boolean,
): Branch {
  const head = `${colours.bold(chunkId)} ${idsText(messageIds)}, revisions ${firstRevision.toString()} to ${lastRevision.toString()}`
  return {
    lines: inShort
      ? [head]
      : [head, ...(continues === undefined ? [] : [`background ${continues}`]), ...madeLines(summarizer, recorded)],
    under: (messages ?? []).map(messageBranch),
  }
}

/** A compaction that another program did, as its transcript tells. */
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
  inShort: boolean,
): Branch {
  const head = `${colours.bold(printable(program))}${programVersion === undefined ? '' : ` ${printable(programVersion)}`} compacted (${trigger}) ${idsText(messageIds)}`
  const tokens =
    told.tokensBefore === undefined
      ? []
      : [
          `tokens     ${count(told.tokensBefore)}${told.tokensAfter === undefined ? '' : ` -> ${count(told.tokensAfter)}`} by its own count`,
        ]
  const details = [
    `told       as ${printable(sourceId)} in ${sourceText(where)}`,
    ...(summary === 'text' ? [] : [`summary    ${summary === 'opaque' ? 'only its provider reads it' : 'none'}`]),
    ...(unknown.length === 0
      ? []
      : [
          `unknown    whether the model was still given ${many(unknown.length, 'of these messages', 'of these messages')}`,
        ]),
    ...tokens,
    `recorded   ${recordedText(recorded)}`,
  ]
  return { lines: inShort ? [head] : [head, ...details], under: (messages ?? []).map(messageBranch) }
}

export function batchBranch(batch: BatchOrigin, inShort: boolean, isTop = true): Branch {
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
  const head = `${colours.bold(batchId)} depth ${String(depth)}, ${startTime} to ${endTime}, ${many(messageCount, 'message')}, ${many(tokens, 'token')}, ${STATES[state]}${inShort && by !== undefined ? `, by ${by.strategy} (${printable(by.model)})${cycle === undefined ? '' : `, cycle ${String(cycle.cycle)}${ofStream(cycle.recorded)}${cycle.undone === undefined ? '' : ' (undone)'}`}` : ''}`
  const full = [
    ...(isTop ? indented(batch.content) : [`  ${brief(batch.content, TEXT_CHARACTERS)}`]),
    ...(summarizer === undefined ? [`archived   ${recordedText(recorded)}`] : madeLines(summarizer, recorded)),
    ...(cycle === undefined
      ? takenOver === undefined
        ? ['cycle      none yet: the next one shows it']
        : []
      : [`cycle      ${cycleText(cycle)}`]),
    ...(takenOver === undefined ? [] : [`in force   ${inForceText(takenOver)}`]),
    ...(putOut === undefined ? [] : [`in force   ${outOfForceText(putOut)}`]),
  ]
  return {
    lines: [
      head,
      ...(inShort ? [] : full),
      ...missing.map((id) => colours.red(`MISSING    ${printable(id)} is not recorded`)),
    ],
    under: [
      ...sources.map((source) => batchBranch(source, inShort, false)),
      ...(chunk === undefined ? [] : [chunkBranch(chunk, inShort)]),
      ...(observed === undefined ? [] : [observedBranch(observed, inShort)]),
    ],
  }
}

export async function showBranch(branch: Branch): Promise<void> {
  for (const text of treeLines(branch)) await line(text.trimEnd())
}
