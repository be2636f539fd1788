/**
 * Finds the source of a line that the model saw: batches, messages, or text that the context itself generates. The
 * search goes from cheap to expensive: the current context; then everything archived, and the ids and names shown with
 * messages, which reads the conversation once; then the shortened or generated texts of earlier contexts, which folds
 * the conversation once more. The batch of a compacted message is determined last, from events after the message.
 */
import { either as E } from 'fp-ts'
import { summaryOf } from '../../domain/conversation/batch.js'
import { NOT_RECORDED_LABEL } from '../../domain/conversation/placeholders.js'
import { arrange } from '../../domain/compaction/context.js'
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import {
  originTypes,
  replacementTypes,
  type EventData,
  type RecordedEvent,
  type ReplacementType,
} from '../../domain/events/index.js'
import { openingOf, type Layout } from '../../domain/compaction/fit.js'
import { rulesOf, shapedMessage } from '../../domain/conversation/shape.js'
import { lineFinder, type Match } from '../../domain/text/find-line.js'
import { conversationStream, editionStream } from '../../domain/values/ids.js'
import { apiName, contentText, type MessageBody } from '../../domain/values/message.js'
import { hardLimit } from '../../domain/values/policy.js'
import { headAfterNumber3 } from '../../domain/conversation/clip-archive-3.js'
import { headAfterNumber } from '../../domain/conversation/clip-archive.js'
import { sectionLines } from '../../domain/conversation/section-blocks.js'
import { workingStateOf } from '../../domain/conversation/batch.js'
import { ORIGINAL_TASK } from '../../domain/conversation/session-summary.js'
import { groupLine } from '../../domain/conversation/working-state-view.js'
import { groupsOf } from '../../domain/conversation/working-state.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { findEstimator } from '../recording/estimators.js'

/** The event that withdrew a message. */
export interface Withdrawn {
  /** Revision of the event. */
  readonly revision: number
  /** Time of the event, ISO 8601. */
  readonly recordedAt: string
  /** The actor of the request. */
  readonly actor: string
  /** The change of the host's list that caused it. */
  readonly why: EventData<'MessagesWithdrawn'>['why']
}

/** A possible source of a line. */
export type LineSource = { readonly excerpt: string } & (
  | {
      readonly kind: 'batch'
      readonly batchId: string
      readonly depth: number
      readonly startTime: string
      readonly endTime: string
    }
  /**
   * `batchId` is the batch with the message, among the active ones and their sources; undefined if the message is live
   * or withdrawn.
   */
  | {
      readonly kind: 'message'
      readonly messageId: string
      readonly revision: number
      readonly batchId?: string
      readonly withdrawn?: Withdrawn
    }
)

export type Trace =
  | { readonly kind: 'sources'; readonly match: Match; readonly sources: readonly LineSource[] }
  /**
   * A generated line of the view: a count, a heading or a note about omitted text. `at`: the newest revision that is
   * known to show it.
   */
  | { readonly kind: 'view'; readonly match: Match; readonly at: number }
  /** Shown but not recorded. */
  | { readonly kind: 'shown-only'; readonly what: ShownOnly; readonly excerpt: string; readonly at: number }

/**
 * A placeholder for a missing result, the note about omitted groups, or a user message inserted for the rules of an
 * API.
 */
export type ShownOnly = 'placeholder' | 'note' | 'inserted'

type FoundLine = LineSource & { readonly match: Match }
type Finder = ReturnType<typeof lineFinder>
/** A recorded batch, from its own event or from one that activates it. */
type RecordedBatch =
  | EventData<'BatchArchived'>
  | EventData<'BatchesResummarized'>
  | EventData<ReplacementType>['batches'][number]

/** Exact matches take precedence over matches that ignore white space. */
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

/** The texts of a message, as recorded or as shown. */
const textsOf = (message: Pick<MessageBody, 'content' | 'toolCalls'>): string[] => [
  contentText(message.content),
  ...callTexts(message.toolCalls),
]

/**
 * The lines of ids and names that `context` shows with a message, if the line contains such an id or name: a role alone
 * matches nothing.
 * @param id of the message, or its replacement
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

/** The batches of the view that contain the line, each together with its heading. */
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
  const task = parts.find((part) => part.kind === 'batch' && part.batchId === ORIGINAL_TASK)
  return [
    ...batches,
    ...(task === undefined || originalTask === undefined ? [] : inMessage(find, [task.text], originalTask)),
  ]
}

/** The batches of the view that contain the line only in shortened form. */
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
    return originalTask === undefined || part.batchId !== ORIGINAL_TASK
      ? []
      : inMessage(find, [part.text], originalTask)
  })
}

/**
 * The messages and batches whose form in a context differs from the recorded one, or else generated text of the
 * context.
 * @param labels the line, if ids and names count too
 */
function renderedForms(
  find: Finder,
  state: Conversation,
  labels = '',
): { readonly found: readonly FoundLine[]; readonly generated: Trace | undefined } {
  const arranged = arrange(state)
  if (E.isLeft(arranged)) return { found: [], generated: undefined }
  const { layout, whole, leading } = arranged.right
  const shownMessages = [...leading, ...layout.units.flat()]
  const opening = openingOf(layout)
  const [mark = '', ...request] = contentText(opening?.body.content).split('\n')
  const found = [
    ...inShortenedView(find, state, layout, whole),
    ...(request.length === 0 || state.originalTask === undefined
      ? []
      : inMessage(find, [request.join('\n')], state.originalTask)),
    ...shownMessages.flatMap(({ body, source }) =>
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
  const generated =
    inLines !== undefined
      ? ({ kind: 'view', match: inLines.match, at } as const)
      : (shownOnly(
          'placeholder',
          shownMessages.flatMap(({ body, source }) =>
            source === undefined && body.role === 'tool'
              ? [...textsOf(body), ...labelTexts(labels, NOT_RECORDED_LABEL, body)]
              : [],
          ),
        ) ??
        shownOnly('note', layout.note === undefined ? [] : [layout.note.text]) ??
        shownOnly('inserted', [
          mark,
          ...shownMessages.flatMap(({ body, source }) =>
            source === undefined && body.role === 'user' ? textsOf(body) : [],
          ),
        ]))
  return { found, generated }
}

/** Searches the current context. */
function inContext(find: Finder, state: Conversation): Trace | undefined {
  const { found, generated } = renderedForms(find, state)
  const messages = [...state.leading, ...state.retained, ...state.window].flatMap((message) =>
    inMessage(find, textsOf(message), message),
  )
  const asShown = [...inView(find, state), ...found].filter(
    (source) =>
      source.kind === 'batch' ||
      !messages.some((message) => message.kind === 'message' && message.messageId === source.messageId),
  )
  return traceOf([...asShown, ...messages]) ?? generated
}

/**
 * The texts with which a batch was shown, including its sections. Only its number in the heading changes between
 * cycles.
 */
function batchTexts(batch: RecordedBatch): string[] {
  return [
    summaryOf(batch),
    batch.content,
    ...[headAfterNumber(batch), headAfterNumber3(batch)].map((head) => `${head}\n${summaryOf(batch)}`),
    ...(batch.sections === undefined ? [] : sectionLines(batch.sections)),
  ]
}

/** The batches that an event adds to the conversation. */
function batchesOf(event: RecordedEvent): readonly RecordedBatch[] {
  if (isOfType(event, 'BatchArchived', 'BatchesResummarized')) return [event.data]
  return isReplacement(event) ? event.data.batches : []
}

/**
 * Searches everything archived: first batches, then their messages, then messages whose ids or names the line contains.
 */
async function inArchive(
  log: Log,
  { conversationId }: Conversation,
  line: string,
  find: Finder,
): Promise<Trace | undefined> {
  const findBatch = lineFinder(line.trim().replace(/^\[Batch \d+ ?/u, ''))
  const batches = new Map<string, FoundLine>()
  const messages: FoundLine[] = []
  const labelled: FoundLine[] = []
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const event = await decodeEvent(stored, log)
    for (const batch of batchesOf(event)) {
      const hit = findBatch(batchTexts(batch))
      if (hit !== undefined) batches.set(batch.batchId, { kind: 'batch', ...spanOf(batch), ...hit })
    }
    if (!isOfType(event, 'MessageAppended')) continue
    const position = { messageId: event.data.messageId, revision: event.revision }
    messages.push(...inMessage(find, textsOf(event.data), position))
    labelled.push(...inMessage(find, labelTexts(line, event.data.messageId, event.data), position))
  }
  return traceOf([...batches.values()]) ?? traceOf(messages) ?? traceOf(labelled)
}

/** Whether the context after this event may have new generated or shortened text. */
function showsMore(event: RecordedEvent, { configuration, tokens, retained, window }: Conversation): boolean {
  if (isOfType(event, 'MessageAppended')) {
    const { data } = event
    if (data.role === 'tool' || data.toolCalls !== undefined || retained.length + window.length === 1) return true
    if (configuration !== undefined && shapedMessage(data, rulesOf(configuration)) !== data) return true
  }
  if (isOfType(event, 'ConversationConfigured', 'MessagesWithdrawn', ...originTypes)) return true
  return configuration !== undefined && tokens > hardLimit(configuration.policy)
}

/** Searches the shortened or generated texts of all earlier contexts. */
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
    const event = await decodeEvent(stored, log)
    const state = fold.take(event)
    if (!showsMore(event, state)) continue
    const { found, generated } = renderedForms(find, state, line)
    for (const source of found) {
      if (source.kind === 'batch') batches.set(source.batchId, source)
      else messages.set(source.messageId, source)
    }
    last = generated ?? last
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

/** The state of a message that is not live. */
interface RemovedMessage {
  readonly batchId?: string
  readonly withdrawn?: Withdrawn
}

/**
 * By message: the batch that contains it, among the active ones and their sources, or the event that withdrew it. Reads
 * the conversation from the first of the messages on, and only those editions that active batches come from.
 */
async function fatesOf(
  log: Log,
  { conversationId, batches }: Conversation,
  messages: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, RemovedMessage>> {
  const found = new Map<string, RemovedMessage>()
  const covered = new Map<
    string,
    { readonly messageIds: readonly string[]; readonly sourceBatchIds: readonly string[] }
  >()
  const editions = new Map<string, string>()
  const streamsRead = new Set<string>()
  async function read(stream: string, from = 0): Promise<void> {
    if (streamsRead.has(stream)) return
    streamsRead.add(stream)
    for await (const stored of log.store.readStream(stream, { from })) {
      if (!CHAIN.has(stored.type)) continue
      const event = await decodeEvent(stored, log)
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
  // The set grows during the loop and ignores duplicates, so a batch that names itself as a source does not loop
  // forever.
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

/** The sources; for messages that are not live, with the active batch or the event that withdrew them. */
async function withFates(
  log: Log,
  state: Conversation,
  sources: readonly LineSource[],
): Promise<readonly LineSource[]> {
  const liveIds = liveIdsOf(state)
  const removed = new Map(
    sources.flatMap((source) =>
      source.kind === 'batch' || liveIds.has(source.messageId) ? [] : [[source.messageId, source.revision] as const],
    ),
  )
  if (removed.size === 0) return sources
  const found = await fatesOf(log, state, removed)
  return sources.map((source) => (source.kind === 'batch' ? source : { ...source, ...found.get(source.messageId) }))
}

/** The messages that the items of the working state rest on, if the view shows the line as such an item. */
async function inWorkingState(log: Log, state: Conversation, find: Finder): Promise<Trace | undefined> {
  if (state.configuration?.policy.view !== 'working-state') return undefined
  const found = groupsOf(workingStateOf(state.visibleBatches)).flatMap((group) => {
    const hit = find([groupLine(group), groupLine(group, true), groupLine(group.slice(-1))])
    return hit === undefined ? [] : [{ hit, group }]
  })
  const hits = new Map(
    found.flatMap(({ hit, group }) =>
      group.flatMap(({ sourceRevisions }) => sourceRevisions.map((revision) => [revision, hit] as const)),
    ),
  )
  const sources = await log.store.readRevisions(conversationStream(state.conversationId), [...hits.keys()])
  const messages: FoundLine[] = []
  for (const stored of sources) {
    const event = await decodeEvent(stored, log)
    const hit = hits.get(event.revision)
    if (hit !== undefined && isOfType(event, 'MessageAppended'))
      messages.push({ kind: 'message', messageId: event.data.messageId, revision: event.revision, ...hit })
  }
  return traceOf(messages)
}

/** The trace of a line; undefined if the model never saw it in this conversation. */
export async function traceLine(log: Log, state: Conversation, line: string): Promise<Trace | undefined> {
  const find = lineFinder(line)
  const trace =
    (await inWorkingState(log, state, find)) ??
    inContext(find, state) ??
    (await inArchive(log, state, line, find)) ??
    (await inHistory(log, state, line, find))
  return trace?.kind === 'sources' ? { ...trace, sources: await withFates(log, state, trace.sources) } : trace
}
