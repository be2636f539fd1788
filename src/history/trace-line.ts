/**
 * Where a line comes from that the model saw: the batches and messages that have it, or what of the context's own it
 * is. What the context shows now is asked first; then everything that was archived, and what is shown beside the texts
 * of messages, which reads the conversation once; then what the contexts of earlier revisions showed otherwise than it
 * is recorded, which folds the conversation once more. The batch of a message that left the context is looked for last,
 * in what was archived since the message.
 */
import { either as E } from 'fp-ts'
import { summaryOf } from '../domain/conversation/batch.js'
import { arrange } from '../domain/compaction/context.js'
import { Fold } from '../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import {
  originTypes,
  replacementTypes,
  type EventData,
  type RecordedEvent,
  type ReplacementType,
} from '../domain/events/index.js'
import type { Layout } from '../domain/compaction/fit.js'
import { lineFinder, type Match } from '../domain/text/find-line.js'
import { conversationStream, editionStream } from '../domain/values/ids.js'
import { apiName, contentText, type MessageBody } from '../domain/values/message.js'
import { hardLimit } from '../domain/values/policy.js'
import { sectionLines } from '../domain/conversation/session-summary.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { findEstimator } from '../recording/estimators.js'

/** The fact that withdrew a message: its host's list has it no more. */
export interface Withdrawn {
  /** Revision of the fact that withdrew it. */
  readonly revision: bigint
  /** When that was recorded, ISO 8601. */
  readonly recordedAt: string
  /** Who asked for it. */
  readonly actor: string
  /** Why: what the host's list said of it. */
  readonly why: EventData<'MessagesWithdrawn'>['why']
}

/** A batch or a message that a line may come from. */
export type LineSource = { readonly excerpt: string } & (
  | {
      readonly kind: 'batch'
      readonly batchId: string
      readonly depth: number
      readonly startTime: string
      readonly endTime: string
    }
  /**
   * `batchId` is the batch in force that it was archived in, which may lie below an active one; undefined while it is
   * live, and where it was withdrawn.
   */
  | {
      readonly kind: 'message'
      readonly messageId: string
      readonly revision: bigint
      readonly batchId?: string
      readonly withdrawn?: Withdrawn
    }
)

export type Trace =
  | { readonly kind: 'sources'; readonly match: Match; readonly sources: readonly LineSource[] }
  /**
   * A line of the view's own, which counts, orders or says what is omitted. `at`: the newest revision that is known to
   * show it.
   */
  | { readonly kind: 'view'; readonly match: Match; readonly at: bigint }
  /** Shown and recorded nowhere. */
  | { readonly kind: 'shown-only'; readonly what: ShownOnly; readonly excerpt: string; readonly at: bigint }

/** A placeholder for a result that was not there yet, or the note that says how many groups are left out. */
export type ShownOnly = 'placeholder' | 'note'

/** Where the id of a message stands, `context` says this of a placeholder. */
const NOT_RECORDED = 'shown only, not recorded'

type FoundLine = LineSource & { readonly match: Match }
type Finder = ReturnType<typeof lineFinder>
/** A batch as it is recorded, or as a fact has it that puts it into force. */
type RecordedBatch =
  | EventData<'BatchArchived'>
  | EventData<'BatchesResummarized'>
  | EventData<ReplacementType>['batches'][number]

/** Word for word wins over all that was found but for white space. */
function traceOf(found: readonly FoundLine[]): Trace | undefined {
  const exact = found.filter(({ match }) => match === 'exact')
  const best = exact.length > 0 ? exact : found
  const [first] = best
  return first === undefined
    ? undefined
    : { kind: 'sources', match: first.match, sources: best.map(({ match: _match, ...source }) => source) }
}

const callTexts = (
  calls: readonly { readonly function?: { readonly name: string; readonly arguments: string } | undefined }[] = [],
): string[] =>
  calls.flatMap(({ function: called }) =>
    called === undefined ? [] : [called.arguments, `→ ${called.name}(${called.arguments})`],
  )

/** The texts of a message, as it is recorded or as it is shown. */
const textsOf = (message: Pick<MessageBody, 'content' | 'toolCalls'>): string[] => [
  contentText(message.content),
  ...callTexts(message.toolCalls),
]

/**
 * The lines of ids and names that `context` shows a message with, of those that the line may be of: it has such an id
 * or name whole, so that a role alone leads nowhere.
 * @param id of the message, or what stands in its place
 */
function labelTexts(
  line: string,
  id: string,
  { role, name: recorded, toolCallId, toolCalls = [] }: MessageBody,
): string[] {
  const name = recorded === undefined ? undefined : apiName(recorded)
  const head = `${role}${name === undefined ? '' : ` (${name})`}${toolCallId === undefined ? '' : ` answers ${toolCallId}`} [${id}]`
  return [
    ...([id, name, toolCallId].some((label) => label !== undefined && line.includes(label)) ? [head] : []),
    ...toolCalls.flatMap((call) =>
      line.includes(call.id)
        ? [`→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''}) [${call.id}]`]
        : [],
    ),
  ]
}

function inMessage(
  find: Finder,
  texts: readonly string[],
  { messageId, revision }: Pick<LiveMessage, 'messageId' | 'revision'>,
): FoundLine[] {
  const hit = find(texts)
  return hit === undefined ? [] : [{ kind: 'message', messageId, revision, ...hit }]
}

const spanOf = ({
  batchId,
  depth,
  startTime,
  endTime,
}: {
  readonly batchId: string
  readonly depth: number
  readonly startTime: string
  readonly endTime: string
}) => ({ batchId, depth, startTime, endTime })

/** The batches of the view that have the line, each with the head that stands above it. */
function inView(find: Finder, state: Conversation): FoundLine[] {
  const { view, visibleBatches, originalTask } = state
  const parts = view?.parts ?? []
  const isSessionSummary = state.configuration?.policy.view === 'session-summary'
  const batches = visibleBatches.flatMap((batch): FoundLine[] => {
    const at = parts.findIndex((part) => part.kind === 'batch' && part.batchId === batch.batchId)
    const [head, part] = [parts[at - 1]?.text ?? '', parts[at]]
    const sections = isSessionSummary && batch.sections !== undefined ? sectionLines(batch.sections) : []
    const hit = find([...(part === undefined ? [] : [part.text, `${head}\n${part.text}`]), ...sections])
    return hit === undefined ? [] : [{ kind: 'batch', ...spanOf(batch), ...hit }]
  })
  const task = parts.find(
    (part) => part.kind === 'batch' && !visibleBatches.some(({ batchId }) => batchId === part.batchId),
  )
  return [
    ...batches,
    ...(task === undefined || originalTask === undefined ? [] : inMessage(find, [task.text], originalTask)),
  ]
}

/** The batches of the view that are shown shortened, and have the line so. */
function inShortenedView(
  find: Finder,
  { visibleBatches, originalTask }: Conversation,
  layout: Layout,
  whole: Layout,
): FoundLine[] {
  return layout.view.flatMap((part, at): FoundLine[] => {
    if (part.kind === 'line' || part.text === whole.view[at]?.text) return []
    const batch = visibleBatches.find(({ batchId }) => batchId === part.batchId)
    const hit = find([part.text])
    if (batch !== undefined) return hit === undefined ? [] : [{ kind: 'batch', ...spanOf(batch), ...hit }]
    return originalTask === undefined ? [] : inMessage(find, [part.text], originalTask)
  })
}

/**
 * What a context shows otherwise than it is recorded: the batches and messages behind it, else what is of the context's
 * own.
 * @param labels the line, where ids and names count too
 */
function renderedOtherwise(
  find: Finder,
  state: Conversation,
  labels = '',
): { readonly found: readonly FoundLine[]; readonly own: Trace | undefined } {
  const arranged = arrange(state)
  if (E.isLeft(arranged)) return { found: [], own: undefined }
  const { layout, whole } = arranged.right
  const shown = layout.units.flat()
  const found = [
    ...inShortenedView(find, state, layout, whole),
    ...shown.flatMap(({ body, source }) =>
      source === undefined || body === source
        ? []
        : inMessage(find, [...textsOf(body), ...labelTexts(labels, source.messageId, body)], source),
    ),
  ]
  const at = state.revision
  const shownOnly = (what: ShownOnly, texts: readonly string[]): Trace | undefined => {
    const hit = find(texts)
    return hit === undefined ? undefined : { kind: 'shown-only', what, excerpt: hit.excerpt, at }
  }
  const inLines = find(layout.view.map((part) => part.text))
  const own =
    inLines !== undefined
      ? ({ kind: 'view', match: inLines.match, at } as const)
      : (shownOnly(
          'placeholder',
          shown.flatMap(({ body, source }) =>
            source === undefined ? [...textsOf(body), ...labelTexts(labels, NOT_RECORDED, body)] : [],
          ),
        ) ?? shownOnly('note', layout.note === undefined ? [] : [layout.note.text]))
  return { found, own }
}

/** What the context shows now. */
function inContext(find: Finder, state: Conversation): Trace | undefined {
  const { found, own } = renderedOtherwise(find, state)
  const messages = [...state.leading, ...state.retained, ...state.window].flatMap((message) =>
    inMessage(find, textsOf(message), message),
  )
  const asShown = [...inView(find, state), ...found].filter(
    (source) =>
      source.kind === 'batch' ||
      !messages.some((message) => message.kind === 'message' && message.messageId === source.messageId),
  )
  return traceOf([...asShown, ...messages]) ?? own
}

/**
 * What a batch was shown as, and what its sections say. Its number in the view changes from cycle to cycle; the rest of
 * its head does not.
 */
function batchTexts(batch: RecordedBatch): string[] {
  return [
    batch.content,
    `— depth ${String(batch.depth)}, ${batch.startTime} to ${batch.endTime}]\n${summaryOf(batch)}`,
    ...(batch.sections === undefined ? [] : sectionLines(batch.sections)),
  ]
}

/** The batches that a fact brings into the conversation. */
function batchesOf(event: RecordedEvent): readonly RecordedBatch[] {
  if (isOfType(event, 'BatchArchived', 'BatchesResummarized')) return [event.data]
  return isReplacement(event) ? event.data.batches : []
}

/**
 * Everything that was archived: batches, else the messages that they cover; else the messages whose ids or names the
 * line has.
 */
async function inArchive(
  log: Log,
  { conversationId }: Conversation,
  line: string,
  find: Finder,
): Promise<Trace | undefined> {
  const findBatch = lineFinder(line.trim().replace(/^\[Batch \d+ /u, ''))
  const batches = new Map<string, FoundLine>()
  const messages: FoundLine[] = []
  const labelled: FoundLine[] = []
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const event = await decodeEvent(stored, log.bodies)
    for (const batch of batchesOf(event)) {
      const hit = findBatch(batchTexts(batch))
      if (hit !== undefined) batches.set(batch.batchId, { kind: 'batch', ...spanOf(batch), ...hit })
    }
    if (!isOfType(event, 'MessageAppended')) continue
    const place = { messageId: event.data.messageId, revision: event.revision }
    messages.push(...inMessage(find, textsOf(event.data), place))
    labelled.push(...inMessage(find, labelTexts(line, event.data.messageId, event.data), place))
  }
  return traceOf([...batches.values()]) ?? traceOf(messages) ?? traceOf(labelled)
}

/** Whether a context behind this fact may show what the one before it did not, beside the message itself. */
function showsAnew(event: RecordedEvent, { configuration, tokens }: Conversation): boolean {
  if (isOfType(event, 'MessageAppended') && (event.data.role === 'tool' || event.data.toolCalls !== undefined))
    return true
  if (isOfType(event, 'ConversationConfigured', ...originTypes)) return true
  return configuration !== undefined && tokens > hardLimit(configuration.policy)
}

/** What the contexts of all revisions showed otherwise than it is recorded: shortened, or of the context's own. */
async function inHistory(
  log: Log,
  { conversationId }: Conversation,
  line: string,
  find: Finder,
): Promise<Trace | undefined> {
  const batches = new Map<string, FoundLine>()
  const messages = new Map<string, FoundLine>()
  let last: Trace | undefined
  const fold = new Fold(initialState(conversationId, findEstimator))
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const event = await decodeEvent(stored, log.bodies)
    const state = fold.take(event)
    if (!showsAnew(event, state)) continue
    const { found, own } = renderedOtherwise(find, state, line)
    for (const source of found) {
      if (source.kind === 'batch') batches.set(source.batchId, source)
      else messages.set(source.messageId, source)
    }
    last = own ?? last
  }
  return traceOf([...batches.values(), ...messages.values()]) ?? last
}

const liveIdsOf = ({ leading, retained, window }: Conversation): ReadonlySet<string> =>
  new Set([...leading, ...retained, ...window].map(({ messageId }) => messageId))

const CHAIN: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  'MessagesWithdrawn',
  'BatchArchived',
  'BatchesResummarized',
  ...replacementTypes,
])

/** What became of a message that is not live. */
interface Left {
  readonly batchId?: string
  readonly withdrawn?: Withdrawn
}

/**
 * By message, the batch that it was archived in, of those in force: the active ones and all that these were made of; or
 * the fact that withdrew it. Of the conversation what comes after the first of the messages is read; of editions those
 * alone from which a batch in force comes.
 */
async function whatBecameOf(
  log: Log,
  { conversationId, batches }: Conversation,
  messages: ReadonlyMap<string, bigint>,
): Promise<ReadonlyMap<string, Left>> {
  const found = new Map<string, Left>()
  const covered = new Map<
    string,
    { readonly messageIds: readonly string[]; readonly sourceBatchIds: readonly string[] }
  >()
  const editions = new Map<string, string>()
  const streamsRead = new Set<string>()
  async function read(stream: string, from = 0n): Promise<void> {
    if (streamsRead.has(stream)) return
    streamsRead.add(stream)
    for await (const stored of log.store.readStream(stream, { from })) {
      if (!CHAIN.has(stored.type)) continue
      const event = await decodeEvent(stored, log.bodies)
      if (isOfType(event, 'MessagesWithdrawn')) {
        const {
          revision,
          data: { why },
          metadata: { recordedAt, actor },
        } = event
        for (const { messageId } of event.data.messages)
          if (messages.has(messageId)) found.set(messageId, { withdrawn: { revision, recordedAt, actor, why } })
      } else if (isOfType(event, 'BatchArchived'))
        covered.set(event.data.batchId, {
          messageIds: event.data.messageIds.filter((id) => messages.has(id)),
          sourceBatchIds: [],
        })
      else if (isOfType(event, 'BatchesResummarized'))
        covered.set(event.data.batchId, { messageIds: [], sourceBatchIds: event.data.sourceBatchIds })
      else if (isReplacement(event))
        for (const { batchId, origin } of event.data.batches)
          if (origin.editionId !== undefined) editions.set(batchId, origin.editionId)
    }
  }
  await read(
    conversationStream(conversationId),
    [...messages.values()].reduce((first, revision) => (revision < first ? revision : first)),
  )
  // A set that grows while it is gone through: a log that names a batch as its own source has an end all the same.
  const inForce = new Set(batches.map(({ batchId }) => batchId))
  for (const batchId of inForce) {
    const editionId = editions.get(batchId)
    if (editionId !== undefined) await read(editionStream(editionId, conversationId))
    const { messageIds = [], sourceBatchIds = [] } = covered.get(batchId) ?? {}
    for (const id of messageIds) found.set(id, { ...found.get(id), batchId })
    for (const id of sourceBatchIds) inForce.add(id)
  }
  return found
}

/** The sources, and of messages that are not live the batch in force, or the fact that withdrew them. */
async function withWhatBecameOf(
  log: Log,
  state: Conversation,
  sources: readonly LineSource[],
): Promise<readonly LineSource[]> {
  const liveIds = liveIdsOf(state)
  const left = new Map(
    sources.flatMap((source) =>
      source.kind === 'batch' || liveIds.has(source.messageId) ? [] : [[source.messageId, source.revision] as const],
    ),
  )
  if (left.size === 0) return sources
  const found = await whatBecameOf(log, state, left)
  return sources.map((source) => (source.kind === 'batch' ? source : { ...source, ...found.get(source.messageId) }))
}

/** The trace of a line; undefined where nothing that the model ever saw of this conversation has it. */
export async function traceLine(log: Log, state: Conversation, line: string): Promise<Trace | undefined> {
  const find = lineFinder(line)
  const trace =
    inContext(find, state) ?? (await inArchive(log, state, line, find)) ?? (await inHistory(log, state, line, find))
  return trace?.kind === 'sources' ? { ...trace, sources: await withWhatBecameOf(log, state, trace.sources) } : trace
}
