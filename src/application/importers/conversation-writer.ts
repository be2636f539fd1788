/** Appends the events of a transcript to one conversation, each append at the revision that was read last. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Command } from '../../domain/decide/index.js'
import { conversationStream, messageEventId } from '../../domain/values/ids.js'
import { bodyOf, type MessageBody } from '../../domain/values/message.js'
import type { BadPolicy } from '../../domain/values/policy.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { modelWindow } from '../../ports/model-windows.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { redactorFor, settingsAfter } from '../recording/redaction.js'
import type { Redactor } from '../secrets/redact.js'
import { timeOf, toSourcePlace } from './event-forms.js'
import {
  emptyResult,
  type RecordedConversation,
  type RecordOptions,
  type RecordTranscriptDependencies,
  type TranscriptFailure,
} from './recorded-transcript.js'
import { RecordedItems } from './recorded-items.js'
import type { ConversationItem } from './transcript.js'

/** Maximum number of retries after another process recorded events in between. */
const MAX_RETRIES = 200

/** What the first events of a conversation say. */
interface Beginning {
  readonly item: ConversationItem
  /** The latest title in the transcript, with its place. */
  titled: Pick<ConversationItem, 'title' | 'where'>
  /** The conversation id in the ledger of a session of the program. */
  readonly conversationIdOf: (sourceId: string) => Promise<string>
}

export class ConversationWriter {
  result: RecordedConversation
  readonly recorded = new RecordedItems()
  /** The conversation at the last known revision. */
  state: Conversation | undefined
  /** Revision of the last known event. Commands are decided at this revision only. */
  #revision = -1
  #liveIds: { readonly state: Conversation; readonly ids: ReadonlySet<string> } | undefined

  constructor(
    readonly deps: RecordTranscriptDependencies,
    public options: RecordOptions,
    private readonly beginning: Beginning,
    conversationId: string,
  ) {
    this.result = emptyResult(conversationId, beginning.item)
  }

  get item(): ConversationItem {
    return this.beginning.item
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
    const from = this.#revision + 1
    for await (const stored of log.store.readStream(conversationStream(conversationId), { from })) {
      this.recorded.learn(await decodeEvent(stored, log))
      this.#revision = stored.revision
    }
    // If the loaded state is newer than the events read here, the next append fails and the rest is read then.
    this.state = await this.deps.conversations.load(conversationId)
    this.result.revision = this.#revision
  }

  /** Runs a step, and repeats it on the current state if another importer recorded events in between. */
  async withRetry<T>(step: () => Promise<E.Either<TranscriptFailure, T>>): Promise<E.Either<TranscriptFailure, T>> {
    for (let tries = 0; ; tries += 1) {
      const outcome = await step()
      if (E.isRight(outcome) || outcome.left.kind !== 'ConversationMoved' || tries === MAX_RETRIES) return outcome
      await this.catchUp()
    }
  }

  /** Records these commands in one append; the conversation's first events precede the first of them. */
  async handle(commands: readonly Command[]): Promise<E.Either<TranscriptFailure, undefined>> {
    const first = this.recorded.hasStarted ? [] : await this.#firstCommands()
    const handled = await this.deps.conversations.handle(
      this.result.conversationId,
      [{ type: 'Expect', revision: this.#revision }, ...first, ...commands],
      this.options.provenance,
    )
    if (E.isLeft(handled)) return handled
    const { events, state, position } = handled.right
    this.recorded.hasStarted = true
    this.#revision = events.at(-1)?.revision ?? this.#revision
    this.state = state
    this.result.revision = state.revision
    this.result.position = position ?? this.result.position
    for (const event of events) if (event.type !== 'MessageAppended') this.recorded.learn(event)
    return E.right(undefined)
  }

  async #firstCommands(): Promise<Command[]> {
    const { settings, scope, program, parent: parentOfTranscript } = this.options
    const { conversationIdOf, titled } = this.beginning
    const { programVersion, sourceId, parent, cwd, startedAt, where } = this.item
    return [
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
        conversation: withoutUndefined({
          program,
          programVersion,
          sourceId,
          parent:
            parent === undefined
              ? parentOfTranscript
              : withoutUndefined({ ...parent, conversationId: await conversationIdOf(parent.sourceId) }),
          title: titled.title,
          cwd,
          startedAt: timeOf(startedAt),
          where: toSourcePlace(where),
        }),
      },
    ]
  }

  /** Remembers the title of a later record of the transcript. */
  retitle(item: ConversationItem): void {
    if ((item.title ?? '') !== '') this.beginning.titled = item
  }

  /**
   * Records the latest title of the transcript. A title that was recorded once is not recorded again: an older copy of
   * the transcript may have it.
   */
  async recordTitle(): Promise<E.Either<TranscriptFailure, undefined>> {
    const { title = '', where } = this.beginning.titled
    if (!this.recorded.hasStarted || title === '') return E.right(undefined)
    return await this.withRetry(async () =>
      this.recorded.hasTitle(title)
        ? E.right(undefined)
        : await this.handle([{ type: 'TitleConversation', title: { title, where: toSourcePlace(where) } }]),
    )
  }

  /** Whether a message may be withdrawn or edited. Always true if the ledger manages the context. */
  isLive(messageId: string): boolean {
    const { state } = this
    if (state?.observed === undefined) return true
    if (this.#liveIds?.state !== state) this.#liveIds = { state, ids: liveIds(state) }
    return this.#liveIds.ids.has(messageId)
  }

  /** The recorded body of a message, also of one that is no longer live. */
  async recordedBody(messageId: string): Promise<MessageBody | undefined> {
    const stream = conversationStream(this.result.conversationId)
    const { log } = this.deps
    for (const stored of await log.store.findByIds(stream, [messageEventId(stream, messageId)])) {
      const event = await decodeEvent(stored, log)
      if (isOfType(event, 'MessageAppended')) return bodyOf(event.data)
    }
    return undefined
  }

  /** A value as it is recorded, for comparison with recorded ones. */
  async redacted<Value>(value: Value): Promise<E.Either<BadPolicy, Value>> {
    const settings = this.recorded.hasStarted ? undefined : this.options.settings
    return E.map((redactor: Redactor | undefined) => redactor?.json(value).value ?? value)(
      await redactorFor(this.deps.log, settingsAfter(this.state, settings)),
    )
  }
}

const liveIds = ({ leading, retained, window }: Conversation): ReadonlySet<string> =>
  new Set([...leading, ...retained, ...window].map((message) => message.messageId))
