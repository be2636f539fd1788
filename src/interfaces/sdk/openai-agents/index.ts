/** `context-ledger/openai-agents`: sessions of the OpenAI Agents SDK in a ledger. */
import { isLedgerError } from '../../../lib/ledger-error.js'
import type { AgentInputItem, OpenAIResponsesCompactionOwnershipAwareSession } from '@openai/agents'
import { z } from 'zod'
import type { ChatMessage, MessageInput } from '../../../domain/values/chat-message.js'
import { viewText } from '../../../domain/compaction/context.js'
import { SHAPE_RULES } from '../../../domain/values/context-shapes.js'
import { canonicalJson, sha256 } from '../../../domain/values/hash.js'
import { issueSentence } from '../../../domain/values/issue-sentence.js'
import { toChatMessage } from '../../../domain/values/message.js'
import type { Context, LiveMessages } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
import { checkConversationId, checkOptions, type RecordingOptions } from '../options.js'
import { compactingSession, type SessionCompaction } from './compaction.js'
import { asJson, toItems, toMessages } from './items.js'

export type { RecordingOptions as KeptIn, SessionCompaction }

/** Options of `ledgerSession`. */
export interface LedgerSessionOptions extends Pick<RecordingOptions, 'ledger'> {
  /** The id of the session and of its conversation in the ledger. */
  readonly sessionId: string
  /**
   * When a due compaction runs. `behind` (default): in the background, after items were added. `awaited`: at the end of
   * each run, which waits for it; for a process that exits after the run.
   */
  readonly compaction?: SessionCompaction
}

/** An atomic change of a session's items that is applied once. */
export interface HistoryTransaction {
  /** The same id in every retry. */
  readonly operationId: string
  /** The change. */
  readonly transaction:
    | { readonly type: 'append_items'; readonly items: readonly AgentInputItem[] }
    | {
        readonly type: 'replace_suffix'
        readonly expectedSuffix: readonly AgentInputItem[]
        readonly replacement: readonly AgentInputItem[]
      }
}

/** A session whose items are recorded in a ledger. */
export interface LedgerSession extends OpenAIResponsesCompactionOwnershipAwareSession {
  /** Changes items atomically and once: a repeated operation changes nothing. */
  applyHistoryTransaction(args: HistoryTransaction): Promise<void>
  /** Replaces the items by a compaction of the provider and the items that it kept. The log keeps the replaced items. */
  replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void>
}

const itemSchema = z.custom<AgentInputItem>(
  (item) => typeof item === 'object' && item !== null && !Array.isArray(item),
  {
    message: 'must be an item: an object',
  },
)
const transactionSchema = z.object({
  operationId: z.string().refine((id) => id.trim() !== '', 'is empty'),
  transaction: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('append_items'), items: z.array(itemSchema) }),
    z.strictObject({
      type: z.literal('replace_suffix'),
      expectedSuffix: z.array(itemSchema),
      replacement: z.array(itemSchema),
    }),
  ]),
})

const badInput = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

/** Attempts of a change if other writers record at the same time. */
const MAX_ATTEMPTS = 50
/** The attribute of a transaction's first message that has the hash of the transaction. */
const TRANSACTION_ATTRIBUTE = 'historyTransaction'

const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  canonicalJson(asJson(a)) === canonicalJson(asJson(b))

function checkItems(field: string, items: unknown): readonly AgentInputItem[] {
  const parsed = z.array(itemSchema).safeParse(items)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw badInput([field, ...(issue?.path ?? [])].join('.'), issueSentence(issue))
}

/**
 * The messages of a context, with the view as a user message if needed. The agent's instructions are not items and become
 * a system message: an API that accepts only one would reject a second one with the view.
 */
function withViewAsUser(context: Context): readonly ChatMessage[] {
  const { messages, messageIds, viewAt, shape } = context
  const view = viewText(context)
  const isStrict = shape !== undefined && SHAPE_RULES[shape].hasOneSystemMessage
  return view !== undefined && viewAt === 0 && messageIds[0] === undefined && isStrict
    ? [{ role: 'user', content: view }, ...messages.slice(1)]
    : messages
}

/** A live message and its items. */
interface MessageItems {
  readonly messageId: string
  readonly items: readonly AgentInputItem[]
}

const toMessageItems = (now: LiveMessages | undefined): MessageItems[] =>
  (now?.messages ?? []).map((message) => ({ messageId: message.messageId, items: toItems(toChatMessage(message)) }))

/** To remove the last `count` items: the messages to withdraw, and their other items to append again. */
function withoutLast(
  recorded: readonly MessageItems[],
  count: number,
): { withdraw: string[]; remaining: AgentInputItem[] } {
  const withdraw: string[] = []
  let removed: AgentInputItem[] = []
  for (const { messageId, items } of recorded.toReversed()) {
    if (removed.length >= count) break
    withdraw.push(messageId)
    removed = [...items, ...removed]
  }
  return { withdraw, remaining: removed.slice(0, removed.length - count) }
}

/** A transaction of the SDK, checked, with what identifies it in the log. */
interface CheckedTransaction {
  readonly operationId: string
  /** The hash of the operation id. */
  readonly operation: string
  /** The hash of the transaction. */
  readonly hash: string
  /** Id of the first message that it adds. */
  readonly firstId: string
  readonly expectedSuffix: readonly AgentInputItem[]
  readonly added: readonly AgentInputItem[]
}

function checkTransaction(args: HistoryTransaction): CheckedTransaction {
  const parsed = transactionSchema.safeParse(args)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw badInput(issue?.path.join('.') || 'transaction', issueSentence(issue))
  }
  const { operationId, transaction } = parsed.data
  const operation = sha256(operationId).slice(0, 32)
  const isAppend = transaction.type === 'append_items'
  return {
    operationId,
    operation,
    hash: sha256(canonicalJson(asJson(transaction))),
    firstId: `operation-${operation}`,
    expectedSuffix: isAppend ? [] : transaction.expectedSuffix,
    added: isAppend ? transaction.items : transaction.replacement,
  }
}

/** The recorded conversation of a session. */
class SessionLog {
  constructor(
    private readonly ledger: LedgerSessionOptions['ledger'],
    private readonly sessionId: string,
  ) {}

  /** The live messages in order; undefined if nothing was recorded. */
  async live(): Promise<LiveMessages | undefined> {
    try {
      return await this.ledger.messages(this.sessionId)
    } catch (error) {
      if (isLedgerError(error, 'NoSuchConversation')) return undefined
      throw error
    }
  }

  /** Runs a change on the live messages, and again if the conversation changed in the meantime. */
  async retryOnConflict<Done>(decide: (now: LiveMessages | undefined) => Promise<Done>): Promise<Done> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await decide(await this.live())
      } catch (error) {
        if (!isLedgerError(error, 'RevisionNotExpected') || attempt === MAX_ATTEMPTS) throw error
      }
    }
  }

  /** The hash of the transaction that was applied under an operation id; undefined if there is none. */
  private async appliedHash({ firstId, operation, added }: CheckedTransaction): Promise<string | undefined> {
    const { ledger, sessionId } = this
    try {
      const { revision } = await ledger.messages(sessionId, { at: `message:${firstId}` })
      for await (const event of ledger.log(sessionId, { from: revision, limit: 1 }))
        if (event.type === 'MessageAppended') return String(event.data.attributes?.[TRANSACTION_ATTRIBUTE])
    } catch (error) {
      if (!isLedgerError(error, 'NoSuchMessage', 'NoSuchConversation')) throw error
      if (error.kind === 'NoSuchConversation' || added.length > 0) return undefined
    }
    // A change without new messages is identified by the correlation id of its withdrawal in the log.
    for await (const { type, metadata } of ledger.log(sessionId, { direction: 'backwards' }))
      if (type === 'MessagesWithdrawn' && metadata.correlationId.startsWith(`${operation} `))
        return metadata.correlationId.slice(operation.length + 1)
    return undefined
  }

  async apply(args: HistoryTransaction): Promise<void> {
    const transaction = checkTransaction(args)
    await this.retryOnConflict(async (now) => {
      const applied = await this.appliedHash(transaction)
      if (applied === transaction.hash) return
      if (applied !== undefined)
        throw badInput(
          'operationId',
          `"${transaction.operationId}" was already applied with another transaction: use a new operationId`,
        )
      await this.record(transaction, now)
    })
  }

  private async record(transaction: CheckedTransaction, now: LiveMessages | undefined): Promise<void> {
    const { operation, hash, firstId, expectedSuffix: expected, added } = transaction
    const recorded = toMessageItems(now)
    const last = recorded.flatMap(({ items }) => items).slice(-expected.length || Infinity)
    if (expected.length > 0 && !sameItems(last, expected))
      throw badInput('expectedSuffix', 'does not match the last items of the session: nothing was changed')
    const { withdraw, remaining } = withoutLast(recorded, expected.length)
    const append = [...toMessages(remaining), ...toMessages(added)].map((message, at): MessageInput => ({
      ...message,
      id: at === 0 ? firstId : `${firstId}-${String(at)}`,
      ...(at === 0 ? { attributes: { [TRANSACTION_ATTRIBUTE]: hash } } : {}),
    }))
    if (withdraw.length === 0 && append.length === 0) return
    await this.ledger.amend(this.sessionId, {
      withdraw,
      append,
      expectedRevision: now?.revision ?? -1,
      correlationId: `${operation} ${hash}`,
    })
  }

  /** Removes the last item and returns it. */
  async pop(): Promise<AgentInputItem | undefined> {
    return await this.retryOnConflict(async (now) => {
      const recorded = toMessageItems(now)
      const last = recorded.at(-1)?.items.at(-1)
      if (last === undefined || now === undefined) return undefined
      const { withdraw, remaining } = withoutLast(recorded, 1)
      const append = toMessages(remaining)
      await this.ledger.amend(this.sessionId, { withdraw, append, expectedRevision: now.revision })
      return last
    })
  }

  /**
   * The context in the recorded order of the messages: the calls of an answer are adjacent, and their results follow. It
   * has no placeholders for missing results, since the SDK handles calls without a result itself.
   */
  async contextItems(now: LiveMessages | undefined): Promise<AgentInputItem[]> {
    if (now === undefined || now.messages.length === 0) return []
    const context = await this.ledger.context(this.sessionId)
    const { messageIds } = context
    const messages = withViewAsUser(context)
    const positions = new Map(now.messages.map(({ messageId }, at) => [messageId, at]))
    let position = -1
    const positioned = messages.flatMap((message, at) => {
      const id = messageIds[at]
      position = positions.get(id ?? '') ?? position
      return id === undefined && message.role === 'tool' ? [] : [{ message, position }]
    })
    const items = positioned.toSorted((a, b) => a.position - b.position).flatMap(({ message }) => toItems(message))
    // The only API that supports a provider compaction requires it as the first item.
    return messageIds[0] === undefined && items[1]?.type === 'compaction' ? items.slice(1) : items
  }
}

/**
 * A session for `run(agent, input, { session })`. It records added items and returns the ledger's context: the view of the
 * compacted messages, and then the live ones.
 */
export function ledgerSession(options: LedgerSessionOptions): LedgerSession {
  checkOptions('ledgerSession', options, ['ledger', 'sessionId', 'compaction'])
  const sessionId = checkConversationId(options.sessionId)
  const { ledger, compaction = 'behind' } = options
  if (compaction !== 'behind' && compaction !== 'awaited') throw badInput('compaction', 'must be "behind" or "awaited"')
  const log = new SessionLog(ledger, sessionId)

  return {
    ...compactingSession({
      ledger,
      sessionId,
      compaction,
      live: () => log.live(),
      itemsOf: (now) => log.contextItems(now),
      retryOnConflict: (decide) => log.retryOnConflict(decide),
      checkItems,
    }),
    getSessionId: () => Promise.resolve(sessionId),
    async getItems(limit) {
      if (limit !== undefined && (!Number.isInteger(limit) || limit < 0))
        throw badInput('limit', 'must be an integer, 0 or greater')
      if (limit === 0) return []
      const items = await log.contextItems(await log.live())
      return limit === undefined ? items : items.slice(-limit)
    },
    async addItems(items) {
      const messages = toMessages(checkItems('items', items))
      if (messages.length > 0) await ledger.append(sessionId, messages)
    },
    popItem: () => log.pop(),
    async clearSession() {
      if ((await log.live()) !== undefined) await ledger.amend(sessionId, { withdraw: 'all' })
    },
    applyHistoryTransaction: (args) => log.apply(args),
    async replaceHistoryWithCompaction(items) {
      const replacement = checkItems('items', items)
      const [first] = replacement
      if (first?.type !== 'compaction')
        throw badInput('items.0', 'must be the compaction item, followed by the other items')
      const sourceId = first.id ?? `compaction-${sha256(canonicalJson(asJson(replacement))).slice(0, 20)}`
      await ledger.amend(sessionId, {
        withdraw: 'all',
        append: toMessages(replacement),
        compaction: { program: 'openai-agents', sourceId },
      })
    },
  }
}
