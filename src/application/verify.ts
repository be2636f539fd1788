/**
 * The proof that nothing was lost: every stream of the log is read once, in memory that does not grow with it. Of each the order, the hash chain, ids
 * and causes; of a conversation the laws that hold after every append, what each fact that closes the books carries, and where each summary came
 * from; and that the projected rows are what the facts make them.
 *
 * The list of streams comes by their names and not from the log itself, which would read everything twice; and stream by stream rather than in one
 * pass over the log, because that would need the state of every conversation at once.
 */
import { isDeepStrictEqual } from 'node:util'
import { contextOf } from '../domain/context.js'
import { CONVERSATION_PREFIX, conversationOf, conversationStream, EDITION_PREFIX, editionOf, PROMPT_PREFIX } from '../domain/ids.js'
import type { RecordedFact } from '../domain/events.js'
import type { Manifest, StreamHead } from '../ports/manifest.js'
import type { StoredEvent } from '../ports/event-store.js'
import type { CheckRequest } from '../ports/request-check.js'
import type { RowCheck, RowDifference } from '../ports/row-check.js'
import { againstManifest } from './against-manifest.js'
import { ConversationCheck } from './check-conversation.js'
import { EditionCheck } from './check-edition.js'
import { createPromptTexts, promptProblem, RequestWatch, type Requests } from './check-requests.js'
import { StreamCheck, type Problem } from './check-stream.js'
import { editionStreams, streamsOf, type EditionStreams } from './conversation-streams.js'
import { decodeFact } from './facts.js'
import { loadConversation, type Log } from './load-conversation.js'
import { SeenIds } from './seen-ids.js'

export type { Problem } from './check-stream.js'

export interface Verification {
  readonly ok: boolean
  /** Streams that were read, and how many of them are conversations. */
  readonly streams: number
  readonly conversations: number
  readonly events: number
  /** Summaries whose request was made again and compared by its hash, and those whose request this program cannot make again. */
  readonly summaries: Readonly<Requests>
  readonly problems: readonly Problem[]
}

export interface VerifyProgress {
  readonly conversations: number
  readonly events: number
}

export interface VerifyDependencies {
  readonly log: Log
  readonly checkRequest: CheckRequest
  /** Compares rows; for one conversation, or for every one of the log. */
  readonly rowCheck: (everyConversation: boolean) => RowCheck
}

export interface VerifyOptions {
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

interface Opened {
  readonly stream: string
  readonly events: AsyncIterable<StoredEvent>
}

/** A stream whose first events are asked for before anybody wants them. */
function opened(log: Log, stream: string): Opened {
  const events = log.store.readStream(stream)[Symbol.asyncIterator]()
  const first = events.next()
  // Whoever reads hears of a failure; until then it is nobody's.
  first.catch(() => undefined)
  async function* all(): AsyncGenerator<StoredEvent> {
    try {
      for (let next = await first; next.done !== true; next = await events.next()) yield next.value
    } finally {
      await events.return?.()
    }
  }
  return { stream, events: all() }
}

/** The streams of a prefix, each opened while the one before it is worked on: of many short ones the waiting would take longer than the work. */
async function* readAhead(log: Log, prefix: string): AsyncGenerator<Opened> {
  let before: Opened | undefined
  for await (const stream of log.store.streams(prefix)) {
    const next = opened(log, stream)
    if (before !== undefined) yield before
    before = next
  }
  if (before !== undefined) yield before
}

/** Builds the use case `verify(conversationId?)`. */
export function createVerify({ log, checkRequest, rowCheck }: VerifyDependencies): Verify {
  const seen = new SeenIds()

  return async (conversationId, { onProgress = () => undefined, onStream, against } = {}) => {
    const problems: Problem[] = []
    const summaries: Requests = { recomputed: 0, notRecomputed: 0 }
    const prompts = createPromptTexts(log)
    const rows = rowCheck(conversationId === undefined)
    const editions: EditionStreams = await editionStreams(log)
    let streams = 0
    let conversations = 0
    let events = 0

    const tell = (found: readonly Problem[]): void => {
      problems.push(...found.slice(0, Math.max(0, MOST_PROBLEMS - problems.length)))
    }
    const tellRows = (found: readonly RowDifference[]): void => {
      tell(found.map(({ conversationId: id, revision, detail }): Problem => ({ stream: conversationStream(id), conversationId: id, revision, rule: 'rows', detail })))
    }
    const counted = (): void => {
      events += 1
      if (events % PROGRESS_EVERY === 0) onProgress({ conversations, events })
    }
    async function ended(check: StreamCheck): Promise<void> {
      await check.end()
      streams += 1
      tell(check.problems)
      if (onStream !== undefined && check.count > 0n) await onStream({ stream: check.stream, revision: check.count - 1n, hash: check.head })
    }

    /** An edition's facts under the laws of a conversation; its messages are proved where the conversation is. */
    function editionCheck(stream: string, check: StreamCheck): EditionCheck | undefined {
      const of = editionOf(stream)
      if (of === undefined) return undefined
      async function* conversationFacts(after: bigint, until: bigint): AsyncGenerator<RecordedFact> {
        const range = { from: after + 1n, limit: Number(until - after) }
        for await (const stored of log.store.readStream(conversationStream(of?.conversationId ?? ''), range)) yield await decodeFact(stored, log.bodies)
      }
      return new EditionCheck(of, check, new RequestWatch(checkRequest, prompts, summaries), conversationFacts)
    }

    /** The rows of a conversation are made of its editions' facts too; false where these cannot be trusted, as they say where they are looked at themselves. */
    async function takeEditions(id: string): Promise<boolean> {
      let trusted = true
      for (const stream of editions.get(id) ?? []) {
        const check = new StreamCheck(stream, undefined, log)
        const deep = conversationId === undefined ? undefined : editionCheck(stream, check)
        for await (const event of log.store.readStream(stream)) {
          const fact = await check.fact(event)
          if (fact === undefined || !check.sound) continue
          await deep?.take(fact)
          if (rows.take(fact)) tellRows(await rows.compare())
        }
        if (check.sound) deep?.end()
        await check.end()
        trusted &&= check.problems.length === 0
        if (conversationId !== undefined) tell(check.problems)
      }
      return trusted
    }

    async function conversation(id: string, stream: string, stored: AsyncIterable<StoredEvent>): Promise<void> {
      const check = new StreamCheck(stream, id, log)
      const deep = new ConversationCheck(id, check, new RequestWatch(checkRequest, prompts, summaries), seen, log)
      rows.begin(id)
      const trusted = await takeEditions(id)
      for await (const event of stored) {
        const read = check.fact(event)
        const fact: RecordedFact | undefined = read instanceof Promise ? await read : read
        counted()
        // What stands upon a fact that cannot be trusted proves nothing; the chain goes on being looked at.
        if (fact === undefined || !check.sound) continue
        const waiting = deep.take(fact)
        if (waiting !== undefined) await waiting
        if (rows.take(fact)) tellRows(await rows.compare())
      }
      if (check.sound) await deep.end()
      if (conversationId !== undefined && check.problems.length === 0) {
        const loaded = contextOf(await loadConversation(log, id, deep.folded.revision))
        if (!isDeepStrictEqual(loaded, contextOf(deep.folded))) check.report('load', 'a load gives another context than all facts do', deep.folded.revision)
      }
      await ended(check)
      conversations += 1
      if (rows.end(trusted && check.problems.length === 0)) tellRows(await rows.compare())
      onProgress({ conversations, events })
    }

    /** A stream beside the conversations: an edition, or a prompt, which has to say what its name says. */
    async function other(stream: string): Promise<void> {
      const check = new StreamCheck(stream, undefined, log)
      const edition = editionCheck(stream, check)
      for await (const stored of log.store.readStream(stream)) {
        const fact = await check.fact(stored)
        counted()
        if (fact !== undefined && check.sound) await edition?.take(fact)
        if (fact === undefined || !stream.startsWith(PROMPT_PREFIX)) continue
        const problem = fact.revision === 0n ? promptProblem(fact) : 'stands in the stream of a prompt, which has one fact'
        if (problem !== undefined) check.report('prompt', problem, fact.revision)
      }
      if (check.sound) edition?.end()
      await ended(check)
    }

    if (conversationId !== undefined) await conversation(conversationId, conversationStream(conversationId), log.store.readStream(conversationStream(conversationId)))
    else {
      for await (const { stream, events: stored } of readAhead(log, CONVERSATION_PREFIX)) await conversation(conversationOf(stream) ?? '', stream, stored)
      for (const prefix of [EDITION_PREFIX, PROMPT_PREFIX]) for await (const stream of log.store.streams(prefix)) await other(stream)
    }
    tellRows(await rows.finish())
    if (against !== undefined) for await (const problem of againstManifest(log, against, conversationId === undefined ? undefined : conversationStream(conversationId))) tell([problem])
    return { ok: problems.length === 0, streams, conversations, events, summaries, problems }
  }
}

/** Facts of a conversation's editions, then its own, behind those that were seen. */
export async function* factsFrom(log: Log, conversationId: string, seen: (stream: string) => bigint): AsyncIterable<RecordedFact> {
  for (const stream of streamsOf(conversationId, await editionStreams(log)).toReversed()) {
    for await (const stored of log.store.readStream(stream, { from: seen(stream) + 1n })) yield await decodeFact(stored, log.bodies)
  }
}

/** Every conversation that the log has, in the order of their ids' bytes. */
export async function* conversationsOfLog(log: Log): AsyncIterable<string> {
  for await (const stream of log.store.streams(CONVERSATION_PREFIX)) yield conversationOf(stream) ?? ''
}
