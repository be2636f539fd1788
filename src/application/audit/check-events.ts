/** Checks the events of all streams, or of those of one conversation. */
import { isDeepStrictEqual } from 'node:util'
import { contextOf } from '../../domain/compaction/context.js'
import {
  CONVERSATION_PREFIX,
  conversationOf,
  conversationStream,
  EDITION_PREFIX,
  editionOf,
  PROMPT_PREFIX,
  RETENTION_STREAM,
} from '../../domain/values/ids.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { StreamHead } from '../../ports/manifest.js'
import type { StoredEvent } from '../../ports/event-store.js'
import type { CheckRequest } from '../../ports/request-check.js'
import { ConversationCheck } from './check-conversation.js'
import { EditionCheck } from './check-edition.js'
import type { RowFeed } from './check-rows.js'
import { createPromptTexts, promptProblem, RequestWatch, type Requests } from './check-requests.js'
import { RetentionCheck } from './check-retention.js'
import { StreamCheck } from './check-stream.js'
import { StreamReport } from './stream-report.js'
import { MOST_PROBLEMS, type Findings } from './findings.js'
import { editionStreams } from '../recording/conversation-streams.js'
import { decodeEvent } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { readAhead } from '../recording/read-ahead.js'
import { IdFilter } from './id-filter.js'

export interface EventsCheckOptions {
  readonly log: Log
  /** Undefined: every stream. */
  readonly conversationId: string | undefined
  readonly findings: Findings
  readonly checkRequest: CheckRequest
  /** Called after each event and each conversation with the counts so far; throws to end the check. */
  readonly onCount: (counts: EventCounts, after: 'event' | 'conversation') => void
  /** Called with each stream after it was read; the returned promise is awaited. */
  readonly onStream: ((head: StreamHead) => Promise<void>) | undefined
}

/** What was checked. */
export interface EventCounts {
  streams: number
  conversations: number
  events: number
  /** Summaries whose request was rebuilt, and those whose request this program cannot rebuild. */
  readonly summaries: Requests
}

export class EventsCheck {
  readonly counts: EventCounts = {
    streams: 0,
    conversations: 0,
    events: 0,
    summaries: { recomputed: 0, notRecomputed: 0 },
  }
  readonly #ids = new IdFilter()
  readonly #prompts: ReturnType<typeof createPromptTexts>
  /** The event with the highest position in the log so far. */
  #furthest = { stream: '', revision: -1, position: -1 }
  /** Streams whose stored count differs from their events, each with the last revision by that count. */
  readonly #miscounted = new Map<string, number>()

  constructor(
    private readonly options: EventsCheckOptions,
    /** Compares rows while the events are read. */
    private readonly feed: RowFeed | undefined,
  ) {
    this.#prompts = createPromptTexts(options.log)
  }

  async run(): Promise<void> {
    const { log, conversationId } = this.options
    if (conversationId === undefined) {
      await this.withPrefix(CONVERSATION_PREFIX, this.conversation)
      for (const prefix of [EDITION_PREFIX, PROMPT_PREFIX]) await this.withPrefix(prefix, this.editionOrPrompt)
      await this.withPrefix(RETENTION_STREAM, this.retention)
    } else {
      const stream = conversationStream(conversationId)
      await this.conversation(stream, log.store.readStream(stream))
      const editions = new Set((await editionStreams(log)).get(conversationId))
      for await (const { stream: edition } of log.store.miscountedStreams?.(EDITION_PREFIX) ?? [])
        if (editionOf(edition)?.conversationId === conversationId) editions.add(edition)
      for (const edition of editions) await this.editionOrPrompt(edition, log.store.readStream(edition))
    }
    await this.logEnd()
    await this.missingPositions()
  }

  /** Whether the store lists miscounted streams in one query, instead of a query for each stream. */
  get #isCountedAtOnce(): boolean {
    const { conversationId, log } = this.options
    return conversationId === undefined && log.store.miscountedStreams !== undefined
  }

  private countEvent(): void {
    this.counts.events += 1
    this.options.onCount(this.counts, 'event')
  }

  private requestWatch(): RequestWatch {
    return new RequestWatch(this.options.checkRequest, this.#prompts, this.counts.summaries)
  }

  private async endStream(check: StreamCheck): Promise<void> {
    const { stream, problems, observations } = check.report
    const last = this.#isCountedAtOnce
      ? (this.#miscounted.get(stream) ?? check.count - 1)
      : await this.options.log.store.streamRevision(stream)
    await check.end(last)
    if (this.options.conversationId === undefined && check.count === 0 && last < 0)
      check.report.add(
        'order',
        'the log names this stream but has no event of it: the stream was deleted or cut to nothing',
        -1,
      )
    this.counts.streams += 1
    if (check.position > this.#furthest.position)
      this.#furthest = { stream, revision: check.count - 1, position: check.position }
    this.options.findings.report(problems)
    this.options.findings.observe(observations)
    const id = conversationOf(stream) ?? editionOf(stream)?.conversationId
    if (id !== undefined && problems.length > 0) this.options.findings.distrusted.add(id)
    if (check.count > 0) await this.options.onStream?.({ stream, revision: check.count - 1, hash: check.head })
  }

  /** The check of an edition's events. Its messages are checked with the conversation. */
  private editionCheck(stream: string, check: StreamCheck): EditionCheck | undefined {
    const { log } = this.options
    const of = editionOf(stream)
    if (of === undefined) return undefined
    async function* conversationEvents(after: number, until: number): AsyncGenerator<RecordedEvent> {
      const range = { from: after + 1, limit: until - after }
      for await (const stored of log.store.readStream(conversationStream(of?.conversationId ?? ''), range))
        yield await decodeEvent(stored, log)
    }
    return new EditionCheck(of, check.report, this.requestWatch(), conversationEvents)
  }

  private readonly conversation = async (stream: string, storedEvents: AsyncIterable<StoredEvent>): Promise<void> => {
    const { feed } = this
    const { log } = this.options
    const id = conversationOf(stream) ?? ''
    const check = new StreamCheck(new StreamReport(stream, id), log)
    const deep = new ConversationCheck(id, check.report, this.requestWatch(), this.#ids, log)
    let isRedactionOff = false
    await feed?.begin(id)
    for await (const stored of storedEvents) {
      const read = check.event(stored)
      const event: RecordedEvent | undefined = read instanceof Promise ? await read : read
      this.countEvent()
      // Nothing can be proved after an event that cannot be trusted; only the chain is checked further.
      if (event === undefined || !check.sound) continue
      if (event.type === 'ConversationConfigured' && event.data.settings.redaction === 'off') isRedactionOff = true
      const waiting = deep.take(event)
      if (waiting !== undefined) await waiting
      const comparing = feed?.take(event)
      if (comparing !== undefined) await comparing
    }
    if (isRedactionOff) this.options.findings.noteRedactionOff(id)
    if (check.sound) await deep.end(check.count - 1)
    const comparesLoad = this.options.conversationId !== undefined && !deep.isErasedMeanwhile
    if (comparesLoad && check.report.problems.length === 0) {
      const loaded = contextOf(await loadConversation(log, id, deep.folded.revision))
      if (!isDeepStrictEqual(loaded, contextOf(deep.folded)))
        check.report.add('load', 'a load gives another context than all events do', deep.folded.revision)
    }
    await this.endStream(check)
    await feed?.end(check.report.problems.length === 0 && !deep.isErasedMeanwhile)
    this.counts.conversations += 1
    this.options.onCount(this.counts, 'conversation')
  }

  /** Checks the stream of an edition or a prompt. A prompt must match the name of its stream. */
  private readonly editionOrPrompt = async (
    stream: string,
    storedEvents: AsyncIterable<StoredEvent>,
  ): Promise<void> => {
    const check = new StreamCheck(new StreamReport(stream, undefined), this.options.log)
    const edition = this.editionCheck(stream, check)
    for await (const stored of storedEvents) {
      const event = await check.event(stored)
      this.countEvent()
      if (event !== undefined && check.sound) await edition?.take(event)
      if (event === undefined || !stream.startsWith(PROMPT_PREFIX)) continue
      const problem =
        event.revision === 0 ? promptProblem(event) : 'is in the stream of a prompt, which has only one event'
      if (problem !== undefined) check.report.add('prompt', problem, event.revision)
    }
    if (check.sound) edition?.end(check.count - 1)
    await this.endStream(check)
  }

  /** Checks the stream of retention. A stream of another application may have a name that begins like it. */
  private readonly retention = async (stream: string, storedEvents: AsyncIterable<StoredEvent>): Promise<void> => {
    if (stream !== RETENTION_STREAM) return
    const check = new StreamCheck(new StreamReport(stream, undefined), this.options.log)
    const retention = new RetentionCheck()
    for await (const stored of storedEvents) {
      const event = await check.event(stored)
      this.countEvent()
      const problem = event === undefined || !check.sound ? undefined : retention.take(event)
      if (event !== undefined && problem !== undefined) check.report.add('order', problem, event.revision)
    }
    await this.endStream(check)
  }

  /**
   * Checks the streams with a prefix. Streams without events that the store still counts come last; the end of each
   * reports that.
   */
  private async withPrefix(
    prefix: string,
    each: (stream: string, stored: AsyncIterable<StoredEvent>) => Promise<void>,
  ): Promise<void> {
    const { log } = this.options
    const emptied: string[] = []
    for await (const { stream, counted, last } of log.store.miscountedStreams?.(prefix) ?? []) {
      if (this.#miscounted.size > MOST_PROBLEMS) break
      this.#miscounted.set(stream, counted)
      if (last < 0) emptied.push(stream)
    }
    for await (const { stream, events: stored } of readAhead(log, prefix)) await each(stream, stored)
    for (const stream of emptied) await each(stream, log.store.readStream(stream))
  }

  /** Checks the end of the log: no event comes after it, and the last event is the one that the store names. */
  private async logEnd(): Promise<void> {
    const head = await this.options.log.store.head()
    const { stream, revision, position } = this.#furthest
    const found = (detail: string): void => {
      this.options.findings.report([
        { stream, conversationId: conversationOf(stream), revision, rule: 'order', detail },
      ])
    }
    if (position > head)
      found(`has position ${position.toString()}, but the store says that the log ends at ${head.toString()}`)
    else if (
      this.options.conversationId === undefined &&
      position >= 0 &&
      position < head &&
      (await this.options.log.store.eventAt(head)) === undefined
    )
      found(
        `is the last event of the log, at position ${position.toString()}, but the store says that the log ends at ${head.toString()}, which has no event`,
      )
  }

  /** Positions without an event, in a store with positions without gaps: whole streams may have been deleted. */
  private async missingPositions(): Promise<void> {
    const missing =
      this.options.conversationId === undefined ? await this.options.log.store.missingPositions?.() : undefined
    if (missing === undefined) return
    this.options.findings.report([
      {
        stream: 'log',
        conversationId: undefined,
        revision: -1,
        rule: 'order',
        detail: `${missing.count.toString()} of its positions have no event, the first is ${missing.first.toString()}: events were deleted`,
      },
    ])
  }
}
