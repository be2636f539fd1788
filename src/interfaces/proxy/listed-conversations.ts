/**
 * Finds the conversation of a list that no header identifies. Its own conversation is asked first: the one that the list
 * continues message for message. A list that its program restarted has to prove it. In doubt a new conversation begins,
 * since a message in the wrong conversation withdraws messages of another client.
 */
import { LRUCache } from 'lru-cache'
import type { ProxyRequest } from '../../application/model-apis/api.js'
import type { ConversationCache } from './conversation-cache.js'
import { listedIdPrefix, type Caller, type RequestIdentity } from './identify-request.js'
import {
  commonPrefixLength,
  isDistinctive,
  isProvenContinuation,
  matchRequest,
  provenRestart,
  type Restart,
} from './match-request.js'
import type { ProgramQuestion } from './program-questions.js'
import { answeredLength, newTrackedConversation, type TrackedConversation } from './tracked-conversation.js'

/** The conversation of a request. */
export interface Place {
  /** Requests with the same key run one after the other. */
  readonly key: string
  readonly conversation: TrackedConversation
  /** The list restarts the conversation. */
  readonly restart?: Restart
  /** See `Fit`. */
  readonly commonLength?: number | undefined
}

/** Conversations with the same start that the ledger is searched for, by their number. */
const MAX_NUMBERED = 16
/** Further conversations with the same start, which are remembered in memory only. */
const MAX_REMEMBERED = 64
/** Starts of lists with remembered conversations. */
const MAX_STARTS = 10_000
/** Conversations in memory that a list may restart. */
const MAX_RECENT = 64

/** How a list fits a conversation with the same start, the best last. */
const FITS = ['replaces', 'edits', 'continues', 'repeats'] as const

interface Fit {
  /** The better the list fits, the greater. */
  readonly rank: number
  /**
   * Only for a list that has other messages instead of those without an answer: how many it has in common with the
   * conversation. They prove it if no other conversation has as many.
   */
  readonly commonLength?: number
}

/**
 * The messages of a conversation that are in the list of a question about it, or that the question quotes. The question
 * may come while a turn of the conversation is answered, with further messages.
 */
function questionedEntries(
  { entries }: TrackedConversation,
  { messages }: ProxyRequest,
  { isSummary }: ProgramQuestion,
  quoted: ReadonlySet<string>,
): TrackedConversation['entries'] {
  if (quoted.size > 0) return entries.filter(({ hash, textHash }) => quoted.has(textHash ?? hash))
  const length = commonPrefixLength({ entries }, messages)
  const isNextQuestion = length === messages.length - 1 || (!isSummary && messages[length]?.input.role === 'user')
  return isNextQuestion || length === entries.length ? entries.slice(0, length) : []
}

/** How a list fits a conversation. Undefined if it does not, or if another client may be using the conversation. */
function fitOf(conversation: TrackedConversation, request: ProxyRequest): Fit | undefined {
  const { entries, exchange, hasIncompleteAnswer } = conversation
  const { length } = request.messages
  // A client waits for its answer, so a request during another one is another client's.
  if (exchange?.state === 'open' || entries.length === 0) return undefined
  const isAnswered = exchange?.state === 'answered'
  const match = matchRequest(conversation, request, false)
  const isRepeated =
    match.kind === 'continues' ? length === entries.length : hasIncompleteAnswer && length + 1 === entries.length
  // A client that got its answer, which may not be recorded yet, has it in its next list.
  const hasAnswer = entries.at(-1)?.role === 'assistant' || request.messages[entries.length]?.input.role === 'assistant'
  const isOfOther = isAnswered && (isRepeated || !hasAnswer)
  const rankOf = (fit: (typeof FITS)[number], equalLength: number): number =>
    FITS.indexOf(fit) + 1 - 1 / (equalLength + 1)
  if (!isOfOther && match.kind === 'continues')
    return {
      rank: rankOf(match.edits.length > 0 ? 'edits' : isRepeated ? 'repeats' : 'continues', entries.length),
    }
  if (!isOfOther && match.kind === 'repeats' && isRepeated) return { rank: rankOf('repeats', entries.length) }
  if ((isAnswered && !hasIncompleteAnswer) || (match.kind !== 'rewinds' && match.kind !== 'repeats')) return undefined
  const commonLength = match.kind === 'rewinds' ? match.from : length
  // What the client asks next takes the place of an answer that it did not get whole.
  if (hasIncompleteAnswer && match.kind === 'rewinds' && commonLength === entries.length - 1)
    return { rank: rankOf('replaces', commonLength) }
  const answered = answeredLength(conversation)
  return answered > 0 && commonLength >= answered ? { rank: rankOf('replaces', commonLength), commonLength } : undefined
}

/** The key of a conversation: its id without the number that distinguishes conversations with the same start. */
const keyOf = (conversationId: string): string => conversationId.replace(/~[^~]*$/u, '')

/** Finds conversations by the lists of requests. */
export class ListedConversations {
  /** Ids of conversations without a number, by the id that the start of the list gives. */
  private readonly remembered = new LRUCache<string, readonly string[]>({ max: MAX_STARTS })

  /** @param complete completes the list of a request before it is compared with a conversation */
  constructor(
    private readonly conversations: ConversationCache,
    private readonly complete: (conversation: TrackedConversation, request: ProxyRequest) => ProxyRequest,
  ) {}

  /** The conversation that the list continues or repeats; of several, the one with the most equal messages. */
  async find(identity: RequestIdentity, request: ProxyRequest): Promise<Place | undefined> {
    // Upstream has the rest of the list, and its id is unknown here.
    if (request.upstreamHistory?.kind === 'response') return undefined
    let best: { readonly conversation: TrackedConversation; readonly fit: Fit } | undefined
    const all: TrackedConversation[] = []
    for await (const conversation of this.sameStart(identity)) {
      all.push(conversation)
      const fit = fitOf(conversation, this.complete(conversation, request))
      if (fit !== undefined && (best === undefined || fit.rank > best.fit.rank)) best = { conversation, fit }
    }
    if (best === undefined) return undefined
    const { conversation, fit } = best
    const located = { key: keyOf(conversation.conversationId), conversation, commonLength: fit.commonLength }
    return this.isOnly(located, all, request) ? located : undefined
  }

  /** Whether no other conversation has as many messages in common with the list, if that is what proves the place. */
  private isOnly(
    { conversation, commonLength }: Place,
    all: readonly TrackedConversation[],
    request: ProxyRequest,
  ): boolean {
    return (
      commonLength === undefined ||
      all.every((each) => {
        const { messages } = this.complete(each, request)
        return each === conversation || commonPrefixLength(each, messages) < commonLength
      })
    )
  }

  /**
   * The conversation that a program asks about. Its question may have other instructions than its turns; then the messages
   * must prove it, and only one conversation may have as many of them.
   */
  async findQuestioned(
    { caller, listedId }: RequestIdentity,
    request: ProxyRequest,
    question: ProgramQuestion,
    quoted: ReadonlySet<string>,
  ): Promise<Place | undefined> {
    const entriesOf = (conversation: TrackedConversation): TrackedConversation['entries'] =>
      questionedEntries(conversation, this.complete(conversation, request), question, quoted)
    let best: { readonly conversation: TrackedConversation; readonly fit: number } | undefined
    for await (const conversation of this.sameStart({ listedId, caller })) {
      const fit = entriesOf(conversation).length
      if (fit > (best?.fit ?? 0)) best = { conversation, fit }
    }
    const length = quoted.size > 0 ? quoted.size : request.messages.length - 1
    let candidates: TrackedConversation[] = []
    let longest = best?.fit ?? 0
    for (const conversation of this.recentOf(caller)) {
      const entries = entriesOf(conversation)
      if (entries.length < longest || conversation === best?.conversation) continue
      // A question about all of a short conversation proves it with fewer messages.
      const isAboutAll = entries.length === conversation.entries.length && entries.length === length
      if (!isDistinctive(entries, isAboutAll ? 2 : undefined)) continue
      if (!(await caller.mayUse(conversation.conversationId))) continue
      candidates = entries.length > longest ? [conversation] : [...candidates, conversation]
      longest = entries.length
    }
    const found =
      best !== undefined && best.fit === longest
        ? best.conversation
        : candidates.length === 1
          ? candidates[0]
          : undefined
    return found === undefined ? undefined : { key: keyOf(found.conversationId), conversation: found }
  }

  /**
   * The conversation that the list restarts, or continues with other instructions. Undefined if none proves it, or more
   * than one.
   */
  async findRestarted(identity: RequestIdentity, request: ProxyRequest): Promise<Place | undefined> {
    const { caller } = identity
    const places: Place[] = []
    for (const conversation of this.recentOf(caller)) {
      const located = this.restartedPlace(conversation, request)
      if (located !== undefined && (await caller.mayUse(conversation.conversationId))) places.push(located)
    }
    const [place] = places
    return place !== undefined && places.length === 1 && this.isOnly(place, this.recentOf(caller), request)
      ? place
      : undefined
  }

  /** The conversations in memory that no header identifies, most recently used first. The caller may not use each. */
  private recentOf({ keyId }: Caller): readonly TrackedConversation[] {
    const prefix = listedIdPrefix(keyId)
    return [...this.conversations.recent()]
      .slice(0, MAX_RECENT)
      .filter(({ conversationId }) => conversationId.startsWith(prefix))
  }

  /** The same place now, after other requests of its conversation. Undefined if the list no longer fits it. */
  async recheck(
    { key, conversation: { conversationId }, restart }: Place,
    request: ProxyRequest,
  ): Promise<Place | undefined> {
    const conversation = await this.conversations.get(conversationId)
    if (restart !== undefined) return this.restartedPlace(conversation, request)
    const fit = fitOf(conversation, this.complete(conversation, request))
    return fit === undefined ? undefined : { key, conversation }
  }

  /** A new conversation. */
  async begin({ listedId, caller }: RequestIdentity): Promise<Place> {
    for (const id of numberedIds(listedId)) {
      if (!(await caller.mayUse(id))) continue
      const conversation = await this.conversations.get(id)
      if (conversation.contextOwner === 'none') return { key: listedId, conversation }
    }
    const conversation = newTrackedConversation(`${listedId}~${crypto.randomUUID()}`)
    this.remember(listedId, conversation.conversationId)
    return { key: listedId, conversation }
  }

  /** Remembers a conversation by the start of a list, to find it by later lists with this start. */
  remember(listedId: string, conversationId: string): void {
    const otherIds = (this.remembered.get(listedId) ?? []).filter((id) => id !== conversationId)
    this.remembered.set(listedId, [conversationId, ...otherIds].slice(0, MAX_REMEMBERED))
  }

  private restartedPlace(conversation: TrackedConversation, request: ProxyRequest): Place | undefined {
    if (conversation.exchange?.state === 'open') return undefined
    const key = keyOf(conversation.conversationId)
    const completed = this.complete(conversation, request)
    const restart = provenRestart(conversation, completed)
    if (restart !== undefined) return { key, conversation, restart }
    const fit = isProvenContinuation(conversation, completed) ? fitOf(conversation, completed) : undefined
    return fit === undefined ? undefined : { key, conversation, commonLength: fit.commonLength }
  }

  /** The conversations with the same start that the caller may use. */
  private async *sameStart({
    listedId,
    caller,
  }: Pick<RequestIdentity, 'listedId' | 'caller'>): AsyncGenerator<TrackedConversation> {
    for (const id of numberedIds(listedId)) {
      if (!(await caller.mayUse(id))) continue
      const conversation = await this.conversations.get(id)
      if (conversation.contextOwner === 'none') break
      yield conversation
    }
    for (const id of this.remembered.get(listedId) ?? [])
      if (await caller.mayUse(id)) yield await this.conversations.get(id)
  }
}

const numberedIds = (listedId: string): string[] =>
  Array.from({ length: MAX_NUMBERED }, (_none, index) => (index === 0 ? listedId : `${listedId}~${String(index + 1)}`))
