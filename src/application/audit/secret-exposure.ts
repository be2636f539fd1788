/**
 * Which models had a secret: the contexts that recorded answers belong to, the requests of summaries, and results of
 * tools that repeated it. Computed from the log alone.
 */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import { contextIn, type Context } from '../../domain/compaction/context.js'
import { CallPairing, toolOfCall } from '../../domain/conversation/call-groups.js'
import type { ToolCall } from '../../domain/values/message.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { Fold } from '../../domain/conversation/evolve.js'
import type { RecordedEvent, SummarizerRecord } from '../../domain/events/index.js'
import { isWithoutModel } from '../../domain/reports/prices.js'
import { VIEWS } from '../../domain/values/view-names.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { isOfType } from '../recording/read-event.js'

/** A context with the secret that a model answered. */
export interface ExposedContext {
  /** Revision that the context was built from. */
  readonly revision: number
  /** The answer. */
  readonly answerId: string
  /**
   * Whether the answer names its context, with its hash. Otherwise it is the context directly before the answer, which
   * the model may not have received as it is.
   */
  readonly isNamed: boolean
}

/** A request for a summary that contained the secret. */
export interface ExposedSummary {
  /** Revision of the event that recorded the summary. */
  readonly revision: number
  /** Its model; undefined for a compaction of another program. */
  readonly model?: string
  /** The provider of the model. */
  readonly provider?: string
}

/** A result of a tool that repeated a recorded secret, for example of `memory_read`. */
export interface ExposedToolResult {
  /** Revision of the message. */
  readonly revision: number
  /** Id of the message. */
  readonly messageId: string
  /** The name in the call; undefined if the call is not recorded. */
  readonly tool?: string
}

/** What had a secret, as far as the log shows it. Searches and exports outside of tools are not in the log. */
export interface SecretExposure {
  /** Contexts that a model answered. */
  readonly contexts: readonly ExposedContext[]
  /** Requests for summaries. */
  readonly summaries: readonly ExposedSummary[]
  /** Results of tools that repeat the secret. */
  readonly toolResults: readonly ExposedToolResult[]
}

/** Names of secrets: kind and fingerprint. */
export type SecretNames = ReadonlySet<string>

const NONE: SecretNames = new Set()
/** Texts of views and shortened messages whose secrets are remembered. */
const KNOWN_TEXTS = 200

const union = (all: Iterable<SecretNames>): SecretNames => new Set([...all].flatMap((names) => [...names]))

type SummaryEvent = RecordedEvent<'ChunkSummarized' | 'SummarySetAside' | 'BatchesResummarized'>
/** The sources of a summary, and the chunk that is its background. */
interface SummarySources {
  readonly messageIds?: readonly string[] | undefined
  readonly sourceBatchIds?: readonly string[] | undefined
  readonly continues?: string | undefined
}

interface Collected {
  readonly contexts: ExposedContext[]
  readonly summaries: ExposedSummary[]
  readonly toolResults: ExposedToolResult[]
}

/** Follows the events of one conversation, and remembers what had which secrets. */
export class ExposureReader {
  private readonly bySecret = new Map<string, Collected>()
  /** Secrets by message id, chunk id and batch id. */
  private readonly messages = new Map<string, SecretNames>()
  private readonly chunks = new Map<string, SecretNames>()
  private readonly batches = new Map<string, SecretNames>()
  /** Names of tools by call id. */
  private readonly pairing = new CallPairing<ToolCall>()
  private readonly inText = new LRUCache<string, SecretNames>({ max: KNOWN_TEXTS })
  /** The state before the next event, from the first secret on. */
  private fold: Fold | undefined

  constructor(
    private readonly log: Log,
    private readonly conversationId: string,
    /** Finds secrets in a JSON value, by the settings in force. */
    private readonly find: (value: unknown) => SecretNames,
  ) {}

  /** @param found the secrets in the event */
  async take(event: RecordedEvent, found: SecretNames): Promise<void> {
    await this.seen(event)
    this.remember(event, found)
    if (this.fold !== undefined) this.fold.take(event)
    else if (found.size > 0) this.fold = new Fold(await loadConversation(this.log, this.conversationId, event.revision))
  }

  /** What had a secret. */
  of(name: string): SecretExposure {
    return this.bySecret.get(name) ?? { contexts: [], summaries: [], toolResults: [] }
  }

  private note(names: SecretNames, add: (collected: Collected) => void): void {
    for (const name of names) {
      const collected = this.bySecret.get(name) ?? { contexts: [], summaries: [], toolResults: [] }
      this.bySecret.set(name, collected)
      add(collected)
    }
  }

  /** Notes what a model had when it caused this event. */
  private async seen(event: RecordedEvent): Promise<void> {
    if (this.fold === undefined) return
    const { revision } = event
    if (isOfType(event, 'MessageAppended') && event.data.role === 'assistant')
      await this.answered(event, this.fold.state)
    else if (isOfType(event, 'ChunkSummarized', 'SummarySetAside', 'BatchesResummarized'))
      this.summarized(this.inRequest(event, this.fold.state), revision, event.data.summarizer)
    else if (isOfType(event, 'CompactionObserved'))
      this.note(this.inContext(this.contextAt(this.fold.state, undefined)), ({ summaries }) =>
        summaries.push({ revision }),
      )
  }

  /** The secrets in a request for a summary: in its messages or batches, and in its background. */
  private inRequest({ data }: SummaryEvent, before: Conversation): SecretNames {
    const { messageIds = [], sourceBatchIds = [], continues }: SummarySources = data
    const [firstSource] = sourceBatchIds
    const { batches, visibleBatches } = before
    const earlier = batches.slice(
      0,
      Math.max(
        0,
        batches.findIndex(({ batchId }) => batchId === firstSource),
      ),
    )
    const background = firstSource === undefined ? visibleBatches.slice(-1) : earlier
    return union([
      ...this.known(this.messages, messageIds),
      ...this.known(this.batches, sourceBatchIds),
      ...(continues === undefined
        ? this.known(
            this.batches,
            background.map(({ batchId }) => batchId),
          )
        : this.known(this.chunks, [continues])),
    ])
  }

  private known(names: ReadonlyMap<string, SecretNames>, ids: readonly string[]): SecretNames[] {
    return ids.map((id) => names.get(id) ?? NONE)
  }

  /** A reused summary was read by a model earlier, and a strategy without a model sends nothing. */
  private summarized(names: SecretNames, revision: number, summarizer: SummarizerRecord): void {
    const { model, provider, reused } = summarizer
    if (reused !== true && !isWithoutModel(summarizer))
      this.note(names, ({ summaries }) => summaries.push({ revision, model, provider }))
  }

  private async answered({ data }: RecordedEvent<'MessageAppended'>, before: Conversation): Promise<void> {
    const { answers, messageId } = data
    const answered = answers === undefined ? before.revision : Number(answers.revision)
    const state =
      answered === before.revision ? before : await loadConversation(this.log, this.conversationId, answered)
    const named = answers === undefined ? undefined : this.contextAt(state, answers.hash)
    const names = this.inContext(named ?? this.contextAt(state, undefined))
    this.note(names, ({ contexts }) =>
      contexts.push({ revision: answered, answerId: messageId, isNamed: named !== undefined }),
    )
  }

  /** The context of a state with this hash, in either view, or the configured one. */
  private contextAt(state: Conversation, hash: string | undefined): Context | undefined {
    for (const view of hash === undefined ? [undefined] : VIEWS) {
      const context = contextIn(state, view)
      if (E.isRight(context) && (hash === undefined || context.right.hash === hash)) return context.right
    }
    return undefined
  }

  private inContext(context: Context | undefined): SecretNames {
    if (context === undefined) return NONE
    const adapted = new Set(context.adapted)
    return union(
      context.messages.map((message, at) => {
        const id = context.messageIds[at]
        return id !== undefined && !adapted.has(at) && at !== context.viewAt
          ? (this.messages.get(id) ?? NONE)
          : this.inValue(message)
      }),
    )
  }

  private inValue(message: unknown): SecretNames {
    const text = JSON.stringify(message)
    const names = this.inText.get(text) ?? this.find(message)
    this.inText.set(text, names)
    return names
  }

  /** Remembers which secrets are in what the event recorded. */
  private remember(event: RecordedEvent, found: SecretNames): void {
    if (isOfType(event, 'MessageAppended')) this.rememberMessage(event, found)
    else if (isOfType(event, 'ContributionEdited')) this.messages.set(event.data.messageId, found)
    else if (isOfType(event, 'ChunkSummarized') && found.size > 0) this.chunks.set(event.data.chunkId, found)
    else if (isOfType(event, 'BatchArchived', 'BatchesResummarized') && found.size > 0)
      this.batches.set(event.data.batchId, found)
    this.note(found, () => undefined)
  }

  private rememberMessage({ revision, data }: RecordedEvent<'MessageAppended'>, found: SecretNames): void {
    const { messageId, toolCallId } = data
    const answered = this.pairing.take(data, undefined)
    if (found.size === 0) return
    this.messages.set(messageId, found)
    if (toolCallId === undefined) return
    const tool = answered === undefined ? undefined : toolOfCall(answered.call).name
    const repeated = new Set([...found].filter((name) => this.bySecret.has(name)))
    this.note(repeated, ({ toolResults }) =>
      toolResults.push({ revision, messageId, ...(tool === undefined ? {} : { tool }) }),
    )
  }
}
