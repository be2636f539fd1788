/** Where a summary or a line comes from, as it is shown. */
import type { SummarizerRecord } from '../../domain/events/index.js'
import { editionOf } from '../../domain/values/ids.js'
import { contentText } from '../../domain/values/message.js'
import { isWithoutModel } from '../../domain/reports/prices.js'
import type {
  BatchOrigin,
  ChunkOrigin,
  CycleOrigin,
  Explanation,
  LineSource,
  OriginalMessage,
  PromptText,
  RecordedAt,
  TakeoverOrigin,
  Withdrawn,
} from '../../library/ledger.js'
import { messageText } from './context.js'
import { brief, colours, count, line, many, printable, toJson, typed } from '../output.js'

/** Lines with those that stand under them. */
interface Branch {
  readonly lines: readonly string[]
  readonly under: readonly Branch[]
}

const TEXT_CHARACTERS = 160

function* treeLines({ lines, under }: Branch, indent = '', stem = ''): Generator<string> {
  const trunk = under.length > 0 ? '│  ' : '   '
  for (const [at, text] of lines.entries()) yield at === 0 ? `${indent}${text}` : `${stem}${trunk}${text}`
  for (const [at, branch] of under.entries()) {
    const isLast = at === under.length - 1
    yield* treeLines(branch, `${stem}${isLast ? '└─ ' : '├─ '}`, `${stem}${isLast ? '   ' : '│  '}`)
  }
}

const indented = (text: string): string[] =>
  printable(text)
    .split('\n')
    .map((part) => `  ${part}`)

/** Whose revisions these are, where they are not the conversation's own. */
function ofStream({ stream }: RecordedAt): string {
  const edition = editionOf(stream)
  return edition === undefined ? '' : ` of edition ${printable(edition.editionId)}`
}

const where = (recorded: RecordedAt): string =>
  `revision ${recorded.revision.toString()}${ofStream(recorded)}, ${recorded.recordedAt}, asked by ${printable(recorded.actor)} (request ${printable(recorded.correlationId)})`

const STATES: Readonly<Record<BatchOrigin['state'], string>> = {
  shown: 'in the view',
  active: 'not in the view, searchable',
  retired: 'not active',
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
  const { modelMaxTokens, systemReserve, outputReserve, safetyBuffer, contextBudget } = terms
  const window = `${count(modelMaxTokens)} - ${count(systemReserve)} - ${count(outputReserve)} - ${count(safetyBuffer)}`
  return `${String(cycle)}${ofStream(recorded)}, ${trigger} trigger, threshold ${count(threshold)} = (${window})${trigger === 'hard' ? '' : ` x ${String(contextBudget)}`}: ${count(tokensBefore)} -> ${count(tokensAfter)} tokens; ${where(recorded)}${undone === undefined ? '' : `; ${colours.yellow(`UNDONE at ${where(undone)}`)}`}`
}

const TAKEOVERS: Readonly<Record<TakeoverOrigin['type'], string>> = {
  EditionAdopted: 'an adopted edition',
  EditionReverted: 'an edition that was reverted',
  CycleUndone: 'a cycle that was undone',
}

const PUT_OUT: Readonly<Record<TakeoverOrigin['type'], string>> = {
  EditionAdopted: 'another edition was adopted',
  EditionReverted: 'the edition was reverted',
  CycleUndone: 'a cycle was undone',
}

const putOutText = ({ type, editionId, recorded }: TakeoverOrigin): string =>
  `not any more: ${PUT_OUT[type]}${editionId === undefined ? '' : ` (${printable(editionId)})`}; ${where(recorded)}`

const takeoverText = ({ type, editionId, recorded }: TakeoverOrigin): string =>
  `by ${TAKEOVERS[type]}${editionId === undefined ? '' : `, as edition ${printable(editionId)} made it`}; ${where(recorded)}`

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
    `made by    ${strategy}, ${printable(model)}${isWithoutModel(summarizer) ? '' : ` of ${printable(provider)}`}: ${tokens}, ${count(durationMs)} ms${standIn === true ? `; ${colours.yellow('STOOD IN for the summarizer, which failed at the hard limit')}` : ''}${summarizer.reused === true ? '; taken over, not bought again' : ''}`,
    `parameters ${printable(toJson(parameters))}`,
    `prompt     ${printable(prompt.name)}, SHA-256 ${prompt.sha256}, formatter ${String(formatterVersion)}`,
    ...(persona === undefined ? [] : [`persona    SHA-256 ${persona.sha256}`]),
    `request    SHA-256 ${requestHash}${responseId === undefined ? '' : `, answer ${printable(responseId)}`}`,
    `recorded   ${where(recorded)}`,
  ]
}

function messageBranch({ message, messageId, recorded, createdAt, tokens, answers }: OriginalMessage): Branch {
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

function batchBranch(batch: BatchOrigin, inShort: boolean, isTop = true): Branch {
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
    missing,
  } = batch
  const by = summarizer ?? chunk?.summarizer
  const head = `${colours.bold(batchId)} depth ${String(depth)}, ${startTime} to ${endTime}, ${many(messageCount, 'message')}, ${many(tokens, 'token')}, ${STATES[state]}${inShort && by !== undefined ? `, by ${by.strategy} (${printable(by.model)})${cycle === undefined ? '' : `, cycle ${String(cycle.cycle)}${ofStream(cycle.recorded)}${cycle.undone === undefined ? '' : ' (undone)'}`}` : ''}`
  const full = [
    ...(isTop ? indented(batch.content) : [`  ${brief(batch.content, TEXT_CHARACTERS)}`]),
    ...(summarizer === undefined ? [`archived   ${where(recorded)}`] : madeLines(summarizer, recorded)),
    ...(cycle === undefined
      ? takenOver === undefined
        ? ['cycle      none so far: it shows from the next one on']
        : []
      : [`cycle      ${cycleText(cycle)}`]),
    ...(takenOver === undefined ? [] : [`in force   ${takeoverText(takenOver)}`]),
    ...(putOut === undefined ? [] : [`in force   ${putOutText(putOut)}`]),
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
    ],
  }
}

async function showPrompts(prompts: readonly PromptText[]): Promise<void> {
  for (const { sha256, kind, text } of prompts) {
    await line(`\n${colours.bold(kind === 'template' ? 'prompt' : kind)} ${colours.dim(`SHA-256 ${sha256}`)}`)
    if (text === undefined) await line(colours.red('  its text is not recorded'))
    else for (const part of indented(text)) await line(part)
  }
}

async function showBranch(branch: Branch): Promise<void> {
  for (const text of treeLines(branch)) await line(text.trimEnd())
}

/** The message that a sentence of an extractive summary stands in. */
async function showSaid(
  conversationId: string,
  { messageId, createdAt, message, recorded }: OriginalMessage,
): Promise<void> {
  await line(
    `said by ${message.role} in message ${colours.bold(printable(messageId))}, revision ${recorded.revision.toString()}, ${createdAt}: ${brief(contentText(message.content), TEXT_CHARACTERS)}`,
  )
  await line(
    colours.dim(
      `  what the model had before it then: context-ledger context ${typed(conversationId)} --at ${typed(messageId)}`,
    ),
  )
}

const withdrawnText = ({ revision, recordedAt, actor, why }: Withdrawn): string =>
  `withdrawn at revision ${revision.toString()} (${why}), ${recordedAt}, asked by ${printable(actor)}`

/** What became of the message that a line stands in. */
function placeText(batchId: string | undefined, withdrawn: Withdrawn | undefined): string {
  if (withdrawn !== undefined)
    return `the line is of a message that was ${withdrawnText(withdrawn)}; here as it was appended:`
  return batchId === undefined
    ? 'the line is of a live message, here as it was appended:'
    : 'the line is of a message that left the context, here as it was appended; this batch covers it:'
}

function sourceText(source: LineSource, conversationId: string): string {
  const excerpt = `\n   ${brief(source.excerpt, TEXT_CHARACTERS)}`
  if (source.kind === 'batch')
    return `${colours.bold(source.batchId)} depth ${String(source.depth)}, ${source.startTime} to ${source.endTime}: context-ledger explain ${typed(conversationId)} --batch ${source.batchId}${excerpt}`
  const archived =
    source.withdrawn !== undefined
      ? `, ${withdrawnText(source.withdrawn)}`
      : source.batchId === undefined
        ? ', live'
        : `, archived: context-ledger explain ${typed(conversationId)} --batch ${source.batchId}`
  return `message ${colours.bold(printable(source.messageId))} revision ${source.revision.toString()}${archived}${excerpt}`
}

const SHOWN_ONLY: Readonly<Record<Extract<Explanation, { kind: 'shown-only' }>['what'], string>> = {
  placeholder: 'a placeholder for a result of a call that was not there yet',
  note: 'a note of what is left out to fit the window',
}

/** Shows where a summary or a line comes from; `open` shows the original messages whole. */
export async function showExplanation(explanation: Explanation, open: boolean): Promise<void> {
  const { conversationId } = explanation
  if (explanation.kind === 'shown-only') {
    const { what, text, asOf } = explanation
    await line(
      `${SHOWN_ONLY[what]}, which the ledger itself puts there and which is recorded nowhere; shown as of revision ${asOf.revision.toString()}, ${asOf.recordedAt}:\n  ${brief(text, TEXT_CHARACTERS)}`,
    )
    return
  }
  if (explanation.kind === 'several') {
    await line(`the line stands in ${String(explanation.sources.length)} places; a longer part of it may stand in one:`)
    for (const source of explanation.sources) await line(sourceText(source, conversationId))
    return
  }
  if (explanation.kind === 'view') {
    const { batches, cycles, liveMessages, asOf } = explanation
    if (asOf !== undefined)
      await line(
        `a line of the view itself, which counts, orders or omits what it is made of: as revision ${asOf.revision.toString()} made it, ${asOf.recordedAt}`,
      )
    await line(
      `${printable(conversationId)}: ${many(batches.length, 'active batch', 'active batches')} after ${many(cycles, 'cycle')}, ${many(liveMessages, 'live message')}`,
    )
    for (const batch of batches) await showBranch(batchBranch(batch, !open))
    const [first] = batches
    if (first !== undefined)
      await line(
        colours.dim(
          `each with prompt, model, usage and trigger: context-ledger explain ${typed(conversationId)} --batch ${first.batchId}`,
        ),
      )
    if (open) await showPrompts(explanation.prompts)
    return
  }
  if (explanation.found?.match === 'spacing') await line(colours.dim('found but for its white space'))
  if (explanation.kind === 'message') {
    const { message, batch, withdrawn } = explanation
    await line(placeText(batch?.batchId, withdrawn))
    await showBranch(messageBranch(message))
    await line(colours.dim(where(message.recorded)))
    if (batch !== undefined) await showBranch(batchBranch(batch, false))
  } else {
    for (const message of explanation.said ?? []) await showSaid(conversationId, message)
    if (explanation.said !== undefined) await line('the summary that has taken it over:')
    await showBranch(batchBranch(explanation.batch, false))
  }
  await showPrompts(explanation.prompts)
}
