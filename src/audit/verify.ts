/**
 * The proof that nothing was lost: every stream of the log is read, in memory that does not grow with it. Of each the
 * order, the hash chain, ids and causes; of a conversation the laws that hold after every append, what each fact that
 * closes the books carries, and where each summary came from; and that the projected rows are what the facts make them,
 * which somebody else proves beside it where there is much to compare.
 *
 * The list of streams comes by their names and not from the log itself, which would read everything twice; and stream
 * by stream rather than in one pass over the log, because that would need the state of every conversation at once.
 */
import { isDeepStrictEqual } from 'node:util'
import { contextOf } from '../domain/compaction/context.js'
import {
  CONVERSATION_PREFIX,
  conversationOf,
  conversationStream,
  EDITION_PREFIX,
  editionOf,
  PROMPT_PREFIX,
} from '../domain/values/ids.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { Manifest, StreamHead } from '../ports/manifest.js'
import type { StoredEvent } from '../ports/event-store.js'
import type { CheckRequest } from '../ports/request-check.js'
import type { CheckRows, RowCheck, StoppedRows } from '../ports/row-check.js'
import { againstManifest, type HeldAgainst } from './against-manifest.js'
import { ConversationCheck } from './check-conversation.js'
import { EditionCheck } from './check-edition.js'
import { createCheckRows, isMuch, RowFeed } from './check-rows.js'
import { createPromptTexts, promptProblem, RequestWatch, type Requests } from './check-requests.js'
import { StreamCheck, type Problem } from './check-stream.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import { decodeEvent } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { readAhead } from './read-ahead.js'
import { SeenIds } from './seen-ids.js'

export type { Problem } from './check-stream.js'

/** What `verify` found. */
export interface Verification {
  /** True where nothing is wrong. */
  readonly ok: boolean
  /** Streams that were read, and how many of them are conversations. */
  readonly streams: number
  /** Conversations that were looked at. */
  readonly conversations: number
  /** Events that were looked at. */
  readonly events: number
  /**
   * Summaries whose request was made again and compared by its hash, and those whose request this program cannot make
   * again.
   */
  readonly summaries: Readonly<Requests>
  /** What is wrong, each with its place. */
  readonly problems: readonly Problem[]
  /**
   * What other programs did otherwise than our laws have it, in conversations of theirs: a result parted from its call, a
   * window passed, nothing that stands for what left. Nothing of it is damage.
   */
  readonly observations: readonly Problem[]
  /** What of a manifest it was held against, where one was given. */
  readonly against?: HeldAgainst
}

/** What was read so far. */
export interface VerifyProgress {
  /** Conversations that are done. */
  readonly conversations: number
  /** Events that were looked at so far. */
  readonly events: number
}

export interface VerifyDependencies {
  readonly log: Log
  readonly checkRequest: CheckRequest
  /**
   * Compares rows in the course of reading; for one conversation, or for every one of the log. `catchUp` waits for rows
   * that are behind.
   */
  readonly rowCheck: (everyConversation: boolean, catchUp: () => Promise<void>) => RowCheck
  /** Compares rows by reading the log itself, where there is much to compare; `here` does so in this thread. */
  readonly checkRowsApart?: ((here: CheckRows) => CheckRows) | undefined
  /**
   * Brings the rows to the end of the log, as far as they come; says which do not, and why. Left out where nobody keeps
   * them.
   */
  readonly catchUp?: () => Promise<readonly StoppedRows[]>
}

/** Who hears meanwhile, and what to compare with. */
export interface VerifyOptions {
  /** Hears how far it is. What it throws breaks nothing. */
  readonly onProgress?: (progress: VerifyProgress) => void
  /** Called with each stream once it was read; what it returns is waited for. */
  readonly onStream?: (head: StreamHead) => Promise<void>
  /** A manifest that was taken before: every stream has to be there, at least as long, and the same. */
  readonly against?: Pick<Manifest, 'header' | 'heads'>
}

export type Verify = (conversationId?: string, options?: VerifyOptions) => Promise<Verification>

/** How many events lie between two calls of `onProgress`. */
const PROGRESS_EVERY = 2_000
/** Problems that are told one by one. */
const MOST_PROBLEMS = 10_000

/** Builds the use case `verify(conversationId?)`. */
export function createVerify({ log, checkRequest, rowCheck, checkRowsApart, catchUp }: VerifyDependencies): Verify {
  return async (conversationId, { onProgress = () => undefined, onStream, against } = {}) => {
    // Whatever a proof remembers is its own: several may run at once.
    const seen = new SeenIds()
    const problems: Problem[] = []
    const observations: Problem[] = []
    const summaries: Requests = { recomputed: 0, notRecomputed: 0 }
    const prompts = createPromptTexts(log)
    /** Conversations whose facts, or whose editions' facts, have problems: then nothing can be said of their rows. */
    const distrusted = new Set<string>()
    // Whatever keeps the rows back is one problem among the others: the facts are proved without them.
    const stopped = (await catchUp?.()) ?? []
    /** What keeps the rows back: once something does, none of their differences is waited for. */
    const ofAll = (rows: readonly StoppedRows[]): readonly StoppedRows[] =>
      rows.filter((each) => each.conversationId === undefined)
    let keptBack = ofAll(stopped)
    const rowsOf = (everyConversation: boolean): RowCheck =>
      rowCheck(everyConversation, async () => {
        if (keptBack.length === 0) keptBack = ofAll((await catchUp?.()) ?? [])
      })
    const apart =
      checkRowsApart !== undefined && (await isMuch(log, conversationId))
        ? checkRowsApart(createCheckRows(log, rowsOf))
        : undefined
    const feed = apart === undefined ? new RowFeed(log, rowsOf(conversationId === undefined)) : undefined
    /** Facts and rows may be looked at beside each other: where one of the two fails, the other has no use any more. */
    const stop = new AbortController()
    const giveUp = (error: unknown): never => {
      stop.abort(error)
      throw error
    }
    let streams = 0
    let conversations = 0
    let eventCount = 0
    /** The event that stands furthest behind in the log, among those that were read. */
    let furthest = { stream: '', revision: -1n, position: -1n }

    /** Streams that the store counts other events of than are there, each with the last revision that it counts. */
    const miscounted = new Map<string, bigint>()
    /** Whether those are asked for at one go, in place of the count of each stream. */
    const countedAll = conversationId === undefined && log.store.miscountedStreams !== undefined

    const tell = (found: readonly Problem[]): void => {
      problems.push(...found.slice(0, Math.max(0, MOST_PROBLEMS - problems.length)))
    }
    const countEvent = (): void => {
      eventCount += 1
      if (eventCount % PROGRESS_EVERY !== 0) return
      onProgress({ conversations, events: eventCount })
      stop.signal.throwIfAborted()
    }
    async function ended(check: StreamCheck): Promise<void> {
      const last = countedAll
        ? (miscounted.get(check.stream) ?? check.count - 1n)
        : await log.store.streamRevision(check.stream)
      await check.end(last)
      if (conversationId === undefined && check.count === 0n && last < 0n)
        check.report(
          'order',
          'the log names this stream, and has no event of it any more: somebody deleted it, or cut off all that it had',
          -1n,
        )
      streams += 1
      if (check.position > furthest.position)
        furthest = { stream: check.stream, revision: check.count - 1n, position: check.position }
      tell(check.problems)
      observations.push(...check.observations.slice(0, Math.max(0, MOST_PROBLEMS - observations.length)))
      const id = conversationOf(check.stream) ?? editionOf(check.stream)?.conversationId
      if (id !== undefined && check.problems.length > 0) distrusted.add(id)
      if (onStream !== undefined && check.count > 0n)
        await onStream({ stream: check.stream, revision: check.count - 1n, hash: check.head })
    }

    /** An edition's facts under the laws of a conversation; its messages are proved where the conversation is. */
    function editionCheck(stream: string, check: StreamCheck): EditionCheck | undefined {
      const of = editionOf(stream)
      if (of === undefined) return undefined
      async function* conversationEvents(after: bigint, until: bigint): AsyncGenerator<RecordedEvent> {
        const range = { from: after + 1n, limit: Number(until - after) }
        for await (const stored of log.store.readStream(conversationStream(of?.conversationId ?? ''), range))
          yield await decodeEvent(stored, log.bodies)
      }
      return new EditionCheck(of, check, new RequestWatch(checkRequest, prompts, summaries), conversationEvents)
    }

    async function conversation(stream: string, storedEvents: AsyncIterable<StoredEvent>): Promise<void> {
      const id = conversationOf(stream) ?? ''
      const check = new StreamCheck(stream, id, log)
      const deep = new ConversationCheck(id, check, new RequestWatch(checkRequest, prompts, summaries), seen, log)
      await feed?.begin(id)
      for await (const stored of storedEvents) {
        const read = check.event(stored)
        const event: RecordedEvent | undefined = read instanceof Promise ? await read : read
        countEvent()
        // What stands upon a fact that cannot be trusted proves nothing; the chain goes on being looked at.
        if (event === undefined || !check.sound) continue
        const waiting = deep.take(event)
        if (waiting !== undefined) await waiting
        const comparing = feed?.take(event)
        if (comparing !== undefined) await comparing
      }
      if (check.sound) await deep.end()
      if (conversationId !== undefined && check.problems.length === 0) {
        const loaded = contextOf(await loadConversation(log, id, deep.folded.revision))
        if (!isDeepStrictEqual(loaded, contextOf(deep.folded)))
          check.report('load', 'a load gives another context than all facts do', deep.folded.revision)
      }
      await ended(check)
      await feed?.end(check.problems.length === 0)
      conversations += 1
      onProgress({ conversations, events: eventCount })
    }

    /** A stream beside the conversations: an edition, or a prompt, which has to say what its name says. */
    async function other(stream: string, storedEvents: AsyncIterable<StoredEvent>): Promise<void> {
      const check = new StreamCheck(stream, undefined, log)
      const edition = editionCheck(stream, check)
      for await (const stored of storedEvents) {
        const event = await check.event(stored)
        countEvent()
        if (event !== undefined && check.sound) await edition?.take(event)
        if (event === undefined || !stream.startsWith(PROMPT_PREFIX)) continue
        const problem =
          event.revision === 0n ? promptProblem(event) : 'stands in the stream of a prompt, which has one fact'
        if (problem !== undefined) check.report('prompt', problem, event.revision)
      }
      if (check.sound) edition?.end()
      await ended(check)
    }

    /**
     * The streams of a prefix. Those that no event names any more, and that the store still counts, come last: the end
     * of each says so.
     */
    async function withPrefix(
      prefix: string,
      each: (stream: string, stored: AsyncIterable<StoredEvent>) => Promise<void>,
    ): Promise<void> {
      const emptied: string[] = []
      for await (const { stream, counted, last } of log.store.miscountedStreams?.(prefix) ?? []) {
        if (miscounted.size > MOST_PROBLEMS) break
        miscounted.set(stream, counted)
        if (last < 0n) emptied.push(stream)
      }
      for await (const { stream, events: stored } of readAhead(log, prefix)) await each(stream, stored)
      for (const stream of emptied) await each(stream, log.store.readStream(stream))
    }

    /** The end of the log: nothing stands behind it, and the event that it is said to be is there. */
    async function logEnd(): Promise<void> {
      const head = await log.store.head()
      const { stream, revision, position } = furthest
      const found = (detail: string): void => {
        tell([{ stream, conversationId: conversationOf(stream), revision, rule: 'order', detail }])
      }
      if (position > head)
        found(`stands at position ${position.toString()}, and the store says that the log ends at ${head.toString()}`)
      else if (
        conversationId === undefined &&
        position >= 0n &&
        position < head &&
        (await log.store.eventAt(head)) === undefined
      )
        found(
          `is the last that is left of the log, at position ${position.toString()}, and the store says that the log ends at ${head.toString()}, where there is no event`,
        )
    }

    async function events(): Promise<void> {
      if (conversationId === undefined) {
        await withPrefix(CONVERSATION_PREFIX, conversation)
        for (const prefix of [EDITION_PREFIX, PROMPT_PREFIX]) await withPrefix(prefix, other)
      } else {
        const stream = conversationStream(conversationId)
        await conversation(stream, log.store.readStream(stream))
        const editions = new Set((await editionStreams(log)).get(conversationId))
        for await (const { stream: edition } of log.store.miscountedStreams?.(EDITION_PREFIX) ?? [])
          if (editionOf(edition)?.conversationId === conversationId) editions.add(edition)
        for (const edition of editions) await other(edition, log.store.readStream(edition))
      }
      await logEnd()
    }

    const [, rows] = await Promise.allSettled([
      events().catch(giveUp),
      apart?.(conversationId, stop.signal).catch(giveUp),
    ])
    stop.signal.throwIfAborted()
    const differences = (await feed?.finish()) ?? (rows.status === 'fulfilled' ? rows.value : undefined) ?? []
    // One that nobody asked of is not named.
    const asked = stopped.filter(
      (each) =>
        conversationId === undefined || each.conversationId === undefined || each.conversationId === conversationId,
    )
    for (const { readModel, at, detail } of asked)
      tell([
        {
          stream: at?.stream ?? readModel,
          conversationId: conversationOf(at?.stream ?? ''),
          revision: at?.revision ?? -1n,
          rule: 'rows',
          detail,
        },
      ])
    for (const { conversationId: id, revision, detail } of differences) {
      if (!distrusted.has(id))
        tell([{ stream: conversationStream(id), conversationId: id, revision, rule: 'rows', detail }])
    }
    const held =
      against === undefined
        ? undefined
        : await againstManifest(log, against, conversationId, (problem) => {
            tell([problem])
          })
    return {
      ok: problems.length === 0,
      streams,
      conversations,
      events: eventCount,
      summaries,
      problems,
      observations,
      ...(held === undefined ? {} : { against: held }),
    }
  }
}

/** Facts of a conversation's editions, then its own, behind those that were seen. */
export async function* eventsFrom(
  log: Log,
  conversationId: string,
  seen: (stream: string) => bigint,
): AsyncIterable<RecordedEvent> {
  for (const stream of streamsOf(conversationId, await editionStreams(log)).toReversed()) {
    for await (const stored of log.store.readStream(stream, { from: seen(stream) + 1n }))
      yield await decodeEvent(stored, log.bodies)
  }
}
