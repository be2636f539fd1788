/**
 * Records a transcript, conversation by conversation, in the order of its records. Items that are already recorded are
 * recognized by the program's own ids and skipped. Importing the same transcript again, or one that has grown,
 * therefore adds only the new items.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { ANSWER, observedParts } from '../../domain/conversation/observed.js'
import type { Command, MessageToAppend } from '../../domain/decide/index.js'
import type { Provenance } from '../../domain/events/codec.js'
import type { EventData, ObservedEntry, RecordedEvent, SourcePlace } from '../../domain/events/index.js'
import { authorOfMessage, ownContent } from '../../domain/text/authorship.js'
import { hashOf } from '../../domain/values/hash.js'
import { checkId, conversationStream, messageEventId, type BadId } from '../../domain/values/ids.js'
import {
  contentText,
  messageHash,
  sameMessage,
  type ContentPart,
  type MessageBody,
} from '../../domain/values/message.js'
import type { BadPolicy, PolicySettings } from '../../domain/values/policy.js'
import { modelWindow } from '../../ports/model-windows.js'
import type { Clock } from '../../ports/clock.js'
import type { CommandFailure, Conversations } from '../recording/handle-command.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { redactorFor, settingsAfter } from '../recording/redaction.js'
import type { Log } from '../recording/load-conversation.js'
import type { Redactor } from '../secrets/redact.js'
import { isSameExceptSecrets } from '../secrets/same-except-secrets.js'
import { summaryFrom } from './message-items.js'
import { contentOf, linePlace } from './bodies.js'
import { contentParts, withinValues } from './content-part.js'
import { observedIds } from './observed-ids.js'
import { wasRounded } from './rounded.js'
import type {
  CompactionItem,
  ContextEntry,
  ConversationItem,
  DamageItem,
  EditItem,
  MessageItem,
  TranscriptItem,
  UndoItem,
  SourceLocation,
  WithdrawalItem,
} from './transcript.js'

export interface RecordTranscriptDependencies {
  readonly log: Log
  readonly conversations: Conversations
  readonly clock: Clock
  readonly summarizerWindowTokens: number
  readonly estimator?: string | undefined
}

/** The parent of a conversation, as events record it. */
export type ObservedParent = NonNullable<EventData<'ConversationObserved'>['parent']>

/** Options for recording a transcript. */
export interface RecordOptions {
  readonly program: string
  readonly scope?: string | undefined
  readonly settings?: PolicySettings | undefined
  readonly provenance: Provenance
  /** When the file was last written, ISO 8601: the time of messages in a transcript without times. Default: now. */
  readonly writtenAt?: string | undefined
  /** The conversation that the transcript continues, if the transcript names none itself. */
  readonly parent?: ObservedParent | undefined
  readonly signal?: AbortSignal | undefined
  /** The attributes and the persons of a message that is a copy of recorded ones. */
  readonly copied?: (item: MessageItem) => Pick<MessageToAppend, 'attributes' | 'subjects'>
  /** Called with each item after it was recorded or queued for the next append. */
  readonly onItem?: (item: TranscriptItem) => void
}

/** The result for one conversation of a transcript. */
export interface RecordedConversation {
  /** Conversation id in the ledger. */
  readonly conversationId: string
  /** The program's own id. */
  readonly sourceId: string
  /** Path of the transcript. */
  readonly file: string
  /** Messages recorded by this import. */
  messages: number
  /** Compactions recorded by this import. */
  compactions: number
  /** Messages withdrawn by this import. */
  withdrawn: number
  /** Content replacements recorded by this import. */
  edits: number
  /** Unreadable records recorded by this import. */
  damaged: number
  /** Items that were already recorded. */
  known: number
  /** Revision of the conversation's last event. */
  revision: number
  /** Position of the last event recorded by this import. */
  position: number | undefined
}

/** The result for a transcript. */
export interface RecordedTranscript {
  readonly conversations: readonly RecordedConversation[]
  /** Numbers of records without content for a conversation, by kind. */
  readonly leftOut: ReadonlyMap<string, number>
  /** Records that could not be read. */
  readonly damage: readonly DamageItem[]
}

/** Two transcripts have different content for the same message. */
export interface TranscriptsContradict {
  readonly kind: 'TranscriptsContradict'
  readonly conversationId: string
  readonly messageId: string
  readonly where: SourcePlace
  /** The transcript that was recorded first. */
  readonly recorded: SourcePlace | undefined
}

export type TranscriptFailure = CommandFailure | TranscriptsContradict

/** Limits of one append: messages, and their characters. */
const MAX_MESSAGES_PER_APPEND = 256
const MAX_CHARACTERS_PER_APPEND = 2_000_000

const toSourcePlace = ({ file, line, path }: SourceLocation): SourcePlace => ({
  file,
  ...(line === undefined ? {} : { line }),
  ...(path === undefined ? {} : { path }),
})

/** A time in the format of events; undefined if the text is not a time. */
function timeOf(at: string | undefined): string | undefined {
  if (at === undefined) return undefined
  const time = new Date(at)
  const year = Number.isNaN(time.getTime()) ? -1 : time.getUTCFullYear()
  return year >= 0 && year <= 9999 ? time.toISOString() : undefined
}

const without = <T extends object>(value: T): T =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same object without its undefined fields
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T

const count = (value: number | undefined): number | undefined =>
  value === undefined || !Number.isFinite(value) || value < 0 ? undefined : Math.round(value)

/** Usage in the format of events. */
const usageOf = (usage: MessageItem['usage']): object | undefined =>
  usage === undefined
    ? undefined
    : without({
        inputTokens: count(usage.inputTokens),
        outputTokens: count(usage.outputTokens),
        cacheReadTokens: count(usage.cacheReadTokens),
        cacheWriteTokens: count(usage.cacheWriteTokens),
        reasoningTokens: count(usage.reasoningTokens),
        cost: usage.cost === undefined || !(usage.cost >= 0) ? undefined : usage.cost,
      })

const hasHash = (body: MessageBody, hash: string | undefined): boolean => hash === messageHash(body)

/** The result for a conversation without recorded items. */
export const emptyResult = (conversationId: string, { sourceId, where }: ConversationItem): RecordedConversation => ({
  conversationId,
  sourceId,
  file: where.file,
  messages: 0,
  compactions: 0,
  withdrawn: 0,
  edits: 0,
  damaged: 0,
  known: 0,
  revision: -1,
  position: undefined,
})

/** Maximum number of retries after another process recorded events in between. */
const MAX_RETRIES = 200

/** Records one conversation. */
class Recording {
  result: RecordedConversation
  /** Revision of the last known event. Commands are decided at this revision only. */
  private revision = -1
  private state: Conversation | undefined
  /** Message id → hash of each message that an earlier import recorded. */
  private readonly hashes = new Map<string, string>()
  /** Record id → ids of its messages that earlier imports recorded. */
  private earlierIds: ReadonlyMap<string, readonly string[]> | undefined
  /** Ids of the messages that this import has read. */
  private readonly readIds = new Set<string>()
  /** Ids of erased messages. Their texts are not compared and not recorded again. */
  private readonly erased = new Set<string>()
  /** Keys of the other recorded items. */
  private readonly known = new Set<string>()
  private readonly compactions = new Map<string, number>()
  private recordedFrom: SourcePlace | undefined
  /**
   * Record id → ids of its latest messages. An entry is omitted if the only id is the record's own, as for most
   * records.
   */
  private readonly ids = new Map<string, readonly string[]>()
  /** Number of occurrences of each message: a message that returns after an abandoned branch gets a new id. */
  private readonly occurrences = new Map<string, number>()
  private liveIdCache: { readonly state: Conversation; readonly ids: ReadonlySet<string> } | undefined
  private queued: MessageToAppend[] = []
  private characters = 0
  private time: string | undefined
  private hasStarted = false
  /** The latest title in the transcript, with its place. */
  private titled: Pick<ConversationItem, 'title' | 'where'>

  constructor(
    private readonly deps: RecordTranscriptDependencies,
    private options: RecordOptions,
    private readonly item: ConversationItem,
    /** The conversation id in the ledger of a session of the program. */
    private readonly conversationIdOf: (sourceId: string) => Promise<string>,
    conversationId: string,
    /** Records nothing, and only compares the transcript with what is recorded. */
    private readonly isCheck = false,
  ) {
    this.result = emptyResult(conversationId, item)
    this.time = timeOf(item.startedAt)
    this.titled = item
  }

  /** The program's own id of the conversation that started this one as a sub-agent. */
  get parentId(): string | undefined {
    return this.item.parent?.how === 'sub-agent' ? this.item.parent.sourceId : undefined
  }

  /** Starts a new import with new counts and options. */
  startImport(options: RecordOptions): void {
    this.options = options
    const { conversationId, revision } = this.result
    this.result = { ...emptyResult(conversationId, this.item), revision }
  }

  /** Reads the recorded events that are not known here. */
  async catchUp(): Promise<void> {
    const { conversationId } = this.result
    const { log } = this.deps
    const { store } = log
    const from = this.revision + 1
    for await (const stored of store.readStream(conversationStream(conversationId), { from })) {
      this.learn(await decodeEvent(stored, log))
      this.revision = stored.revision
    }
    // If the loaded state is newer than the events read here, the next append fails and the rest is read then.
    this.state = await this.deps.conversations.load(conversationId)
    this.result.revision = this.revision
  }

  /** Runs a step, and repeats it on the current state if another importer recorded events in between. */
  private async withRetry<T>(
    step: () => Promise<E.Either<TranscriptFailure, T>>,
  ): Promise<E.Either<TranscriptFailure, T>> {
    for (let tries = 0; ; tries += 1) {
      const outcome = await step()
      if (E.isRight(outcome) || outcome.left.kind !== 'ConversationMoved' || tries === MAX_RETRIES) return outcome
      await this.catchUp()
    }
  }

  private learn(event: RecordedEvent): void {
    if (isOfType(event, 'MessageAppended')) {
      this.hashes.set(event.data.messageId, messageHash(event.data))
      if (event.data.erased === true) this.erased.add(event.data.messageId)
    } else if (isOfType(event, 'ErasureRequested')) {
      const erased = event.data.messages?.map(({ messageId }) => messageId) ?? this.hashes.keys()
      for (const messageId of erased) this.erased.add(messageId)
    } else if (isOfType(event, 'ConversationObserved')) {
      this.hasStarted = true
      this.recordedFrom = event.data.where
      if (event.data.title !== undefined) this.known.add(titleKey(event.data.title))
    } else if (isOfType(event, 'ConversationTitled')) this.known.add(titleKey(event.data.title))
    else if (isOfType(event, 'CompactionObserved')) this.compactions.set(event.data.sourceId, event.revision)
    else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) this.known.add(`withdrawn ${messageId}`)
    else if (isOfType(event, 'ContributionEdited')) this.known.add(editKey(event.data.messageId, event.data.content))
    else if (isOfType(event, 'TranscriptDamaged')) this.known.add(damageKey(event.data.where, event.data.detail))
  }

  /** Records these commands in one append; the conversation's first events precede the first of them. */
  private async handle(commands: readonly Command[]): Promise<E.Either<TranscriptFailure, undefined>> {
    const { settings, scope, provenance, program } = this.options
    const { programVersion, sourceId, parent, cwd, startedAt, where } = this.item
    const first: Command[] = this.hasStarted
      ? []
      : [
          {
            type: 'Configure',
            settings,
            scope,
            summarizerWindowTokens: this.deps.summarizerWindowTokens,
            modelWindow,
            estimator: this.deps.estimator,
          },
          {
            type: 'ObserveConversation',
            conversation: without({
              program,
              programVersion,
              sourceId,
              parent:
                parent === undefined
                  ? this.options.parent
                  : without({ ...parent, conversationId: await this.conversationIdOf(parent.sourceId) }),
              title: this.titled.title,
              cwd,
              startedAt: timeOf(startedAt),
              where: toSourcePlace(where),
            }),
          },
        ]
    const handled = await this.deps.conversations.handle(
      this.result.conversationId,
      [{ type: 'Expect', revision: this.revision }, ...first, ...commands],
      provenance,
    )
    if (E.isLeft(handled)) return handled
    this.hasStarted = true
    this.revision = handled.right.events.at(-1)?.revision ?? this.revision
    this.state = handled.right.state
    this.result.revision = handled.right.state.revision
    this.result.position = handled.right.position ?? this.result.position
    for (const event of handled.right.events) if (event.type !== 'MessageAppended') this.learn(event)
    return E.right(undefined)
  }

  /** Remembers the title of a later record of the transcript. */
  retitle(item: ConversationItem): void {
    if ((item.title ?? '') !== '') this.titled = item
  }

  /**
   * Records the queued messages, and the latest title of the transcript. A title that was recorded once is not recorded
   * again: an older copy of the transcript may have it.
   */
  async finish(): Promise<E.Either<TranscriptFailure, undefined>> {
    const flushed = await this.flush()
    const { title = '', where } = this.titled
    if (E.isLeft(flushed) || !this.hasStarted || title === '' || this.isCheck) return flushed
    return await this.withRetry(async () =>
      this.known.has(titleKey(title))
        ? E.right(undefined)
        : await this.handle([{ type: 'TitleConversation', title: { title, where: toSourcePlace(where) } }]),
    )
  }

  /** Records the queued messages. */
  async flush(): Promise<E.Either<TranscriptFailure, undefined>> {
    return await this.withRetry(() => this.append())
  }

  private async append(): Promise<E.Either<TranscriptFailure, undefined>> {
    const messages = this.queued.filter((message) => !this.isRecorded(message))
    this.result.known += this.queued.length - messages.length
    this.queued = messages
    if (messages.length === 0) return E.right(undefined)
    const now = this.deps.clock.now().toISOString()
    const handled = await this.handle([{ type: 'AppendMessages', messages, now }])
    if (E.isLeft(handled)) return handled
    this.queued = []
    this.characters = 0
    this.result.messages += messages.length
    return handled
  }

  private isRecorded(message: MessageToAppend): boolean {
    const recorded = this.hashes.get(message.messageId ?? '')
    return recorded !== undefined && hasHash(message, recorded)
  }

  private idOf({ sourceId, part }: Pick<MessageItem, 'sourceId' | 'part'>): string {
    const record = part === 0 ? sourceId : `${sourceId}#${String(part)}`
    const name = E.isRight(checkId('id', record)) && Buffer.byteLength(record) <= 480 ? record : hashOf(record)
    const times = (this.occurrences.get(name) ?? 0) + 1
    this.occurrences.set(name, times)
    return times === 1 ? name : `${name}~${String(times)}`
  }

  private remember(sourceId: string, messageIds: readonly string[]): void {
    for (const id of messageIds) this.readIds.add(id)
    if (messageIds.length === 1 && messageIds[0] === sourceId) this.ids.delete(sourceId)
    else this.ids.set(sourceId, messageIds)
  }

  /** Ids of the messages of a record; empty if it had none. */
  private idsOf(sourceId: string): readonly string[] {
    return this.ids.get(sourceId) ?? (this.occurrences.has(sourceId) ? [sourceId] : [])
  }

  /** Ids of the messages of a record, also if only an earlier import read that record. */
  private recordedIdsOf(sourceId: string): readonly string[] {
    const ids = this.idsOf(sourceId)
    if (ids.length > 0) return ids
    this.earlierIds ??= byRecord(this.hashes.keys())
    return this.earlierIds.get(sourceId) ?? []
  }

  /**
   * Live messages that an earlier import recorded, and that follow the current record in the transcript: the program
   * inserted the current record before them.
   */
  private followingMessages(): readonly ObservedEntry[] {
    const live = this.state?.window ?? []
    const lastRead = live.findLastIndex(({ messageId }) => this.readIds.has(messageId))
    return lastRead === -1 ? [] : live.slice(lastRead + 1).map(({ messageId }) => ({ kind: 'message', messageId }))
  }

  /** @param body the redacted body, as it is recorded */
  private async message(
    item: MessageItem,
    received: MessageBody,
    body: MessageBody,
  ): Promise<E.Either<TranscriptFailure, undefined>> {
    const { sourceId, part, byProgram, answerId, model, isError, exitCode } = item
    const plainId = this.idOf(item)
    // An older event may have the text that is redacted today.
    const isAsReceived = this.erased.has(plainId) || hasHash(received, this.hashes.get(plainId))
    const continuationId = isAsReceived ? E.right(undefined) : await this.withRetry(() => this.grownFrom(plainId, body))
    if (E.isLeft(continuationId)) return continuationId
    const messageId = continuationId.right ?? plainId
    this.remember(sourceId, part === 0 ? [messageId] : [...this.idsOf(sourceId), messageId])
    this.time = timeOf(item.at) ?? this.time
    const recorded = this.hashes.get(messageId)
    if (recorded !== undefined) {
      const isSame = isAsReceived || this.erased.has(messageId) || hasHash(body, recorded)
      // A program may write a text of its own again, with the date or the files of today. The recorded one stays.
      const isProgramText = byProgram === true
      if (!isSame && !isProgramText && !isRecordedForm(await this.recordedBody(messageId), bodyOf(body)))
        return E.left({
          kind: 'TranscriptsContradict',
          conversationId: this.result.conversationId,
          messageId,
          where: toSourcePlace(item.where),
          recorded: this.recordedFrom,
        })
      this.result.known += 1
      return E.right(undefined)
    }
    if (this.isCheck) return E.right(undefined)
    const { attributes: ofCopy, ...copied } = this.options.copied?.(item) ?? {}
    const attributes = without({
      ...ofCopy,
      byProgram,
      [ANSWER]: answerId,
      model,
      usage: usageOf(item.usage),
      earlierUsage:
        item.earlierUsage === undefined
          ? undefined
          : { answerId: item.earlierUsage.answerId, usage: usageOf(item.earlierUsage.usage) },
      abortedTurn: item.abortedTurn === undefined ? undefined : without(item.abortedTurn),
      isError,
      exitCode,
    })
    const createdAt = this.time ?? this.options.writtenAt
    this.queued.push({
      ...received,
      ...copied,
      messageId,
      ...(createdAt === undefined ? {} : { createdAt }),
      ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    })
    this.characters += charactersOf(body)
    if (this.queued.length < MAX_MESSAGES_PER_APPEND && this.characters < MAX_CHARACTERS_PER_APPEND)
      return E.right(undefined)
    return await this.flush()
  }

  /**
   * The id for a message that was recorded while the program was still writing it, and is longer now: the shorter one
   * is withdrawn. Undefined if the message is unchanged, or is a different one.
   */
  private async grownFrom(
    messageId: string,
    body: MessageBody,
  ): Promise<E.Either<TranscriptFailure, string | undefined>> {
    const first = this.hashes.get(messageId)
    if (first === undefined) return E.right(undefined)
    const hash = messageHash(body)
    if (first === hash) return E.right(undefined)
    let last = messageId
    for (let version = 2; ; version += 1) {
      const next = `${messageId}+${String(version)}`
      const recorded = this.hashes.get(next)
      if (recorded === hash || this.erased.has(next)) return E.right(next)
      if (recorded !== undefined) {
        last = next
        continue
      }
      const before = await this.recordedBody(last)
      if (before === undefined || !isLonger(before, body)) return E.right(undefined)
      const flushed = await this.flush()
      if (E.isLeft(flushed)) return flushed
      if (this.isLive(last) && !this.isCheck) {
        const withdrawn = await this.handle([{ type: 'WithdrawMessages', messageIds: [last], why: 'edited' }])
        if (E.isLeft(withdrawn)) return withdrawn
      }
      return E.right(next)
    }
  }

  /** The recorded body of a message that is no longer live. */
  private async recordedBody(messageId: string): Promise<MessageBody | undefined> {
    const stream = conversationStream(this.result.conversationId)
    const { log } = this.deps
    const { store } = log
    for (const stored of await store.findByIds(stream, [messageEventId(stream, messageId)])) {
      const event = await decodeEvent(stored, log)
      if (isOfType(event, 'MessageAppended')) return bodyOf(event.data)
    }
    return undefined
  }

  private async entriesOf(context: readonly ContextEntry[]): Promise<ObservedEntry[]> {
    const entries: ObservedEntry[] = []
    const named = new Set<string>()
    for (const entry of context) {
      if (entry.kind === 'inserted' && entry.isSummary === true && isEmptyText(entry.body)) continue
      if (entry.kind === 'inserted')
        entries.push({
          kind: 'inserted',
          body: bodyOf(withinValues(entry.body)),
          ...(entry.isSummary === undefined ? {} : { isSummary: entry.isSummary }),
        })
      else if (entry.kind === 'missing') entries.push({ kind: 'missing', sourceId: entry.sourceId })
      else {
        const ids = this.idsOf(entry.sourceId)
        if (ids.length === 0) entries.push({ kind: 'missing', sourceId: entry.sourceId })
        for (const messageId of ids) {
          // A message that left earlier and is in the context again is text that the program inserted.
          const body = this.isLive(messageId) && !named.has(messageId) ? undefined : await this.recordedBody(messageId)
          named.add(messageId)
          const content = entry.content === undefined || ids.length > 1 ? {} : { content: entry.content }
          entries.push(
            body === undefined
              ? { kind: 'message', messageId, ...content }
              : { kind: 'inserted', body: { ...body, ...content } },
          )
        }
      }
    }
    return entries
  }

  /** Whether a message may be withdrawn or edited. Always true if the ledger manages the context. */
  private isLive(messageId: string): boolean {
    const { state } = this
    if (state?.observed === undefined) return true
    if (this.liveIdCache?.state !== state) this.liveIdCache = { state, ids: liveIds(state) }
    return this.liveIdCache.ids.has(messageId)
  }

  private async compaction(item: CompactionItem): Promise<E.Either<TranscriptFailure, undefined>> {
    if (this.compactions.has(item.sourceId)) {
      this.result.known += 1
      return E.right(undefined)
    }
    const context = [...(await this.entriesOf(item.context)), ...this.followingMessages()]
    const unknown = (item.unknown ?? []).flatMap((sourceId) => this.idsOf(sourceId))
    const recorded = await this.observe(item, context, unknown)
    if (E.isRight(recorded)) this.result.compactions += 1
    return recorded
  }

  private async observe(
    item: Omit<CompactionItem, 'kind' | 'context' | 'unknown'>,
    context: readonly ObservedEntry[],
    unknown: readonly string[],
  ): Promise<E.Either<TranscriptFailure, undefined>> {
    const { sourceId, trigger, summary, coversMissing, where } = item
    return await this.handle([
      {
        type: 'ObserveCompaction',
        compaction: without({
          program: this.options.program,
          programVersion: this.item.programVersion,
          sourceId,
          trigger,
          at: timeOf(item.at),
          // Each program that summarizes writes a text: an empty one is unknown.
          summary: summary.kind === 'text' ? summaryFrom(summary.text) : summary,
          unknown: [...unknown],
          coversMissing,
          context: [...context],
          told: without({
            tokensBefore: count(item.tokensBefore),
            tokensAfter: count(item.tokensAfter),
            durationMs: count(item.durationMs),
            model: item.model,
            usage: usageOf(item.usage),
          }),
          where: toSourcePlace(where),
        }),
      },
    ])
  }

  private async withdrawal(item: WithdrawalItem): Promise<E.Either<TranscriptFailure, undefined>> {
    const { isReplaced = false } = item
    const ids = [
      ...new Set(
        item.sourceIds.flatMap((sourceId) => (isReplaced ? this.recordedIdsOf(sourceId) : this.idsOf(sourceId))),
      ),
    ]
    const live = ids.filter((id) => !this.known.has(`withdrawn ${id}`) && this.isLive(id))
    if (live.length === 0) {
      if (!isReplaced) this.result.known += 1
      return E.right(undefined)
    }
    const why = isReplaced ? 'edited' : 'rewound'
    const recorded = await this.handle([{ type: 'WithdrawMessages', messageIds: live, why }])
    if (E.isRight(recorded)) this.result.withdrawn += live.length
    return recorded
  }

  private async edit(received: EditItem): Promise<E.Either<TranscriptFailure, undefined>> {
    const item = { ...received, content: withinValues({ content: received.content }).content }
    const messageId = this.idsOf(item.sourceId)[item.part]
    const content = await this.redacted(item.content)
    if (E.isLeft(content)) return content
    const isKnown =
      messageId === undefined || this.erased.has(messageId) || this.known.has(editKey(messageId, content.right))
    if (isKnown || !this.isLive(messageId)) {
      this.result.known += 1
      return E.right(undefined)
    }
    const recorded = await this.handle([
      {
        type: 'EditContribution',
        edit: without({
          messageId,
          content: item.content,
          why: item.why,
          at: timeOf(item.at),
          where: toSourcePlace(item.where),
        }),
      },
    ])
    if (E.isRight(recorded)) this.result.edits += 1
    return recorded
  }

  /** Records the context before the oldest of these compactions, followed by the messages since then. */
  private async undo(item: UndoItem): Promise<E.Either<TranscriptFailure, undefined>> {
    const oldest = item.sourceIds.at(-1) ?? ''
    const sourceId = `undo of ${item.sourceIds.join(', ')} at ${linePlace(item.where) ?? item.where.path ?? ''}`
    const revision = this.compactions.get(oldest)
    if (revision === undefined || this.compactions.has(sourceId)) {
      this.result.known += 1
      return E.right(undefined)
    }
    const before = await this.deps.conversations.loadAt(this.result.conversationId, revision - 1)
    const since = this.state === undefined ? [] : [...this.state.window]
    const parts = [...observedParts(before), ...since.map((source) => ({ body: bodyOf(source), source }))]
    const context = parts.map(({ body, source }): ObservedEntry =>
      source !== undefined && this.isLive(source.messageId)
        ? { kind: 'message', messageId: source.messageId }
        : { kind: 'inserted', body: bodyOf(body) },
    )
    return await this.observe(
      { sourceId, trigger: 'unknown', summary: { kind: 'none' }, at: item.at, where: item.where },
      context,
      [],
    )
  }

  private async damage(item: DamageItem): Promise<E.Either<TranscriptFailure, undefined>> {
    // The program may still complete an incomplete line.
    if (item.isCut) return E.right(undefined)
    const where = toSourcePlace(item.where)
    const detail = await this.redacted(item.detail)
    if (E.isLeft(detail)) return detail
    if (this.known.has(damageKey(where, detail.right))) {
      this.result.known += 1
      return E.right(undefined)
    }
    const recorded = await this.handle([{ type: 'NoteDamage', damage: { detail: item.detail, where } }])
    if (E.isRight(recorded)) this.result.damaged += 1
    return recorded
  }

  /** A value as it is recorded, for comparison with recorded ones. */
  private async redacted<Value>(value: Value): Promise<E.Either<BadPolicy, Value>> {
    return E.map((redactor: Redactor | undefined) => redactor?.json(value).value ?? value)(
      await redactorFor(this.deps.log, settingsAfter(this.state, this.hasStarted ? undefined : this.options.settings)),
    )
  }

  /** Records the next item of this conversation. */
  async take(item: TranscriptItem): Promise<E.Either<TranscriptFailure, undefined>> {
    if (this.isCheck && (item.kind !== 'message' || this.hashes.size === 0)) return E.right(undefined)
    if (item.kind === 'message') {
      const received = withinValues(item.body)
      const body = await this.redacted(received)
      return E.isLeft(body) ? body : await this.message(item, received, body.right)
    }
    if (item.kind === 'left-out' || item.kind === 'conversation') return E.right(undefined)
    return await this.withRetry(() => this.act(item))
  }

  private async act(
    item: Exclude<TranscriptItem, { kind: 'message' | 'left-out' | 'conversation' }>,
  ): Promise<E.Either<TranscriptFailure, undefined>> {
    const flushed = await this.flush()
    if (E.isLeft(flushed)) return flushed
    switch (item.kind) {
      case 'compaction':
        return await this.compaction(item)
      case 'withdrawal':
        return await this.withdrawal(item)
      case 'edit':
        return await this.edit(item)
      case 'undo':
        return await this.undo(item)
      case 'damage':
        return await this.damage(item)
    }
  }
}

/** A body in the format of events: without undefined fields. */
const bodyOf = ({ role, content, name, toolCalls, toolCallId, extra }: MessageBody): MessageBody =>
  without({ role, content, name, toolCalls, toolCallId, extra })

/** Whether a recorded body is an earlier form of the same message. */
const isRecordedForm = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  wasRounded(recorded, now) ||
  isSameExceptSecrets(recorded, now) ||
  wasOfUser(recorded, now) ||
  hasSameWords(recorded, now) ||
  wasData(recorded, now) ||
  wasLarge(recorded, now)

/** Up to 0.11.0 data in a content was recorded as parts of type `other`. */
function wasData(recorded: MessageBody | undefined, now: MessageBody): boolean {
  if (recorded === undefined || !Array.isArray(recorded.content)) return false
  const data = recorded.content.map((part: ContentPart) =>
    part.type === 'other' && 'value' in part ? part['value'] : part,
  )
  return sameMessage({ ...recorded, content: contentOf(contentParts(data)) }, now)
}

/** Up to 0.11.0 a message could have any number of JSON values. */
const wasLarge = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  recorded !== undefined && sameMessage(withinValues(recorded), now)

/** Up to 0.11.0 the user's words were recorded inside the tag in which Cline stores them. */
const hasSameWords = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  now.role === 'user' &&
  recorded?.role === 'user' &&
  contentText(ownContent(recorded)) === contentText(ownContent(now)) &&
  authorOfMessage(now) === 'user'

/** Up to 0.11.0 a text that a program sends with the role system was recorded with the role user, inside the program's tag. */
const wasOfUser = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  now.role === 'system' && recorded?.role === 'user' && contentText(recorded.content).includes(contentText(now.content))

/** Ids of messages by the record of a transcript that they came from. */
function byRecord(messageIds: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, string[]>()
  for (const id of messageIds) {
    const record = id.replace(/(?:#\d+)?(?:[~+]\d+)*$/u, '')
    const known = ids.get(record)
    if (known === undefined) ids.set(record, [id])
    else known.push(id)
  }
  return ids
}

const isEmptyText = ({ content, toolCalls = [] }: MessageBody): boolean =>
  toolCalls.length === 0 && (content === null || (typeof content === 'string' && content.trim() === ''))

/** Whether a text continues another one. */
const isLonger = (before: MessageBody, now: MessageBody): boolean =>
  before.role === now.role &&
  typeof before.content === 'string' &&
  typeof now.content === 'string' &&
  now.content.startsWith(before.content.trimEnd())

const liveIds = ({ leading, retained, window }: Conversation): ReadonlySet<string> =>
  new Set([...leading, ...retained, ...window].map((message) => message.messageId))

function charactersOf({ content, toolCalls = [] }: MessageBody): number {
  const calls = toolCalls.reduce((sum, call) => sum + (call.function?.arguments.length ?? 0), 0)
  return calls + (typeof content === 'string' ? content.length : JSON.stringify(content).length)
}

const titleKey = (title: string): string => `title ${title}`

const editKey = (messageId: string, content: MessageBody['content']): string => `edit ${messageId} ${hashOf(content)}`

/** Uses the file name without its directory, because files are moved. */
const damageKey = ({ file, line, path }: SourcePlace, detail: string): string =>
  `damage ${file.slice(file.lastIndexOf('/') + 1)} ${String(line)} ${path ?? ''} ${detail}`

/** Records a growing transcript: further items continue the earlier ones. */
export interface TranscriptRecorder {
  /**
   * Records the next items. Do not use the recorder after a failure or an abort.
   * @returns the result of this call, with the conversations that the items concern
   */
  take(
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>>
}

/** Creates a recorder for a transcript, from its beginning. */
export const createTranscriptRecorder = (deps: RecordTranscriptDependencies): TranscriptRecorder =>
  createRecorder(deps, false)

/** Compares a transcript with what is recorded, so that one that contradicts it is refused before anything is recorded. */
export const createCheckTranscript =
  (deps: RecordTranscriptDependencies) =>
  async (
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>> =>
    await createRecorder(deps, true).take(items, options)

function createRecorder(deps: RecordTranscriptDependencies, isCheck: boolean): TranscriptRecorder {
  const recordings = new Map<string, Recording>()
  let conversationIdOf: ReturnType<typeof observedIds> | undefined
  let current: Recording | undefined
  /** Damage before the first conversation item is recorded in that conversation. */
  let early: DamageItem[] = []
  /** The conversation in the same transcript that started this one as a sub-agent; a damaged line may be of any of them. */
  const rootOf = (recording: Recording | undefined): Recording | undefined => {
    const seen = new Set<Recording>()
    let root = recording
    while (root !== undefined && !seen.has(root)) {
      seen.add(root)
      const parent = root.parentId === undefined ? undefined : recordings.get(root.parentId)
      if (parent === undefined) return root
      root = parent
    }
    return root
  }

  return {
    async take(items, options) {
      const leftOut = new Map<string, number>()
      const damage: DamageItem[] = []
      conversationIdOf ??= observedIds(deps.log, options.program, options.scope)
      for (const recording of recordings.values()) recording.startImport(options)
      const concerned = new Set<Recording>()
      for await (const item of items) {
        options.signal?.throwIfAborted()
        options.onItem?.(item)
        if (item.kind === 'left-out') {
          leftOut.set(item.what, (leftOut.get(item.what) ?? 0) + 1)
          continue
        }
        if (item.kind === 'damage') damage.push(item)
        if (item.kind === 'conversation') {
          recordings.get(item.sourceId)?.retitle(item)
          const flushed = await current?.flush()
          if (flushed !== undefined && E.isLeft(flushed)) return flushed
          current = recordings.get(item.sourceId)
          if (current === undefined) {
            current = new Recording(
              deps,
              options,
              item,
              conversationIdOf,
              await conversationIdOf(item.sourceId),
              isCheck,
            )
            await current.catchUp()
            recordings.set(item.sourceId, current)
          }
          concerned.add(current)
          for (const each of early) {
            const recorded = await current.take(each)
            if (E.isLeft(recorded)) return recorded
          }
          early = []
          continue
        }
        const concernedBy = item.kind === 'damage' && item.sharesLine !== true ? rootOf(current) : current
        if (concernedBy === undefined) {
          if (item.kind === 'damage') early.push(item)
          continue
        }
        concerned.add(concernedBy)
        const recorded = await concernedBy.take(item)
        if (E.isLeft(recorded)) return recorded
      }
      for (const recording of concerned) {
        const finished = await recording.finish()
        if (E.isLeft(finished)) return finished
      }
      return E.right({ conversations: [...concerned].map(({ result }) => result), leftOut, damage })
    },
  }
}

export const createRecordTranscript =
  (deps: RecordTranscriptDependencies) =>
  async (
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>> =>
    await createTranscriptRecorder(deps).take(items, options)
