/**
 * Records requests and answers. The recorder compares each request with what is recorded of its conversation, records
 * what is new, and records the answer after it. The requests of one conversation run one after the other.
 */
import { LRUCache } from 'lru-cache'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import { problem } from '../../library/problem.js'
import type { Context, Ledger, MessageInput } from '../../library/ledger.js'
import { createTurns, type Turns } from '../../lib/turns.js'
import {
  asRecorded,
  compactionMessage,
  contentText,
  sourceMessage,
  type Answer,
  type Api,
  type OutgoingMessage,
  type ProxyRequest,
  type Redact,
} from '../../application/model-apis/api.js'
import { withClearedMessages } from './cleared-messages.js'
import { asSourceMessage, fromProviderCompaction, withOmittedTail, withUpstreamHistory } from './complete-request.js'
import { createConversationCache, type ConversationCache } from './conversation-cache.js'
import { identifyRequest, type Caller, type RequestIdentity } from './identify-request.js'
import type { Fields } from '../../application/model-apis/json.js'
import { LedgerWriter } from './ledger-writer.js'
import { ListedConversations, type Place } from './listed-conversations.js'
import { isTaggedSummary, matchRequest, summaryQuestionIndex } from './match-request.js'
import { backgroundContext, OBSERVED_CONVERSATION, outgoingContext } from './outgoing-context.js'
import { isToollessQuestion, quotedHashes, type ProgramQuestion } from './program-questions.js'
import { recordObserved } from './record-observed.js'
import { OwnedRecorder } from './record-owned.js'
import { answerInput, type AnswerEnding } from './recorded-input.js'
import {
  asksForSummary,
  entryOf,
  hashTools,
  messageIdAfter,
  nextBranchSeed,
  recordedIds,
  rememberAnswerText,
  type Entry,
  type Exchange,
  type TrackedConversation,
} from './tracked-conversation.js'

export type { AnswerEnding } from './recorded-input.js'

/** An answer, or why it cannot be read. */
type ReceivedAnswer = Answer | { readonly unreadable: string }

/** How the recorder handled a request. */
export interface RequestRecord {
  readonly outcome: 'recorded' | 'side-request' | 'bypassed'
  readonly conversationId: string | undefined
  /** The messages that go upstream instead of the client's list; undefined if the list goes unchanged. */
  readonly outgoing: readonly OutgoingMessage[] | undefined
  /** Why the ledger could not replace the list. */
  readonly cannotShorten: string | undefined
  /** The client's program owns the context, and has compacted it before this request. */
  readonly isAfterCompaction?: true
  /**
   * Records the answer before any later request of the same conversation. Never throws: resolves to false if the answer
   * could not be recorded.
   */
  recordAnswer(answer: Promise<ReceivedAnswer | undefined>, ending: AnswerEnding, more?: Fields): Promise<boolean>
}

export interface RecorderOptions {
  readonly ledger: Ledger
  readonly mode: 'observe' | 'compact'
  /** Settings that the user fixed. They take precedence over those computed from the requests. */
  readonly policy?: PolicySettings | undefined
  readonly scope?: string | undefined
  /** Called with errors of the ledger. */
  readonly onProblem: (problem: unknown) => void
}

/** Upstream's response ids that are remembered. */
const MAX_RESPONSES = 50_000

/** The record of a request that is not recorded. */
export const BYPASSED: RequestRecord = {
  outcome: 'bypassed',
  conversationId: undefined,
  outgoing: undefined,
  cannotShorten: undefined,
  recordAnswer: () => Promise.resolve(false),
}

/** A response that upstream stores. */
interface StoredResponse {
  readonly conversationId: string
  /** The key of its conversation (`Place`). */
  readonly key: string
  /** Messages of the conversation up to and including the response. */
  readonly length: number
}

/** The start of a request that may ask for a summary. */
interface SummaryRequest {
  /** Index of its question in the conversation. */
  readonly from: number
  /** The final answer before it. */
  readonly finalAnswerId: string | undefined
}

/** Where an answer belongs. */
interface AnswerPosition {
  readonly conversation: TrackedConversation
  readonly key: string
  readonly identity: RequestIdentity
  /** Messages of the list; the answer follows them. */
  readonly length: number
  /** The last of them, as it is recorded. */
  readonly last: Entry | undefined
  readonly context: Context | undefined
  readonly summary: SummaryRequest | undefined
  /** The last message of the user asks for a summary of the conversation. */
  readonly asksForSummary: boolean
}

/** A request that is to be recorded. */
interface IncomingRequest {
  readonly api: Api
  readonly request: ProxyRequest
  readonly identity: RequestIdentity
  /** The stored response that it continues. */
  readonly response: StoredResponse | undefined
  readonly exchange: Exchange
}

export class Recorder {
  private readonly ledger: Ledger
  private readonly mode: 'observe' | 'compact'
  private readonly onProblem: (problem: unknown) => void
  private readonly conversations: ConversationCache
  private readonly writer: LedgerWriter
  private readonly redactor: () => Promise<Redact>
  private readonly owned: OwnedRecorder
  private readonly turns: Turns = createTurns()
  private readonly listed: ListedConversations
  private readonly responses = new LRUCache<string, StoredResponse>({ max: MAX_RESPONSES })

  constructor(options: RecorderOptions) {
    this.ledger = options.ledger
    this.mode = options.mode
    this.onProblem = options.onProblem
    this.redactor = () => options.ledger.admin.secrets.redactor(options.policy)
    this.conversations = createConversationCache(options.ledger, this.redactor)
    this.listed = new ListedConversations(this.conversations, (conversation, request) =>
      this.withRecordedContents(conversation, fromProviderCompaction(conversation, request)),
    )
    this.writer = new LedgerWriter(options)
    this.owned = new OwnedRecorder(this.writer, this.conversations, options.onProblem)
  }

  /**
   * Records what is new in a request, in a conversation that the caller may use. Never throws: after an error it calls
   * `onProblem` and returns `BYPASSED`.
   */
  async record(
    api: Api,
    received: ProxyRequest,
    headers: Headers,
    caller: Caller,
    exchange: Exchange,
  ): Promise<RequestRecord> {
    try {
      const redact = await this.redactor()
      const request = {
        ...received,
        instructions: received.instructions.map((message) => asRecorded(message, redact)),
        messages: received.messages.map((message) => asRecorded(message, redact)),
      }
      const identity = identifyRequest(api, request, headers, caller)
      const response = await this.storedResponse(identity, request)
      const incoming = { api, request, identity, response, exchange }
      const conversationId = response?.conversationId ?? identity.conversationId
      if (conversationId === undefined) return await this.recordListed(incoming)
      const key = response?.key ?? conversationId
      return await this.turns.runInOrder(key, async () => {
        const conversation = await this.conversations.get(conversationId)
        return await this.recordInTurn(incoming, { key, conversation })
      })
    } catch (error) {
      this.onProblem(error)
      return BYPASSED
    }
  }

  /** Records a question that a program asks about a conversation, without a header that identifies it. */
  private async recordQuestion(incoming: IncomingRequest, question: ProgramQuestion): Promise<RequestRecord> {
    const { identity, request } = incoming
    const quoted = quotedHashes(request, await this.redactor())
    const located = await this.listed.findQuestioned(identity, request, question, quoted)
    return await this.turns.runInOrder(located?.key ?? identity.listedId, async () => {
      if (located === undefined) return await this.recordInTurn(incoming, await this.listed.begin(identity))
      const conversation = await this.conversations.get(located.conversation.conversationId)
      return await this.recordInTurn(incoming, { ...located, conversation })
    })
  }

  /** Records a request without a header that identifies its conversation. */
  private async recordListed(incoming: IncomingRequest): Promise<RequestRecord> {
    const { identity, request } = incoming
    if (identity.question !== undefined) return await this.recordQuestion(incoming, identity.question)
    const { listedId } = identity
    const recordIn = async (place: Place): Promise<RequestRecord> => await this.recordInTurn(incoming, place)
    const continued = await this.turns.runInOrder(listedId, async () => {
      const located = await this.listed.find(identity, request)
      return located !== undefined && located.key === listedId ? await recordIn(located) : located
    })
    if (continued !== undefined && 'outcome' in continued) return continued
    const restarted = continued ?? (await this.listed.findRestarted(identity, request))
    const record =
      restarted === undefined
        ? undefined
        : await this.turns.runInOrder(restarted.key, async () => {
            const located = await this.listed.recheck(restarted, request)
            if (located === undefined) return undefined
            this.listed.remember(listedId, located.conversation.conversationId)
            return await recordIn(located)
          })
    if (record !== undefined) return record
    return await this.turns.runInOrder(listedId, async () => {
      const located = await this.listed.find(identity, request)
      return await recordIn(
        located !== undefined && located.key === listedId ? located : await this.listed.begin(identity),
      )
    })
  }

  private async recordInTurn(
    { api, request: received, identity, response, exchange }: IncomingRequest,
    { key, conversation: found, restart }: Place,
  ): Promise<RequestRecord> {
    let conversation = found
    await this.authorize(conversation, identity)
    const sent = this.withRecordedContents(conversation, fromProviderCompaction(conversation, received))
    const completed = identity.isCodingAgent ? withOmittedTail(conversation, sent) : sent
    const request = withUpstreamHistory(conversation, completed, response?.length)
    const { question: asked, isCodingAgent, program } = identity
    const isBackground = asked !== undefined || (isCodingAgent && isToollessQuestion(program, conversation, request))
    const match = isBackground
      ? ({ kind: 'side-request' } as const)
      : (restart ?? matchRequest(conversation, request, identity.isCodingAgent))
    const question = identity.isCodingAgent ? summaryQuestionIndex(conversation, sent, request, match) : undefined
    const summary = question === undefined ? undefined : { from: question, finalAnswerId: conversation.finalAnswerId }
    const length = request.messages.length
    const position = (context?: Context): AnswerPosition => {
      const last = conversation.entries[length - 1]
      const text = contentText(request.messages.findLast(({ input }) => input.role === 'user')?.input.content)
      const isSummary = asked?.isSummary === true || asksForSummary(text)
      return { conversation, key, identity, length, last, context, summary, asksForSummary: isSummary }
    }
    try {
      if (isBackground && asked?.isSummary !== false)
        conversation = await this.recordBeforeQuestion(conversation, request, identity)
      if (match.kind === 'side-request') {
        const outgoing =
          isBackground && this.mode === 'compact'
            ? await backgroundContext(this.ledger, api, conversation, request)
            : undefined
        return this.requestRecord(position(), 'side-request', outgoing)
      }
      if (this.mode === 'observe' || conversation.contextOwner === 'program') {
        await recordObserved(this.writer, conversation, request, match, identity)
        this.rememberRequest(conversation, request, exchange)
        const reason = this.mode === 'observe' ? undefined : OBSERVED_CONVERSATION
        const record = this.requestRecord(position(), 'recorded', undefined, reason)
        return match.kind === 'restarts' ? { ...record, isAfterCompaction: true } : record
      }
      conversation = await this.owned.record(conversation, request, match, identity)
      this.rememberRequest(conversation, request, exchange)
      if (request.upstreamHistory !== undefined)
        return this.requestRecord(position(), 'recorded', undefined, 'upstream holds the history')
      const result = await outgoingContext(this.ledger, api, conversation, request)
      return typeof result === 'string'
        ? this.requestRecord(position(), 'recorded', undefined, result)
        : this.requestRecord(position(result.context), 'recorded', result.outgoing)
    } catch (error) {
      this.conversations.forget(conversation.conversationId)
      throw error
    }
  }

  /**
   * The stored response that the request continues. Undefined if its id is unknown, or if its conversation is not the one
   * that the client named, or one that the caller may not use. The request is then sent unchanged and recorded in the
   * caller's own conversation.
   */
  private async storedResponse(
    { isNamed, conversationId, caller }: RequestIdentity,
    { upstreamHistory }: ProxyRequest,
  ): Promise<StoredResponse | undefined> {
    const response = upstreamHistory === undefined ? undefined : this.responses.get(upstreamHistory.id)
    if (response === undefined || (isNamed && response.conversationId !== conversationId)) return undefined
    return (await caller.mayUse(response.conversationId)) ? response : undefined
  }

  /**
   * Throws if the caller may not use a conversation. Called after the conversation was read: another caller may have
   * started it after the request was accepted.
   */
  private async authorize({ conversationId }: TrackedConversation, { caller }: RequestIdentity): Promise<void> {
    if (!(await caller.mayUse(conversationId))) throw problem({ kind: 'NoSuchConversation', conversationId })
  }

  /**
   * The request with the recorded contents of cleared messages. If the client's program owns the context, a cleared
   * result is an edit of that context and is recorded as one.
   */
  private withRecordedContents(conversation: TrackedConversation, request: ProxyRequest): ProxyRequest {
    const isOwned = this.mode === 'compact' && conversation.contextOwner === 'ledger'
    return isOwned ? withClearedMessages(conversation, request) : request
  }

  /** Records the new messages of a background request, such as a tool result, without its question. */
  private async recordBeforeQuestion(
    conversation: TrackedConversation,
    request: ProxyRequest,
    identity: RequestIdentity,
  ): Promise<TrackedConversation> {
    const messages = request.messages.slice(0, -1)
    const withoutQuestion: ProxyRequest = { ...request, instructions: [], messages, tools: [] }
    const match = matchRequest(conversation, withoutQuestion, identity.isCodingAgent)
    if (conversation.contextOwner === 'none' || match.kind !== 'continues' || match.from === messages.length)
      return conversation
    const history = { ...withoutQuestion, instructions: conversation.instructions.map(asSourceMessage) }
    if (conversation.contextOwner === 'ledger') return await this.owned.record(conversation, history, match, identity)
    await recordObserved(this.writer, conversation, history, match, identity)
    // No turn has sent these messages yet.
    conversation.exchange = undefined
    this.conversations.keep(conversation)
    return conversation
  }

  private rememberRequest(conversation: TrackedConversation, { tools }: ProxyRequest, exchange: Exchange): void {
    conversation.exchange = exchange
    conversation.hasIncompleteAnswer = false
    const offeredTools = hashTools(tools)
    if (offeredTools !== '') conversation.toolsHash = offeredTools
    this.conversations.keep(conversation)
  }

  private requestRecord(
    position: AnswerPosition,
    outcome: RequestRecord['outcome'],
    outgoing: readonly OutgoingMessage[] | undefined,
    cannotShorten?: string,
  ): RequestRecord {
    const { conversation, key } = position
    return {
      outcome,
      conversationId: conversation.conversationId,
      outgoing,
      cannotShorten,
      recordAnswer: async (pending, ending, more = {}) => {
        try {
          await this.turns.runInOrder(key, async () => {
            const answer = await pending
            if (answer === undefined) return
            if ('unreadable' in answer) await this.noteUnreadable(position, answer.unreadable)
            else if (outcome === 'recorded') await this.recordAnswer(position, answer, ending, more)
            else rememberAnswer(conversation, answer, position.asksForSummary)
          })
          return true
        } catch (error) {
          this.conversations.forget(conversation.conversationId)
          this.onProblem(error)
          return false
        }
      },
    }
  }

  /** Records an answer after its request. An earlier answer at the same position is withdrawn. */
  private async recordAnswer(
    position: AnswerPosition,
    answer: Answer,
    ending: AnswerEnding,
    more: Fields,
  ): Promise<void> {
    const { length, last, identity, context, asksForSummary: isSummary } = position
    const conversation = await this.conversations.get(position.conversation.conversationId)
    const { entries } = conversation
    for (const element of answer.compactions ?? [])
      conversation.providerCompactions.add(asRecorded(compactionMessage(element), await this.redactor()).hash)
    const input = answerInput(answer, ending, context, more)
    if (input === undefined || entries.length < length) {
      rememberAnswer(conversation, answer, isSummary)
      return
    }
    const message = asRecorded(sourceMessage(input, []), await this.redactor())
    const later = entries.slice(length)
    const question = entries[length - 1]
    const hasQuestion = last?.id === undefined ? question?.hash === last?.hash : question?.id === last.id
    const isRecorded = hasQuestion && later[0]?.hash === message.hash
    // The conversation continued without this answer, or its question was withdrawn.
    const isLate =
      !hasQuestion ||
      later.some(({ role }) => role !== 'assistant') ||
      (later.length > 0 && conversation.contextOwner !== 'program')
    if (isRecorded || isLate) {
      rememberAnswer(conversation, answer, isSummary, isRecorded ? later[0]?.id : undefined)
      return
    }
    if (later.length > 0) conversation.branchSeed = nextBranchSeed(conversation, 'rewind')
    const id = messageIdAfter(conversation, question?.id ?? question?.hash, message.hash)
    rememberAnswer(conversation, answer, isSummary, id)
    await this.appendAnswer(conversation, { ...input, id }, recordedIds(later), identity)
    conversation.entries = [...conversation.entries.slice(0, length), entryOf(message, id)]
    conversation.hasIncompleteAnswer = !answer.isComplete
    conversation.finalAnswerId = answer.isComplete && (input.tool_calls ?? []).length === 0 ? id : undefined
    if (position.summary !== undefined && conversation.finalAnswerId !== undefined && isTaggedSummary(input.content))
      await this.withdrawSummaryTurn(conversation, position.summary, identity)
    this.conversations.keep(conversation)
    if (answer.responseId !== undefined)
      this.responses.set(answer.responseId, {
        key: position.key,
        conversationId: conversation.conversationId,
        length: conversation.entries.length,
      })
  }

  /** Records that an answer cannot be read. The log then has the reason for its absence. */
  private async noteUnreadable({ conversation, last, identity }: AnswerPosition, reason: string): Promise<void> {
    if (conversation.contextOwner === 'none') return
    const path = last?.id === undefined ? undefined : `answer to ${last.id}`
    const unreadable = { detail: `an answer cannot be read: ${reason}`, ...(path === undefined ? {} : { path }) }
    await this.writer.observe(conversation, { unreadable }, identity)
  }

  private async appendAnswer(
    conversation: TrackedConversation,
    input: MessageInput,
    withdrawn: readonly string[],
    identity: RequestIdentity,
  ): Promise<void> {
    if (conversation.contextOwner === 'program')
      await this.writer.observe(conversation, { withdrawn, messages: [input] }, identity)
    else await this.writer.append(conversation.conversationId, input, identity)
  }

  /**
   * Withdraws a program's question for a summary and the answer to it, since they are not turns. The log keeps both, so
   * that the summary is recognized in a later list. If they were turns after all, the next list contains them and they
   * are recorded again.
   */
  private async withdrawSummaryTurn(
    conversation: TrackedConversation,
    { from, finalAnswerId }: SummaryRequest,
    identity: RequestIdentity,
  ): Promise<void> {
    const withdrawn = recordedIds(conversation.entries.slice(from))
    if (conversation.contextOwner === 'program') await this.writer.observe(conversation, { withdrawn }, identity)
    else await this.writer.amend(conversation.conversationId, { withdraw: withdrawn }, identity)
    conversation.branchSeed = nextBranchSeed(conversation, 'rewind')
    conversation.entries = conversation.entries.slice(0, from)
    conversation.finalAnswerId = finalAnswerId
  }
}

const rememberAnswer = (
  conversation: TrackedConversation,
  { message }: Answer,
  isSummary: boolean,
  id?: string,
): void => {
  rememberAnswerText(conversation, contentText(message?.content), id, isSummary)
}
