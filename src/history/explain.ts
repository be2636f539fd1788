/**
 * Why the model saw what it saw: batch → source batches → chunk → messages, each summary with its prompt, model,
 * parameters, usage and
 * cycle. The log is what is believed; the read model only tells where to look.
 *
 * A batch, all that it was made of and the cycle behind it lie between its first message and the prune that follows it,
 * so that stretch is
 * read once, and the rest of the conversation only where something is missing in it.
 */
import { either as E } from 'fp-ts'
import type { Batch } from '../domain/conversation/batch.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { nearest } from '../domain/text/edit-distance.js'
import {
  originTypes,
  type EventData,
  type RecordedEvent,
  type SummarizerRecord,
  type ReplacementType,
  type Trigger,
} from '../domain/events/index.js'
import type { Match } from '../domain/text/find-line.js'
import { originsOf } from '../recording/origins.js'
import { conversationStream, editionStream, messageEventId, promptStream } from '../domain/values/ids.js'
import { contentText, toChatMessage, type ChatMessage } from '../domain/values/message.js'
import { sentencesOf } from '../domain/text/sentences.js'
import type { EventStore } from '../ports/event-store.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { recordedTime } from './time-travel.js'
import { traceLine, type LineSource, type ShownOnly, type Withdrawn } from './trace-line.js'

/** Where a fact is recorded, when, and who asked for it. */
export interface RecordedAt {
  /** The stream. */
  readonly stream: string
  /** Place in the stream, from 0. */
  readonly revision: bigint
  /** When, by our clock, ISO 8601. */
  readonly recordedAt: string
  /** Who asked for it. */
  readonly actor: string
  /** The request that it belongs to. */
  readonly correlationId: string
}

/** The cycle by which a batch came into the context. */
export interface CycleOrigin {
  /** Number of the cycle, from 1. */
  readonly cycle: number
  /** What started it: a limit, or somebody by hand. */
  readonly trigger: Trigger
  /** Tokens from which it was due. */
  readonly threshold: number
  /** The settings whose product the threshold is. */
  readonly terms: EventData<'MessagesPruned'>['why']['terms']
  /** Tokens of the context before it. */
  readonly tokensBefore: number
  /** Tokens of the context after it. */
  readonly tokensAfter: number
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** Where the cycle was undone: when, and who asked for it. Another one may have its number since. */
  readonly undone?: RecordedAt
}

/**
 * The fact that put a batch which others had recorded into force, or out of it: an edition that was adopted or put
 * back, a cycle that was undone.
 */
export interface TakeoverOrigin {
  /** An adoption, a revert, or an undo. */
  readonly type: ReplacementType
  /** The edition that made the batch; of a batch that was put out of force, the one that was adopted or reverted. */
  readonly editionId?: string
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
}

/** A message as it was recorded, whole. */
export interface OriginalMessage {
  /** Its id. */
  readonly messageId: string
  /** When it was said, ISO 8601. */
  readonly createdAt: string
  /** Its tokens by the conversation's estimator. */
  readonly tokens: number
  /** The message, as it was appended. */
  readonly message: ChatMessage
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** Of an assistant's message that says so: revision and hash of the context that it answers. */
  readonly answers?: { readonly revision: string; readonly hash: string }
}

/** Messages that were summarized together. */
export interface ChunkOrigin {
  /** The chunk. */
  readonly chunkId: string
  /** The messages that it covers, in order. */
  readonly messageIds: readonly string[]
  /** Revision of the first of them. */
  readonly firstRevision: bigint
  /** Revision of the last of them. */
  readonly lastRevision: bigint
  /** The chunk whose summary was its background. */
  readonly continues?: string
  /** Who summarized it: strategy, model, prompt, parameters, usage. */
  readonly summarizer: SummarizerRecord
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** With `open`: the messages whole, in their order. */
  readonly messages?: readonly OriginalMessage[]
}

/** A batch with all that it was made of. */
export interface BatchOrigin extends Omit<Batch, 'revision' | 'origin'> {
  /**
   * Now: in the view, active and not in it, or not active: a deeper one, another edition or what was undone took its
   * place.
   */
  readonly state: 'shown' | 'active' | 'retired'
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** Of a batch that was made of batches; that of any other stands with its chunk. */
  readonly summarizer?: SummarizerRecord
  /**
   * The cycle that archived it; of a batch made of batches, the one since which it is shown. Undefined before that one.
   */
  readonly cycle?: CycleOrigin
  /** The last fact, of those that were read for the answer, that put it into force. */
  readonly takenOver?: TakeoverOrigin
  /** The fact that put it out of force, where that was no deeper batch. */
  readonly putOut?: TakeoverOrigin
  /** The batches that it was made of; none where it covers messages. */
  readonly sources: readonly BatchOrigin[]
  /** The chunk of messages that it covers; absent where it is made of batches. */
  readonly chunk?: ChunkOrigin
  /** Ids of batches, chunks and messages that it names and that are not recorded: its origin cannot be shown. */
  readonly missing: readonly string[]
}

/** A prompt or persona that a summary of the answer was made with. */
export interface PromptText {
  /** SHA-256 (hex) of the text. */
  readonly sha256: string
  /** A template of the prompt, or a persona. */
  readonly kind: 'template' | 'persona'
  /** Undefined where it was never registered. */
  readonly text: string | undefined
}

interface Answer {
  readonly conversationId: string
  /** Of the last fact that the answer knows. */
  readonly revision: bigint
  readonly prompts: readonly PromptText[]
}

/** How a line led to what is explained. */
interface LineFound {
  readonly line: string
  readonly match: Match
}

/** The fact behind which a context first was as it is shown. */
export interface AsOf {
  readonly revision: bigint
  readonly recordedAt: string
}

/** What `explain` answers, told apart by `kind`. */
export type Explanation =
  /** `said`: of a line of an extractive summary, the messages that say it, or its sentences, word for word. */
  | (Answer & {
      readonly kind: 'batch'
      readonly batch: BatchOrigin
      readonly found?: LineFound
      readonly said?: readonly OriginalMessage[]
    })
  /**
   * A message that the line stands in; `batch` where it left the context for one, `withdrawn` where the conversation
   * says it no more.
   */
  | (Answer & {
      readonly kind: 'message'
      readonly message: OriginalMessage
      readonly batch?: BatchOrigin
      readonly withdrawn?: Withdrawn
      readonly found: LineFound
    })
  /**
   * Everything that is compacted, oldest first; for a line of an earlier view, what was as of then: `asOf` is the fact
   * that made that view.
   */
  | (Answer & {
      readonly kind: 'view'
      readonly batches: readonly BatchOrigin[]
      readonly cycles: number
      readonly liveMessages: number
      readonly found?: LineFound
      readonly asOf?: AsOf
    })
  /** The line stands in several places. */
  | {
      readonly kind: 'several'
      readonly conversationId: string
      readonly found: LineFound
      readonly sources: readonly LineSource[]
    }
  /**
   * The line is shown to the model and recorded nowhere; `asOf` is the last fact behind which it is known to be shown.
   */
  | {
      readonly kind: 'shown-only'
      readonly conversationId: string
      readonly what: ShownOnly
      readonly text: string
      readonly asOf: AsOf
    }

/** What to explain: a batch, or a line; without either, all that is compacted. */
export interface ExplainOptions {
  /** The beginning of its id is enough. */
  readonly batchId?: string
  /** Any text that the model saw, or part of one. */
  readonly line?: string
  /** Shows the original messages whole. */
  readonly open?: boolean
}

export type ExplainFailure =
  /** `nearest`: the batch that may have been meant. */
  | {
      readonly kind: 'NoSuchBatch'
      readonly conversationId: string
      readonly batchId: string
      readonly nearest: string | undefined
    }
  /** The beginning of several. */
  | {
      readonly kind: 'SeveralBatches'
      readonly conversationId: string
      readonly batchId: string
      readonly batchIds: readonly string[]
    }
  | { readonly kind: 'NoSuchLine'; readonly conversationId: string }

export interface ExplainDependencies {
  readonly log: Log
  /** What the read model knows of a batch's place, where it knows it; it may be behind, or wrong. */
  readonly placeOf: (
    conversationId: string,
    batchId: string,
  ) => Promise<{ readonly firstRevision: bigint; readonly revision: bigint } | undefined>
}

type BatchEvent = RecordedEvent<'BatchArchived' | 'BatchesResummarized'>

const recordedAt = ({ stream, revision, metadata }: RecordedEvent): RecordedAt => ({
  stream,
  revision,
  recordedAt: metadata.recordedAt,
  actor: metadata.actor,
  correlationId: metadata.correlationId,
})

const COMPACTION: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  'ChunkSummarized',
  'BatchArchived',
  'BatchesResummarized',
  ...originTypes,
])
/** Messages that are read by their ids at a time. */
const PAGE = 500

/** The facts of compaction that were read so far, by what they are named. */
class Archive {
  readonly batches = new Map<string, BatchEvent>()
  readonly chunks = new Map<string, RecordedEvent<'ChunkSummarized'>>()
  /** Batch → the cycle that followed it. */
  readonly cycles = new Map<string, CycleOrigin>()
  /** Batch → the last fact that put it into force. */
  readonly takeovers = new Map<string, TakeoverOrigin>()
  private readonly editionIds = new Set<string>()
  /** Batches that no cycle has followed so far in what is read. */
  private waiting: string[] = []
  private readonly editionsRead = new Set<string>()
  private isWhole = false
  private takeoversRead: readonly RecordedEvent<ReplacementType>[] | undefined

  constructor(
    private readonly log: Log,
    private readonly conversationId: string,
  ) {}

  /** Every takeover of the conversation, newest first: read by its place, and not at all where there never was one. */
  private async takeoversOf({ lineage, lastOrigin }: Conversation): Promise<readonly RecordedEvent<ReplacementType>[]> {
    if (lineage === undefined) return []
    if (this.takeoversRead !== undefined) return this.takeoversRead
    const takeovers: RecordedEvent<ReplacementType>[] = []
    for await (const event of originsOf(this.log, this.conversationId, lastOrigin))
      if (isReplacement(event)) takeovers.push(event)
    this.takeoversRead = takeovers
    return takeovers
  }

  /** The fact that undid a cycle. */
  async undoneBy(state: Conversation, { recorded }: CycleOrigin): Promise<RecordedEvent | undefined> {
    if (recorded.stream !== conversationStream(this.conversationId)) return undefined
    return (await this.takeoversOf(state)).find(
      (event) =>
        isOfType(event, 'CycleUndone') && event.data.undone.some(({ revision }) => revision === recorded.revision),
    )
  }

  /** The fact that put a batch out of force and that no later one took back. */
  async putOutBy(state: Conversation, batchId: string): Promise<TakeoverOrigin | undefined> {
    const last = (await this.takeoversOf(state)).find(
      ({ data: { batches, retired } }) =>
        retired.includes(batchId) || batches.some((batch) => batch.batchId === batchId),
    )
    if (last?.data.retired.includes(batchId) !== true) return undefined
    return {
      type: last.type,
      ...('editionId' in last.data ? { editionId: last.data.editionId } : {}),
      recorded: recordedAt(last),
    }
  }

  private take(event: RecordedEvent): void {
    if (isOfType(event, 'ChunkSummarized')) this.chunks.set(event.data.chunkId, event)
    else if (isOfType(event, 'BatchArchived', 'BatchesResummarized')) {
      this.batches.set(event.data.batchId, event)
      this.waiting.push(event.data.batchId)
    } else if (isOfType(event, 'MessagesPruned')) {
      const { cycle, why, tokensBefore, tokensAfter } = event.data
      for (const batchId of this.waiting)
        this.cycles.set(batchId, { cycle, ...why, tokensBefore, tokensAfter, recorded: recordedAt(event) })
      this.waiting = []
    } else if (isReplacement(event)) {
      const { batches } = event.data
      for (const { batchId, origin } of batches) {
        this.takeovers.set(batchId, {
          type: event.type,
          ...(origin.editionId === undefined ? {} : { editionId: origin.editionId }),
          recorded: recordedAt(event),
        })
        if (origin.editionId !== undefined) this.editionIds.add(origin.editionId)
      }
      // What waited for a cycle was in force no more when the next one came.
      this.waiting = []
    }
  }

  private async read(
    stream: string,
    options: Parameters<EventStore['readStream']>[1],
    isEnd: (event: RecordedEvent) => boolean,
  ): Promise<void> {
    this.waiting = []
    for await (const stored of this.log.store.readStream(stream, options)) {
      if (!COMPACTION.has(stored.type)) continue
      const event = await decodeEvent(stored, this.log.bodies)
      this.take(event)
      if (isEnd(event)) return
    }
  }

  /** Reads the conversation from a batch's first message to the cycle that follows it. */
  async readAround({
    firstRevision,
    revision,
  }: {
    readonly firstRevision: bigint
    readonly revision: bigint
  }): Promise<void> {
    await this.read(
      conversationStream(this.conversationId),
      { from: firstRevision < revision ? firstRevision : revision },
      (event) => event.revision > revision && isOfType(event, ...originTypes),
    )
  }

  /**
   * Reads the editions that were found in force so far; then every stream of the conversation. False where nothing is
   * left to read.
   */
  async readFurther(): Promise<boolean> {
    if (this.isWhole) return false
    const editions = [...this.editionIds]
      .map((editionId) => editionStream(editionId, this.conversationId))
      .filter((stream) => !this.editionsRead.has(stream))
    for (const stream of editions) {
      this.editionsRead.add(stream)
      await this.read(stream, {}, () => false)
    }
    if (editions.length > 0) return true
    this.isWhole = true
    for (const stream of streamsOf(this.conversationId, await editionStreams(this.log)))
      if (!this.editionsRead.has(stream)) await this.read(stream, {}, () => false)
    return true
  }

  /** The batches whose ids begin so, among those that were read; the word that each begins with may be left out. */
  begunWith(typed: string): readonly string[] {
    const part = typed.replace(/^batch-?/u, '')
    return part === '' ? [] : [...this.batches.keys()].filter((id) => id.startsWith(`batch-${part}`))
  }
}

/** Every summarizer's facts in a tree. */
function* summarizersOf({ summarizer, chunk, sources }: BatchOrigin): Generator<SummarizerRecord> {
  if (summarizer !== undefined) yield summarizer
  if (chunk !== undefined) yield chunk.summarizer
  for (const source of sources) yield* summarizersOf(source)
}

function* chunksOf({ chunk, sources }: BatchOrigin): Generator<ChunkOrigin> {
  if (chunk !== undefined) yield chunk
  for (const source of sources) yield* chunksOf(source)
}

/**
 * The strategy that picks sentences word for word; puts who says them in front, and a mark between two that did not
 * stand together.
 */
const EXTRACTIVE = 'extractive'
const SPEAKER = /^[^\s:]{1,40}(?: [^\s:]{1,40}){0,3}: /u
const LEFT_OUT = ' … '
/** A shorter piece of a line stands in many messages. */
const MIN_QUOTE_CHARACTERS = 8

/**
 * The sentences of a line of an extractive summary, as they may stand in messages; with and without what looks like a
 * speaker.
 */
function sentencesQuoted(line: string): Set<string> {
  const pieces = line
    .split('\n')
    .flatMap((part) => [part, part.replace(SPEAKER, '')])
    .flatMap((part) => part.split(LEFT_OUT))
    .flatMap((part) => sentencesOf(part).map(({ text }) => text))
  return new Set(pieces.filter((piece) => piece.length >= MIN_QUOTE_CHARACTERS))
}

const isComplete = ({ missing, sources }: BatchOrigin): boolean => missing.length === 0 && sources.every(isComplete)

/** Builds the use case `explain(state, options)`: of a conversation that is there, as it was just loaded. */
export function createExplain({ log, placeOf }: ExplainDependencies) {
  async function originals(conversationId: string, messageIds: readonly string[]): Promise<OriginalMessage[]> {
    const stream = conversationStream(conversationId)
    const found: OriginalMessage[] = []
    for (let from = 0; from < messageIds.length; from += PAGE) {
      const ids = messageIds.slice(from, from + PAGE).map((id) => messageEventId(stream, id))
      for (const stored of await log.store.findByIds(stream, ids)) {
        const event = await decodeEvent(stored, log.bodies)
        if (!isOfType(event, 'MessageAppended')) continue
        const { messageId, createdAt, tokens, answers } = event.data
        found.push({
          messageId,
          createdAt,
          tokens,
          message: toChatMessage(event.data),
          recorded: recordedAt(event),
          ...(answers === undefined ? {} : { answers }),
        })
      }
    }
    return found
  }

  /** A batch and all that it was made of, from the facts that were read. */
  async function originOf(
    state: Conversation,
    archive: Archive,
    event: BatchEvent,
    open: boolean,
  ): Promise<BatchOrigin> {
    const {
      batchId,
      label,
      depth,
      startTime,
      endTime,
      messageCount,
      firstRevision,
      lastRevision,
      tokens,
      content,
      sections,
    } = event.data
    const isShown =
      state.view?.parts.some((part) => part.kind === 'batch' && part.batchId === batchId) === true ||
      (state.configuration?.policy.view === 'session-summary' &&
        state.visibleBatches.some((batch) => batch.batchId === batchId))
    const isActive = isShown || state.batches.some((batch) => batch.batchId === batchId)
    const missing: string[] = []
    const sources: BatchOrigin[] = []
    let chunk: ChunkOrigin | undefined
    if (isOfType(event, 'BatchesResummarized')) {
      for (const id of event.data.sourceBatchIds) {
        const source = archive.batches.get(id)
        // A source lies less deep, so a log that names a batch as its own source has an end all the same.
        if (source === undefined || source.data.depth >= depth) missing.push(id)
        else sources.push(await originOf(state, archive, source, open))
      }
    } else if (isOfType(event, 'BatchArchived')) {
      const summarized = archive.chunks.get(event.data.chunkId)
      if (summarized === undefined) missing.push(event.data.chunkId)
      else chunk = await chunkOf(state.conversationId, summarized, open, missing)
    }
    const cycle = archive.cycles.get(batchId)
    const undone = cycle === undefined ? undefined : await archive.undoneBy(state, cycle)
    const putOut = isActive ? undefined : await archive.putOutBy(state, batchId)
    const takenOver = archive.takeovers.get(batchId)
    return {
      batchId,
      label,
      depth,
      startTime,
      endTime,
      messageCount,
      firstRevision,
      lastRevision,
      tokens,
      content,
      ...(sections === undefined ? {} : { sections }),
      state: isShown ? 'shown' : isActive ? 'active' : 'retired',
      recorded: recordedAt(event),
      ...(isOfType(event, 'BatchesResummarized') ? { summarizer: event.data.summarizer } : {}),
      ...(cycle === undefined
        ? {}
        : { cycle: { ...cycle, ...(undone === undefined ? {} : { undone: recordedAt(undone) }) } }),
      ...(takenOver === undefined ? {} : { takenOver }),
      ...(putOut === undefined ? {} : { putOut }),
      sources,
      ...(chunk === undefined ? {} : { chunk }),
      missing,
    }
  }

  async function chunkOf(
    conversationId: string,
    event: RecordedEvent<'ChunkSummarized'>,
    open: boolean,
    missing: string[],
  ): Promise<ChunkOrigin> {
    const { chunkId, messageIds, firstRevision, lastRevision, continues, summarizer } = event.data
    const messages = open ? await originals(conversationId, messageIds) : undefined
    if (messages !== undefined) {
      const there = new Set(messages.map(({ messageId }) => messageId))
      missing.push(...messageIds.filter((id) => !there.has(id)))
    }
    return {
      chunkId,
      messageIds,
      firstRevision,
      lastRevision,
      summarizer,
      ...(continues === undefined ? {} : { continues }),
      recorded: recordedAt(event),
      ...(messages === undefined ? {} : { messages }),
    }
  }

  /**
   * The tree of a batch; the whole conversation is read where a part of it does not lie where it is looked for first.
   */
  async function treeOf(
    state: Conversation,
    archive: Archive,
    batchId: string,
    open: boolean,
  ): Promise<BatchOrigin | undefined> {
    for (;;) {
      const event = archive.batches.get(batchId)
      const tree = event === undefined ? undefined : await originOf(state, archive, event, open)
      if ((tree !== undefined && isComplete(tree)) || !(await archive.readFurther())) return tree
    }
  }

  async function promptsOf(batches: readonly BatchOrigin[]): Promise<PromptText[]> {
    const kinds = new Map<string, PromptText['kind']>()
    for (const batch of batches) {
      for (const { prompt, persona } of summarizersOf(batch)) {
        kinds.set(prompt.sha256, 'template')
        if (persona !== undefined) kinds.set(persona.sha256, 'persona')
      }
    }
    const prompts: PromptText[] = []
    for (const [sha256, kind] of kinds) {
      let text: string | undefined
      for await (const stored of log.store.readStream(promptStream(sha256), { limit: 1 })) {
        const event = await decodeEvent(stored, log.bodies)
        if (isOfType(event, 'PromptRegistered')) text = event.data.text
      }
      prompts.push({ sha256, kind, text })
    }
    return prompts
  }

  async function batchNamed(
    state: Conversation,
    batchId: string,
    open: boolean,
  ): Promise<E.Either<ExplainFailure, BatchOrigin>> {
    const { conversationId } = state
    const archive = new Archive(log, conversationId)
    // What the last prune carried is known by its revision; of any other batch the read model may know it.
    const place = state.batches.find((batch) => batch.batchId === batchId) ?? (await placeOf(conversationId, batchId))
    if (place !== undefined) await archive.readAround(place)
    const tree = await treeOf(state, archive, batchId, open)
    if (tree !== undefined) return E.right(tree)
    const batchIds = archive.begunWith(batchId)
    const [only] = batchIds
    const begun = batchIds.length === 1 && only !== undefined ? await treeOf(state, archive, only, open) : undefined
    if (begun !== undefined) return E.right(begun)
    return E.left(
      batchIds.length > 1
        ? { kind: 'SeveralBatches', conversationId, batchId, batchIds }
        : { kind: 'NoSuchBatch', conversationId, batchId, nearest: nearest(batchId, archive.batches.keys()) },
    )
  }

  /**
   * @param of the conversation as of the revision whose view it is; the states of its batches are those of today, as
   * `state` has them
   */
  async function explainView(
    state: Conversation,
    open: boolean,
    of = state,
  ): Promise<Extract<Explanation, { kind: 'view' }>> {
    const { conversationId, revision } = state
    const archive = new Archive(log, conversationId)
    const first = of.visibleBatches[0]
    const last = of.visibleBatches.reduce((most, batch) => (batch.revision > most ? batch.revision : most), -1n)
    if (first !== undefined)
      await archive.readAround({
        firstRevision: of.visibleBatches.reduce(
          (least, batch) => (batch.firstRevision < least ? batch.firstRevision : least),
          first.firstRevision,
        ),
        revision: last,
      })
    const batches: BatchOrigin[] = []
    for (const { batchId } of of.visibleBatches) {
      const tree = await treeOf(state, archive, batchId, open)
      if (tree !== undefined) batches.push(tree)
    }
    const liveMessages = of.leading.length + of.retained.length + of.window.length
    return {
      kind: 'view',
      conversationId,
      revision,
      cycles: of.cycles,
      liveMessages,
      batches,
      prompts: await promptsOf(batches),
    }
  }

  /**
   * The messages of an extractive batch that say a line of its summary, or the sentences that it is made of, word for
   * word; in their order.
   */
  async function saidIn(conversationId: string, batch: BatchOrigin, line: string): Promise<readonly OriginalMessage[]> {
    if ([...summarizersOf(batch)].some(({ strategy }) => strategy !== EXTRACTIVE)) return []
    const pieces = sentencesQuoted(line)
    const messageIds = [...chunksOf(batch)].flatMap((chunk) => chunk.messageIds)
    const quoted: { readonly original: OriginalMessage; readonly says: readonly string[] }[] = []
    for (let from = 0; from < messageIds.length && pieces.size > 0; from += PAGE) {
      for (const original of await originals(conversationId, messageIds.slice(from, from + PAGE))) {
        const text = contentText(original.message.content)
        const sentences = new Set(sentencesOf(text).map((sentence) => sentence.text))
        const says = [...pieces].filter((piece) => sentences.has(piece) || text.includes(piece))
        if (says.length > 0) quoted.push({ original, says })
      }
    }
    // Two sentences of one line stood in one message; what is said often is no reason to name everybody who said it.
    const said: OriginalMessage[] = []
    for (const left = pieces; left.size > 0;) {
      const counted = quoted.map(({ original, says }) => ({
        original,
        says,
        tells: says.filter((piece) => left.has(piece)).length,
      }))
      const best = counted.reduce(
        (most, each) => (each.tells > most.tells ? each : most),
        counted[0] ?? { original: undefined, says: [], tells: 0 },
      )
      if (best.original === undefined || best.tells === 0) break
      said.push(best.original)
      for (const piece of best.says) left.delete(piece)
    }
    return said.toSorted((a, b) => (a.recorded.revision < b.recorded.revision ? -1 : 1))
  }

  async function asOf(conversationId: string, revision: bigint): Promise<AsOf> {
    const [stored] = await log.store.readRevisions(conversationStream(conversationId), [revision])
    return { revision, recordedAt: stored === undefined ? '' : recordedTime(stored) }
  }

  async function explainLine(
    state: Conversation,
    line: string,
    open: boolean,
  ): Promise<E.Either<ExplainFailure, Explanation>> {
    const { conversationId, revision } = state
    const trace = await traceLine(log, state, line)
    if (trace === undefined) return E.left({ kind: 'NoSuchLine', conversationId })
    if (trace.kind === 'view') {
      const of = trace.at === revision ? state : await loadConversation(log, conversationId, trace.at)
      return E.right({
        ...(await explainView(state, open, of)),
        found: { line, match: trace.match },
        asOf: await asOf(conversationId, of.lastOrigin ?? of.revision),
      })
    }
    if (trace.kind === 'shown-only')
      return E.right({
        kind: 'shown-only',
        conversationId,
        what: trace.what,
        text: trace.excerpt,
        asOf: await asOf(conversationId, trace.at),
      })
    const found: LineFound = { line, match: trace.match }
    const [source] = trace.sources
    if (source === undefined || trace.sources.length > 1)
      return E.right({
        kind: 'several',
        conversationId,
        found,
        sources: trace.sources.toSorted((a, b) => Number(a.kind === 'batch') - Number(b.kind === 'batch')),
      })
    const batch = source.batchId === undefined ? undefined : await batchNamed(state, source.batchId, open)
    if (batch !== undefined && E.isLeft(batch)) return batch
    const prompts = await promptsOf(batch === undefined ? [] : [batch.right])
    if (source.kind === 'batch' && batch !== undefined) {
      const said = await saidIn(conversationId, batch.right, line)
      return E.right({
        kind: 'batch',
        conversationId,
        revision,
        batch: batch.right,
        found,
        ...(said.length === 0 ? {} : { said }),
        prompts,
      })
    }
    const [message] = source.kind === 'message' ? await originals(conversationId, [source.messageId]) : []
    if (message === undefined) return E.left({ kind: 'NoSuchLine', conversationId })
    return E.right({
      kind: 'message',
      conversationId,
      revision,
      message,
      found,
      prompts,
      ...(batch === undefined ? {} : { batch: batch.right }),
      ...(source.kind !== 'message' || source.withdrawn === undefined ? {} : { withdrawn: source.withdrawn }),
    })
  }

  return async (
    state: Conversation,
    { batchId, line, open = false }: ExplainOptions,
  ): Promise<E.Either<ExplainFailure, Explanation>> => {
    if (line !== undefined) return explainLine(state, line, open)
    if (batchId === undefined) return E.right(await explainView(state, open))
    const tree = await batchNamed(state, batchId, open)
    if (E.isLeft(tree)) return tree
    const { conversationId, revision } = state
    return E.right({
      kind: 'batch',
      conversationId,
      revision,
      batch: tree.right,
      prompts: await promptsOf([tree.right]),
    })
  }
}
