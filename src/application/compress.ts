/**
 * `compress(history, conversationId)`: records what is new in a host's history, compacts where a limit asks for it, and hands back the
 * context. It never throws: whatever goes wrong, the host keeps the history that it gave.
 */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type NoContext } from '../domain/context.js'
import { liveMessage, type Conversation } from '../domain/conversation.js'
import { closingTypes } from '../domain/events.js'
import { hashOf } from '../domain/hash.js'
import { conversationStream } from '../domain/ids.js'
import { parseMessage, type BadMessage, type ChatMessage, type MessageInput, type NewMessage } from '../domain/message.js'
import { defaultEstimator, messageTokens } from '../domain/tokens.js'
import { alignHistory, expectRecorded, expectShown, type Aligned, type Expected } from './align-history.js'
import type { Compaction } from './compact.js'
import { compactedSince } from './compacted-since.js'
import { decodeFact, isOfType } from './facts.js'
import { loadConversation, type Log } from './load-conversation.js'

/** What `compress` hands back: the context, and what was compacted by this call. */
export interface Compressed<Message> {
  /** The context: the host's own objects where they stay, the view in front of them. */
  readonly history: (Message | ChatMessage)[]
  readonly batchesCreated: number
  readonly messagesCompressed: number
  readonly tokensEstimateBefore: number
  readonly tokensEstimateAfter: number
  /** What went wrong, where something did: of the same kinds as the library's failures. `history` is usable all the same. */
  readonly error?: CompressError
}

/** What went wrong, as data. */
export interface CompressError {
  readonly kind: string
  /** One sentence for people. */
  readonly message: string
  readonly [about: string]: unknown
}

export interface CompressDependencies {
  readonly log: Log
  readonly load: (conversationId: string) => Promise<Conversation>
  /** Gives the ids of the messages that it recorded, in order. */
  readonly append: (conversationId: string, messages: readonly NewMessage[]) => Promise<readonly string[]>
  /** Runs what is due and waits for it. */
  readonly compact: (conversationId: string) => Promise<Compaction>
  /** Hears of whatever went wrong. It never throws. */
  readonly onProblem: (problem: unknown) => void
  readonly describe: (problem: unknown) => CompressError
  /** The error that a refusal is thrown as. */
  readonly raise: (failure: BadMessage | NoContext) => Error
}

/** The fact that made this view: walks back over those that closed the books, by the hashes that they recorded. */
async function makerOfView(log: Log, state: Conversation, view: string): Promise<bigint | undefined> {
  const wanted = hashOf(view)
  let at = state.lastClosing
  while (at !== undefined) {
    const [stored] = await log.store.readRevisions(conversationStream(state.conversationId), [at])
    const fact = stored === undefined ? undefined : await decodeFact(stored, log.bodies)
    if (fact === undefined || !isOfType(fact, ...closingTypes)) return undefined
    if (fact.data.viewHash === wanted) return at
    at = fact.data.previous
  }
  return undefined
}

/** What the conversation showed right after the fact that made this view, and every message that was recorded since. */
async function shownSince({ log, raise }: CompressDependencies, state: Conversation, view: string): Promise<Expected[] | undefined> {
  const at = await makerOfView(log, state, view)
  if (at === undefined) return undefined
  const then = await loadConversation(log, state.conversationId, at)
  const expected = expectShown(then, contextNow(then, raise))
  for await (const stored of log.store.readStream(conversationStream(state.conversationId), { from: at + 1n })) {
    if (stored.type !== 'MessageAppended') continue
    const fact = await decodeFact(stored, log.bodies)
    if (isOfType(fact, 'MessageAppended')) expected.push(expectRecorded(liveMessage(fact)))
  }
  return expected
}

type Raise = CompressDependencies['raise']

function parseAll(history: readonly unknown[], raise: Raise): NewMessage[] {
  return history.map((input, at) => {
    const parsed = parseMessage(input)
    if (E.isLeft(parsed)) throw raise({ ...parsed.left, field: `history[${String(at)}].${parsed.left.field}` })
    return parsed.right
  })
}

const contextNow = (state: Conversation, raise: Raise): Context => {
  const context = contextOf(state)
  if (E.isLeft(context)) throw raise(context.left)
  return context.right
}

/** The context as the host's own objects, where it gave them. */
function asHostsOwn<Message extends MessageInput>(history: readonly Message[], aligned: readonly Aligned[], context: Context, usesIds: boolean): (Message | ChatMessage)[] {
  const own = new Map<string, Message[]>()
  for (const [at, message] of history.entries()) {
    const id = aligned[at]?.messageId
    if (id !== undefined) own.set(id, [...(own.get(id) ?? []), message])
  }
  const shortened = new Set(context.shortened?.map(({ id }) => id))
  return context.messages.map((message, at) => {
    const id = context.messageIds[at]
    if (id === undefined) return message
    const given = own.get(id)?.[0]
    return given !== undefined && !shortened.has(id) && given.role === message.role ? given : usesIds ? { id, ...message } : message
  })
}

/** A host's list as it gave it. We only read it; the host goes on with it, as what it hands to its model. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const hostsOwn = <Message>(history: readonly Message[]): Message[] => history as Message[]

/** Builds `compress`. */
export function createCompress(deps: CompressDependencies) {
  return async function compress<Message extends MessageInput>(history: readonly Message[], conversationId: string): Promise<Compressed<Message>> {
    let before = 0
    try {
      const parsed = parseAll(history, deps.raise)
      before = parsed.reduce((sum, message) => sum + messageTokens(message, defaultEstimator), 0)
      const start = await deps.load(conversationId)
      const aligned = await alignHistory(parsed, start, contextNow(start, deps.raise), (view) => shownSince(deps, start, view))
      const recorded = await deps.append(conversationId, aligned.filter((entry) => entry.isNew).map((entry) => entry.message))
      const done = await deps.compact(conversationId)
      if (done.failure !== undefined) deps.onProblem(done.failure)
      const happened = await compactedSince(deps.log, conversationId, start.revision)
      const failure = done.failure ?? happened.failure
      const state = await deps.load(conversationId)
      const context = contextNow(state, deps.raise)
      const named = nameNew(aligned, recorded)
      const unchanged = context.messages.length === history.length && context.messageIds.every((id, at) => named[at]?.messageId === id) && context.shortened === undefined
      return {
        history: unchanged ? hostsOwn(history) : asHostsOwn(history, named, context, history.some((message) => message.id !== undefined)),
        batchesCreated: happened.batchesCreated,
        messagesCompressed: happened.messagesCompressed,
        tokensEstimateBefore: before,
        tokensEstimateAfter: context.tokens,
        ...(failure === undefined ? {} : { error: deps.describe(failure) }),
      }
    } catch (problem) {
      deps.onProblem(problem)
      return { history: hostsOwn(history), batchesCreated: 0, messagesCompressed: 0, tokensEstimateBefore: before, tokensEstimateAfter: before, error: deps.describe(problem) }
    }
  }
}

/** New messages without an id, by the id that they got: the recorded ones that brought none, in their order. */
function nameNew(aligned: readonly Aligned[], recorded: readonly string[]): Aligned[] {
  const given = new Set(aligned.map((entry) => entry.messageId))
  const made = recorded.filter((id) => !given.has(id))
  let at = 0
  return aligned.map((entry) => {
    if (!entry.isNew || entry.messageId !== undefined) return entry
    const messageId = made[at]
    at += 1
    return { ...entry, messageId }
  })
}
