/**
 * Records what a transcript says, conversation by conversation, in the order of its records. What is recorded already is
 * known by the program's own ids and passed over, so that the same transcript again, or one that has grown, adds what is
 * new and nothing else.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../domain/conversation/conversation.js'
import { ANSWER, observedParts } from '../domain/conversation/observed.js'
import type { Command, MessageToAppend } from '../domain/decide/index.js'
import type { Provenance } from '../domain/events/codec.js'
import type { ObservedEntry, RecordedEvent, SourcePlace } from '../domain/events/index.js'
import { hashOf } from '../domain/values/hash.js'
import { checkId, conversationStream, messageEventId, type BadId } from '../domain/values/ids.js'
import { messageHash, type MessageBody } from '../domain/values/message.js'
import type { PolicySettings } from '../domain/values/policy.js'
import { modelWindow } from '../ports/model-windows.js'
import type { Clock } from '../ports/clock.js'
import type { CommandFailure, Conversations } from '../recording/handle-command.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
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
  Where,
  WithdrawalItem,
} from './transcript.js'

export interface RecordTranscriptDependencies {
  readonly log: Log
  readonly conversations: Conversations
  readonly clock: Clock
  readonly summarizerWindowTokens: number
  readonly estimator?: string | undefined
}

/** How a transcript is recorded. */
export interface RecordOptions {
  readonly program: string
  readonly scope?: string | undefined
  readonly settings?: PolicySettings | undefined
  readonly provenance: Provenance
  readonly signal?: AbortSignal | undefined
  /** Hears of each item once it is recorded, or waits to be recorded with the next ones. */
  readonly onItem?: (item: TranscriptItem) => void
}

/** What became of one conversation of a transcript. */
export interface RecordedConversation {
  /** Its id in the ledger. */
  readonly conversationId: string
  /** The program's own id. */
  readonly sourceId: string
  /** The transcript. */
  readonly file: string
  /** Messages that were recorded this time. */
  messages: number
  /** Compactions that were recorded this time. */
  compactions: number
  /** Messages that were withdrawn this time. */
  withdrawn: number
  /** Messages that count less from this time on. */
  edits: number
  /** Records that cannot be read, recorded this time. */
  damaged: number
  /** Items that were recorded before. */
  known: number
  /** Revision of its last event. */
  revision: bigint
  /** Position of the last event that was recorded this time. */
  position: bigint | undefined
}

/** What became of a transcript. */
export interface RecordedTranscript {
  readonly conversations: readonly RecordedConversation[]
  /** Records that say nothing of a conversation, by their kind. */
  readonly leftOut: ReadonlyMap<string, number>
  /** Records that could not be read. */
  readonly damage: readonly DamageItem[]
}

/** Two transcripts claim the same message with other content. */
export interface TranscriptsContradict {
  readonly kind: 'TranscriptsContradict'
  readonly conversationId: string
  readonly messageId: string
  readonly where: SourcePlace
  /** The transcript that was recorded first. */
  readonly recorded: SourcePlace | undefined
}

export type TranscriptFailure = CommandFailure | TranscriptsContradict

/** Messages that are recorded in one append, and their characters. */
const MESSAGES_TOGETHER = 256
const CHARACTERS_TOGETHER = 2_000_000

/** The id by which a ledger knows a conversation of a program. */
export const observedConversationId = (program: string, sourceId: string): string => {
  const id = `${program}/${sourceId}`
  return E.isRight(checkId('conversationId', id)) ? id : `${program}/${hashOf(sourceId).slice(0, 32)}`
}

const asPlace = ({ file, line, path }: Where): SourcePlace => ({
  file,
  ...(line === undefined ? {} : { line }),
  ...(path === undefined ? {} : { path }),
})

/** A time as events have it; undefined where it is none. */
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

/** What a program tells of a call's cost, as events take it. */
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

const isAlready = (body: MessageBody, hash: string | undefined): boolean => hash === messageHash(body)

/** A conversation of which nothing is recorded so far. */
export const nothingRecorded = (program: string, { sourceId, where }: ConversationItem): RecordedConversation => ({
  conversationId: observedConversationId(program, sourceId),
  sourceId,
  file: where.file,
  messages: 0,
  compactions: 0,
  withdrawn: 0,
  edits: 0,
  damaged: 0,
  known: 0,
  revision: -1n,
  position: undefined,
})

/** How often something is decided anew because others recorded in between. */
const ATTEMPTS = 200

/** One conversation on its way into the ledger. */
class Recording {
  done: RecordedConversation
  /** The last event that is known here. What is recorded was decided on this revision and on no other. */
  private revision = -1n
  private state: Conversation | undefined
  /** Hash of each message that was recorded before this time, by its id. */
  private readonly hashes = new Map<string, string>()
  /** What else is recorded, by what it is known by. */
  private readonly known = new Set<string>()
  private readonly compactions = new Map<string, bigint>()
  private recordedFrom: SourcePlace | undefined
  /** Ids of the messages of a record, as it was said last; of most records it is one, and the record's own. */
  private readonly ids = new Map<string, readonly string[]>()
  /** How often a message was said: one that comes back behind a branch that was left has an id of its own. */
  private readonly said = new Map<string, number>()
  private liveIn: { readonly state: Conversation; readonly ids: ReadonlySet<string> } | undefined
  private waiting: MessageToAppend[] = []
  private characters = 0
  private time: string | undefined
  private begun = false

  constructor(
    private readonly deps: RecordTranscriptDependencies,
    private options: RecordOptions,
    private readonly item: ConversationItem,
  ) {
    this.done = nothingRecorded(options.program, item)
    this.time = timeOf(item.startedAt)
  }

  /** Counts anew from here on, in the name of who asks now. */
  goOn(options: RecordOptions): void {
    this.options = options
    this.done = { ...nothingRecorded(options.program, this.item), revision: this.done.revision }
  }

  /** Reads what is recorded already, and is not known here. */
  async catchUp(): Promise<void> {
    const { conversationId } = this.done
    const { store, bodies } = this.deps.log
    const from = this.revision + 1n
    for await (const stored of store.readStream(conversationStream(conversationId), { from })) {
      this.learn(await decodeEvent(stored, bodies))
      this.revision = stored.revision
    }
    // Where it is newer than what was learned, the next append says so, and the rest is learned then.
    this.state = await this.deps.conversations.load(conversationId)
    this.done.revision = this.revision
  }

  /** Takes a step, and takes it again on what is there now where another importer recorded in between. */
  private async again<T>(step: () => Promise<E.Either<TranscriptFailure, T>>): Promise<E.Either<TranscriptFailure, T>> {
    for (let tries = 0; ; tries += 1) {
      const taken = await step()
      if (E.isRight(taken) || taken.left.kind !== 'ConversationMoved' || tries === ATTEMPTS) return taken
      await this.catchUp()
    }
  }

  private learn(event: RecordedEvent): void {
    if (isOfType(event, 'MessageAppended')) this.hashes.set(event.data.messageId, messageHash(event.data))
    else if (isOfType(event, 'ConversationObserved')) {
      this.begun = true
      this.recordedFrom = event.data.where
    } else if (isOfType(event, 'CompactionObserved')) this.compactions.set(event.data.sourceId, event.revision)
    else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) this.known.add(`withdrawn ${messageId}`)
    else if (isOfType(event, 'ContributionEdited')) this.known.add(editKey(event.data.messageId, event.data.content))
    else if (isOfType(event, 'TranscriptDamaged')) this.known.add(damageKey(event.data.where, event.data.detail))
  }

  /** Records these at once; the conversation's first events go before the first of them. */
  private async handle(commands: readonly Command[]): Promise<E.Either<TranscriptFailure, undefined>> {
    const { settings, scope, provenance, program } = this.options
    const { programVersion, sourceId, parent, title, cwd, startedAt, where } = this.item
    const first: Command[] = this.begun
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
                  ? undefined
                  : without({ ...parent, conversationId: observedConversationId(program, parent.sourceId) }),
              title,
              cwd,
              startedAt: timeOf(startedAt),
              where: asPlace(where),
            }),
          },
        ]
    const handled = await this.deps.conversations.handle(
      this.done.conversationId,
      [{ type: 'Expect', revision: this.revision }, ...first, ...commands],
      provenance,
    )
    if (E.isLeft(handled)) return handled
    this.begun = true
    this.revision = handled.right.events.at(-1)?.revision ?? this.revision
    this.state = handled.right.state
    this.done.revision = handled.right.state.revision
    this.done.position = handled.right.position ?? this.done.position
    // No message that is said this time has the id of another one.
    for (const event of handled.right.events) if (event.type !== 'MessageAppended') this.learn(event)
    return E.right(undefined)
  }

  /** Records the messages that wait. */
  async flush(): Promise<E.Either<TranscriptFailure, undefined>> {
    return await this.again(() => this.append())
  }

  private async append(): Promise<E.Either<TranscriptFailure, undefined>> {
    const messages = this.waiting.filter((message) => !this.isRecorded(message))
    this.done.known += this.waiting.length - messages.length
    this.waiting = messages
    if (messages.length === 0) return E.right(undefined)
    const now = this.deps.clock.now().toISOString()
    const handled = await this.handle([{ type: 'AppendMessages', messages, now }])
    if (E.isLeft(handled)) return handled
    this.waiting = []
    this.characters = 0
    this.done.messages += messages.length
    return handled
  }

  private isRecorded(message: MessageToAppend): boolean {
    const recorded = this.hashes.get(message.messageId ?? '')
    return recorded !== undefined && isAlready(message, recorded)
  }

  private idOf({ sourceId, part }: Pick<MessageItem, 'sourceId' | 'part'>): string {
    const record = part === 0 ? sourceId : `${sourceId}#${String(part)}`
    const name = E.isRight(checkId('id', record)) && Buffer.byteLength(record) <= 480 ? record : hashOf(record)
    const times = (this.said.get(name) ?? 0) + 1
    this.said.set(name, times)
    return times === 1 ? name : `${name}~${String(times)}`
  }

  private remember(sourceId: string, messageIds: readonly string[]): void {
    if (messageIds.length === 1 && messageIds[0] === sourceId) this.ids.delete(sourceId)
    else this.ids.set(sourceId, messageIds)
  }

  /** Ids of the messages of a record; none where it was not said. */
  private idsOf(sourceId: string): readonly string[] {
    return this.ids.get(sourceId) ?? (this.said.has(sourceId) ? [sourceId] : [])
  }

  private async message(item: MessageItem): Promise<E.Either<TranscriptFailure, undefined>> {
    const { sourceId, part, body, byProgram, answerId, model, isError } = item
    const asSaid = this.idOf(item)
    const grown = await this.again(() => this.grownFrom(asSaid, body))
    if (E.isLeft(grown)) return grown
    const messageId = grown.right ?? asSaid
    this.remember(sourceId, part === 0 ? [messageId] : [...this.idsOf(sourceId), messageId])
    this.time = timeOf(item.at) ?? this.time
    const recorded = this.hashes.get(messageId)
    if (recorded !== undefined) {
      if (!isAlready(body, recorded) && !wasRounded(await this.recordedBody(messageId), bodyOf(body)))
        return E.left({
          kind: 'TranscriptsContradict',
          conversationId: this.done.conversationId,
          messageId,
          where: asPlace(item.where),
          recorded: this.recordedFrom,
        })
      this.done.known += 1
      return E.right(undefined)
    }
    const attributes = without({
      byProgram,
      [ANSWER]: answerId,
      model,
      usage: usageOf(item.usage),
      earlierUsage:
        item.earlierUsage === undefined
          ? undefined
          : { answerId: item.earlierUsage.answerId, usage: usageOf(item.earlierUsage.usage) },
      isError,
    })
    this.waiting.push({
      ...body,
      messageId,
      ...(this.time === undefined ? {} : { createdAt: this.time }),
      ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    })
    this.characters += charactersOf(body)
    if (this.waiting.length < MESSAGES_TOGETHER && this.characters < CHARACTERS_TOGETHER) return E.right(undefined)
    return await this.flush()
  }

  /**
   * The id of a message that was recorded while it was still being written, and is longer now: the shorter one is
   * withdrawn. Undefined where it is as it was recorded, or another one.
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
      if (recorded === hash) return E.right(next)
      if (recorded !== undefined) {
        last = next
        continue
      }
      const before = await this.recordedBody(last)
      if (before === undefined || !isLonger(before, body)) return E.right(undefined)
      const flushed = await this.flush()
      if (E.isLeft(flushed)) return flushed
      if (this.isLive(last)) {
        const withdrawn = await this.handle([{ type: 'WithdrawMessages', messageIds: [last], why: 'edited' }])
        if (E.isLeft(withdrawn)) return withdrawn
      }
      return E.right(next)
    }
  }

  /** The body of a message that is not live any more, as it was recorded. */
  private async recordedBody(messageId: string): Promise<MessageBody | undefined> {
    const stream = conversationStream(this.done.conversationId)
    const { store, bodies } = this.deps.log
    for (const stored of await store.findByIds(stream, [messageEventId(stream, messageId)])) {
      const event = await decodeEvent(stored, bodies)
      if (isOfType(event, 'MessageAppended')) return bodyOf(event.data)
    }
    return undefined
  }

  private async entriesOf(context: readonly ContextEntry[]): Promise<ObservedEntry[]> {
    const entries: ObservedEntry[] = []
    const named = new Set<string>()
    for (const entry of context) {
      if (entry.kind === 'inserted')
        entries.push({
          kind: 'inserted',
          body: bodyOf(entry.body),
          ...(entry.isSummary === undefined ? {} : { isSummary: entry.isSummary }),
        })
      else if (entry.kind === 'missing') entries.push({ kind: 'missing', sourceId: entry.sourceId })
      else {
        const ids = this.idsOf(entry.sourceId)
        if (ids.length === 0) entries.push({ kind: 'missing', sourceId: entry.sourceId })
        for (const messageId of ids) {
          // What left before and stands in the context again is a text that the program put there.
          const body = this.isLive(messageId) && !named.has(messageId) ? undefined : await this.recordedBody(messageId)
          named.add(messageId)
          entries.push(body === undefined ? { kind: 'message', messageId } : { kind: 'inserted', body })
        }
      }
    }
    return entries
  }

  /** Where the context is ours by now, no message is held back by what we know of it. */
  private isLive(messageId: string): boolean {
    const { state } = this
    if (state?.observed === undefined) return true
    if (this.liveIn?.state !== state) this.liveIn = { state, ids: liveIds(state) }
    return this.liveIn.ids.has(messageId)
  }

  private async compaction(item: CompactionItem): Promise<E.Either<TranscriptFailure, undefined>> {
    if (this.compactions.has(item.sourceId)) {
      this.done.known += 1
      return E.right(undefined)
    }
    const context = await this.entriesOf(item.context)
    const unknown = (item.unknown ?? []).flatMap((sourceId) => this.idsOf(sourceId))
    const recorded = await this.observe(item, context, unknown)
    if (E.isRight(recorded)) this.done.compactions += 1
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
          summary,
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
          where: asPlace(where),
        }),
      },
    ])
  }

  private async withdrawal(item: WithdrawalItem): Promise<E.Either<TranscriptFailure, undefined>> {
    const ids = [...new Set(item.sourceIds.flatMap((sourceId) => this.idsOf(sourceId)))]
    const live = ids.filter((id) => !this.known.has(`withdrawn ${id}`) && this.isLive(id))
    if (live.length === 0) {
      this.done.known += 1
      return E.right(undefined)
    }
    const recorded = await this.handle([{ type: 'WithdrawMessages', messageIds: live, why: 'rewound' }])
    if (E.isRight(recorded)) this.done.withdrawn += live.length
    return recorded
  }

  private async edit(item: EditItem): Promise<E.Either<TranscriptFailure, undefined>> {
    const messageId = this.idsOf(item.sourceId)[item.part]
    if (messageId === undefined || this.known.has(editKey(messageId, item.content)) || !this.isLive(messageId)) {
      this.done.known += 1
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
          where: asPlace(item.where),
        }),
      },
    ])
    if (E.isRight(recorded)) this.done.edits += 1
    return recorded
  }

  /** The context that was before the oldest of these compactions, and what was said since. */
  private async undo(item: UndoItem): Promise<E.Either<TranscriptFailure, undefined>> {
    const oldest = item.sourceIds.at(-1) ?? ''
    const sourceId = `undo of ${item.sourceIds.join(', ')} at ${String(item.where.line ?? item.where.path ?? '')}`
    const revision = this.compactions.get(oldest)
    if (revision === undefined || this.compactions.has(sourceId)) {
      this.done.known += 1
      return E.right(undefined)
    }
    const before = await this.deps.conversations.loadAt(this.done.conversationId, revision - 1n)
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
    // A line that is cut off may still be written to its end.
    if (item.isCut) return E.right(undefined)
    const where = asPlace(item.where)
    if (this.known.has(damageKey(where, item.detail))) {
      this.done.known += 1
      return E.right(undefined)
    }
    const recorded = await this.handle([{ type: 'NoteDamage', damage: { detail: item.detail, where } }])
    if (E.isRight(recorded)) this.done.damaged += 1
    return recorded
  }

  /** Takes what the transcript says next of this conversation. */
  async take(item: TranscriptItem): Promise<E.Either<TranscriptFailure, undefined>> {
    if (item.kind === 'message') return await this.message(item)
    if (item.kind === 'left-out' || item.kind === 'conversation') return E.right(undefined)
    return await this.again(() => this.act(item))
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

/** A body as events have it: without fields that say nothing. */
const bodyOf = ({ role, content, name, toolCalls, toolCallId, extra }: MessageBody): MessageBody =>
  without({ role, content, name, toolCalls, toolCallId, extra })

/** Whether a text says what another one says, and goes on. */
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

const editKey = (messageId: string, content: MessageBody['content']): string => `edit ${messageId} ${hashOf(content)}`

/** Files move; a place is known by the file's own name. */
const damageKey = ({ file, line, path }: SourcePlace, detail: string): string =>
  `damage ${file.slice(file.lastIndexOf('/') + 1)} ${String(line)} ${path ?? ''} ${detail}`

/** Records a transcript that grows: what it says next is taken behind what was taken before. */
export interface TranscriptRecorder {
  /**
   * Takes what the transcript says next. After a failure, and where somebody ends it, the recorder is of no use any more.
   * @returns what became of it this time, of the conversations that it is about
   */
  take(
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>>
}

/** A recorder for a transcript, from its beginning. */
export function createTranscriptRecorder(deps: RecordTranscriptDependencies): TranscriptRecorder {
  const recordings = new Map<string, Recording>()
  let current: Recording | undefined
  /** What cannot be read before the first conversation is known belongs to it. */
  let early: DamageItem[] = []

  return {
    async take(items, options) {
      const leftOut = new Map<string, number>()
      const damage: DamageItem[] = []
      for (const recording of recordings.values()) recording.goOn(options)
      const about = new Set<Recording>()
      for await (const item of items) {
        options.signal?.throwIfAborted()
        options.onItem?.(item)
        if (item.kind === 'left-out') {
          leftOut.set(item.what, (leftOut.get(item.what) ?? 0) + 1)
          continue
        }
        if (item.kind === 'damage') damage.push(item)
        if (item.kind === 'conversation') {
          const flushed = await current?.flush()
          if (flushed !== undefined && E.isLeft(flushed)) return flushed
          current = recordings.get(item.sourceId)
          if (current === undefined) {
            current = new Recording(deps, options, item)
            await current.catchUp()
            recordings.set(item.sourceId, current)
          }
          about.add(current)
          for (const each of early) {
            const recorded = await current.take(each)
            if (E.isLeft(recorded)) return recorded
          }
          early = []
          continue
        }
        if (current === undefined) {
          if (item.kind === 'damage') early.push(item)
          continue
        }
        about.add(current)
        const recorded = await current.take(item)
        if (E.isLeft(recorded)) return recorded
      }
      const flushed = await current?.flush()
      if (flushed !== undefined && E.isLeft(flushed)) return flushed
      return E.right({ conversations: [...about].map(({ done }) => done), leftOut, damage })
    },
  }
}

/** Builds the use case: records a transcript as far as it goes. */
export const createRecordTranscript =
  (deps: RecordTranscriptDependencies) =>
  async (
    items: AsyncIterable<TranscriptItem>,
    options: RecordOptions,
  ): Promise<E.Either<TranscriptFailure | BadId, RecordedTranscript>> =>
    await createTranscriptRecorder(deps).take(items, options)
