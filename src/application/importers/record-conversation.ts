/**
 * Records one conversation of a transcript, item by item. Items that are already recorded are recognized by the
 * program's own ids and skipped.
 */
import { either as E } from 'fp-ts'
import { ANSWER, observedParts } from '../../domain/conversation/observed.js'
import type { MessageToAppend } from '../../domain/decide/index.js'
import type { ObservedEntry } from '../../domain/events/index.js'
import { bodyOf, messageHash, type MessageBody } from '../../domain/values/message.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { summaryFrom } from './message-items.js'
import { linePlace } from './bodies.js'
import { withinValues } from './content-part.js'
import { isLonger, isRecordedForm } from './earlier-forms.js'
import { countOf, timeOf, toSourcePlace, usageOf } from './event-forms.js'
import { byRecord, MessageIds } from './message-ids.js'
import type { ConversationWriter } from './conversation-writer.js'
import type { RecordedConversation, RecordOptions, TranscriptFailure } from './recorded-transcript.js'
import type {
  CompactionItem,
  ContextEntry,
  ConversationItem,
  DamageItem,
  EditItem,
  MessageItem,
  TranscriptItem,
  UndoItem,
  WithdrawalItem,
} from './transcript.js'

/** Limits of one append: messages, and their characters. */
const MAX_MESSAGES_PER_APPEND = 256
const MAX_CHARACTERS_PER_APPEND = 2_000_000

type Outcome = Promise<E.Either<TranscriptFailure, undefined>>

export class ConversationRecording {
  readonly #ids = new MessageIds()
  /** Record id → ids of its messages that earlier imports recorded. */
  #earlierIds: ReadonlyMap<string, readonly string[]> | undefined
  #queued: MessageToAppend[] = []
  #characters = 0
  /** Time of the last item that has one. */
  #time: string | undefined

  constructor(
    private readonly writer: ConversationWriter,
    /** Records nothing, and only compares the transcript with what is recorded. */
    private readonly isCheck: boolean,
  ) {
    this.#time = timeOf(writer.item.startedAt)
  }

  get result(): RecordedConversation {
    return this.writer.result
  }

  /** The program's own id of the conversation that started this one as a sub-agent. */
  get parentId(): string | undefined {
    const { parent } = this.writer.item
    return parent?.how === 'sub-agent' ? parent.sourceId : undefined
  }

  /** Starts a new import with new counts and options. */
  startImport(options: RecordOptions): void {
    this.writer.startImport(options)
  }

  /** Remembers the title of a later record of the transcript. */
  retitle(item: ConversationItem): void {
    this.writer.retitle(item)
  }

  /** Records the queued messages, and the latest title of the transcript. */
  async finish(): Outcome {
    const flushed = await this.flush()
    return E.isLeft(flushed) || this.isCheck ? flushed : await this.writer.recordTitle()
  }

  /** Records the queued messages. */
  async flush(): Outcome {
    return await this.writer.withRetry(() => this.append())
  }

  private async append(): Outcome {
    const messages = this.#queued.filter((message) => !this.isRecorded(message))
    this.writer.result.known += this.#queued.length - messages.length
    this.#queued = messages
    if (messages.length === 0) return E.right(undefined)
    const now = this.writer.deps.clock.now().toISOString()
    const handled = await this.writer.handle([{ type: 'AppendMessages', messages, now }])
    if (E.isLeft(handled)) return handled
    this.#queued = []
    this.#characters = 0
    this.writer.result.messages += messages.length
    return handled
  }

  private isRecorded(message: MessageToAppend): boolean {
    const recorded = this.writer.recorded.hashOf(message.messageId ?? '')
    return recorded !== undefined && hasHash(message, recorded)
  }

  /** Ids of the messages of a record, also if only an earlier import read that record. */
  private recordedIdsOf(sourceId: string): readonly string[] {
    const ids = this.#ids.of(sourceId)
    if (ids.length > 0) return ids
    this.#earlierIds ??= byRecord(this.writer.recorded.messageIds())
    return this.#earlierIds.get(sourceId) ?? []
  }

  /**
   * Live messages that an earlier import recorded, and that follow the current record in the transcript: the program
   * inserted the current record before them.
   */
  private followingMessages(): readonly ObservedEntry[] {
    const live = this.writer.state?.window ?? []
    const lastRead = live.findLastIndex(({ messageId }) => this.#ids.isRead(messageId))
    return lastRead === -1 ? [] : live.slice(lastRead + 1).map(({ messageId }) => ({ kind: 'message', messageId }))
  }

  /** @param body the redacted body, as it is recorded */
  private async message(item: MessageItem, received: MessageBody, body: MessageBody): Outcome {
    const { byProgram, answerId, model, isError, exitCode } = item
    const plainId = this.#ids.next(item)
    // An older event may have the text that is redacted today.
    const isAsReceived =
      this.writer.recorded.isErased(plainId) || hasHash(received, this.writer.recorded.hashOf(plainId))
    const continuationId = isAsReceived
      ? E.right(undefined)
      : await this.writer.withRetry(() => this.grownFrom(plainId, body))
    if (E.isLeft(continuationId)) return continuationId
    const messageId = continuationId.right ?? plainId
    this.#ids.remember(item, messageId)
    this.#time = timeOf(item.at) ?? this.#time
    const recorded = this.writer.recorded.hashOf(messageId)
    if (recorded !== undefined) {
      const isSame = isAsReceived || this.writer.recorded.isErased(messageId) || hasHash(body, recorded)
      // A program may write a text of its own again, with the date or the files of today. The recorded one stays.
      const isProgramText = byProgram === true
      if (!isSame && !isProgramText && !isRecordedForm(await this.writer.recordedBody(messageId), bodyOf(body)))
        return E.left({
          kind: 'TranscriptsContradict',
          conversationId: this.writer.result.conversationId,
          messageId,
          where: toSourcePlace(item.where),
          recorded: this.writer.recorded.recordedFrom,
        })
      this.writer.result.known += 1
      return E.right(undefined)
    }
    if (this.isCheck) return E.right(undefined)
    const { attributes: ofCopy, ...copied } = this.writer.options.copied?.(item) ?? {}
    const attributes = withoutUndefined({
      ...ofCopy,
      byProgram,
      [ANSWER]: answerId,
      model,
      usage: usageOf(item.usage),
      earlierUsage:
        item.earlierUsage === undefined
          ? undefined
          : { answerId: item.earlierUsage.answerId, usage: usageOf(item.earlierUsage.usage) },
      abortedTurn: item.abortedTurn === undefined ? undefined : withoutUndefined(item.abortedTurn),
      isError,
      exitCode,
    })
    const createdAt = this.#time ?? this.writer.options.writtenAt
    this.#queued.push({
      ...received,
      ...copied,
      messageId,
      ...(createdAt === undefined ? {} : { createdAt }),
      ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    })
    this.#characters += charactersOf(body)
    if (this.#queued.length < MAX_MESSAGES_PER_APPEND && this.#characters < MAX_CHARACTERS_PER_APPEND)
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
    const first = this.writer.recorded.hashOf(messageId)
    if (first === undefined) return E.right(undefined)
    const hash = messageHash(body)
    if (first === hash) return E.right(undefined)
    let last = messageId
    for (let version = 2; ; version += 1) {
      const next = `${messageId}+${String(version)}`
      const recorded = this.writer.recorded.hashOf(next)
      if (recorded === hash || this.writer.recorded.isErased(next)) return E.right(next)
      if (recorded !== undefined) {
        last = next
        continue
      }
      const before = await this.writer.recordedBody(last)
      if (before === undefined || !isLonger(before, body)) return E.right(undefined)
      const flushed = await this.flush()
      if (E.isLeft(flushed)) return flushed
      if (this.writer.isLive(last) && !this.isCheck) {
        const withdrawn = await this.writer.handle([{ type: 'WithdrawMessages', messageIds: [last], why: 'edited' }])
        if (E.isLeft(withdrawn)) return withdrawn
      }
      return E.right(next)
    }
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
        const ids = this.#ids.of(entry.sourceId)
        if (ids.length === 0) entries.push({ kind: 'missing', sourceId: entry.sourceId })
        for (const messageId of ids) {
          // A message that left earlier and is in the context again is text that the program inserted.
          const body =
            this.writer.isLive(messageId) && !named.has(messageId)
              ? undefined
              : await this.writer.recordedBody(messageId)
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

  private async compaction(item: CompactionItem): Outcome {
    if (this.writer.recorded.compaction(item.sourceId) !== undefined) {
      this.writer.result.known += 1
      return E.right(undefined)
    }
    const context = [...(await this.entriesOf(item.context)), ...this.followingMessages()]
    const unknown = (item.unknown ?? []).flatMap((sourceId) => this.#ids.of(sourceId))
    const recorded = await this.observe(item, context, unknown)
    if (E.isRight(recorded)) this.writer.result.compactions += 1
    return recorded
  }

  private async observe(
    item: Omit<CompactionItem, 'kind' | 'context' | 'unknown'>,
    context: readonly ObservedEntry[],
    unknown: readonly string[],
  ): Outcome {
    const { sourceId, trigger, summary, coversMissing, where } = item
    return await this.writer.handle([
      {
        type: 'ObserveCompaction',
        compaction: withoutUndefined({
          program: this.writer.options.program,
          programVersion: this.writer.item.programVersion,
          sourceId,
          trigger,
          at: timeOf(item.at),
          // Each program that summarizes writes a text: an empty one is unknown.
          summary: summary.kind === 'text' ? summaryFrom(summary.text) : summary,
          unknown: [...unknown],
          coversMissing,
          context: [...context],
          told: withoutUndefined({
            tokensBefore: countOf(item.tokensBefore),
            tokensAfter: countOf(item.tokensAfter),
            durationMs: countOf(item.durationMs),
            model: item.model,
            usage: usageOf(item.usage),
            madeBy: item.madeBy,
          }),
          where: toSourcePlace(where),
        }),
      },
    ])
  }

  private async withdrawal(item: WithdrawalItem): Outcome {
    const { isReplaced = false } = item
    const ids = [
      ...new Set(
        item.sourceIds.flatMap((sourceId) => (isReplaced ? this.recordedIdsOf(sourceId) : this.#ids.of(sourceId))),
      ),
    ]
    const live = ids.filter((id) => !this.writer.recorded.hasWithdrawal(id) && this.writer.isLive(id))
    if (live.length === 0) {
      if (!isReplaced) this.writer.result.known += 1
      return E.right(undefined)
    }
    const why = isReplaced ? 'edited' : 'rewound'
    const recorded = await this.writer.handle([{ type: 'WithdrawMessages', messageIds: live, why }])
    if (E.isRight(recorded)) this.writer.result.withdrawn += live.length
    return recorded
  }

  private async edit(received: EditItem): Outcome {
    const item = { ...received, content: withinValues({ content: received.content }).content }
    const messageId = this.#ids.of(item.sourceId)[item.part]
    const content = await this.writer.redacted(item.content)
    if (E.isLeft(content)) return content
    const isKnown =
      messageId === undefined ||
      this.writer.recorded.isErased(messageId) ||
      this.writer.recorded.hasEdit(messageId, content.right)
    if (isKnown || !this.writer.isLive(messageId)) {
      this.writer.result.known += 1
      return E.right(undefined)
    }
    const recorded = await this.writer.handle([
      {
        type: 'EditContribution',
        edit: withoutUndefined({
          messageId,
          content: item.content,
          why: item.why,
          at: timeOf(item.at),
          where: toSourcePlace(item.where),
        }),
      },
    ])
    if (E.isRight(recorded)) this.writer.result.edits += 1
    return recorded
  }

  /** Records the context before the oldest of these compactions, followed by the messages since then. */
  private async undo(item: UndoItem): Outcome {
    const oldest = item.sourceIds.at(-1) ?? ''
    const sourceId = `undo of ${item.sourceIds.join(', ')} at ${linePlace(item.where) ?? item.where.path ?? ''}`
    const revision = this.writer.recorded.compaction(oldest)
    if (revision === undefined || this.writer.recorded.compaction(sourceId) !== undefined) {
      this.writer.result.known += 1
      return E.right(undefined)
    }
    const before = await this.writer.deps.conversations.loadAt(this.writer.result.conversationId, revision - 1)
    const since = this.writer.state === undefined ? [] : [...this.writer.state.window]
    const parts = [...observedParts(before), ...since.map((source) => ({ body: bodyOf(source), source }))]
    const context = parts.map(({ body, source }): ObservedEntry =>
      source !== undefined && this.writer.isLive(source.messageId)
        ? { kind: 'message', messageId: source.messageId }
        : { kind: 'inserted', body: bodyOf(body) },
    )
    return await this.observe(
      { sourceId, trigger: 'unknown', summary: { kind: 'none' }, at: item.at, where: item.where },
      context,
      [],
    )
  }

  private async damage(item: DamageItem): Outcome {
    // The program may still complete an incomplete line.
    if (item.isCut) return E.right(undefined)
    const where = toSourcePlace(item.where)
    const detail = await this.writer.redacted(item.detail)
    if (E.isLeft(detail)) return detail
    if (this.writer.recorded.hasDamage(where, detail.right)) {
      this.writer.result.known += 1
      return E.right(undefined)
    }
    const recorded = await this.writer.handle([{ type: 'NoteDamage', damage: { detail: item.detail, where } }])
    if (E.isRight(recorded)) this.writer.result.damaged += 1
    return recorded
  }

  /** Records the next item of this conversation. */
  async take(item: TranscriptItem): Outcome {
    if (this.isCheck && (item.kind !== 'message' || !this.writer.recorded.hasMessages())) return E.right(undefined)
    if (item.kind === 'message') {
      const received = withinValues(item.body)
      const body = await this.writer.redacted(received)
      return E.isLeft(body) ? body : await this.message(item, received, body.right)
    }
    if (item.kind === 'left-out' || item.kind === 'conversation') return E.right(undefined)
    return await this.writer.withRetry(() => this.act(item))
  }

  private async act(item: Exclude<TranscriptItem, { kind: 'message' | 'left-out' | 'conversation' }>): Outcome {
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

const hasHash = (body: MessageBody, hash: string | undefined): boolean => hash === messageHash(body)

const isEmptyText = ({ content, toolCalls = [] }: MessageBody): boolean =>
  toolCalls.length === 0 && (content === null || (typeof content === 'string' && content.trim() === ''))

function charactersOf({ content, toolCalls = [] }: MessageBody): number {
  const calls = toolCalls.reduce((sum, call) => sum + (call.function?.arguments.length ?? 0), 0)
  return calls + (typeof content === 'string' ? content.length : JSON.stringify(content).length)
}
