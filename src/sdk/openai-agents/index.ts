/** `context-ledger/openai-agents`: sessions of the OpenAI Agents SDK in a ledger. */
import type { AgentInputItem, OpenAIResponsesCompactionOwnershipAwareSession } from '@openai/agents'
import { z } from 'zod'
import type { MessageInput } from '../../domain/values/chat-message.js'
import { canonicalJson, sha256 } from '../../domain/values/hash.js'
import { issueSentence } from '../../domain/values/issue-sentence.js'
import { toChatMessage } from '../../domain/values/message.js'
import type { LiveMessages } from '../../library/ledger.js'
import { LedgerError, problem } from '../../library/problem.js'
import { conversationIdOf, keptIn, type KeptIn } from '../given.js'
import { compactingSession, type SessionCompaction } from './compaction.js'
import { asJson, toItems, toMessages } from './items.js'

export type { KeptIn, SessionCompaction }

/** How a session is kept. */
export interface LedgerSessionOptions extends Pick<KeptIn, 'ledger'> {
  /** The session's id, and that of its conversation in the ledger. */
  readonly sessionId: string
  /**
   * Who waits for a compaction that is due. `behind` (default): nobody, it runs behind what is added. `awaited`: the end
   * of each run, for a process that ends with it.
   */
  readonly compaction?: SessionCompaction
}

/** A change of a session's items that happens once, whole or not at all. */
export interface HistoryTransaction {
  /** The same for every try. */
  readonly operationId: string
  /** What changes. */
  readonly transaction:
    | { readonly type: 'append_items'; readonly items: readonly AgentInputItem[] }
    | {
        readonly type: 'replace_suffix'
        readonly expectedSuffix: readonly AgentInputItem[]
        readonly replacement: readonly AgentInputItem[]
      }
}

/** A session whose items are kept in a ledger. */
export interface LedgerSession extends OpenAIResponsesCompactionOwnershipAwareSession {
  /** Changes items once, whole or not at all; the same operation again changes nothing. */
  applyHistoryTransaction(args: HistoryTransaction): Promise<void>
  /** Puts a compaction of the provider, and what it kept, in the place of the items; these stay in the log. */
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

const wrong = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })
const kindOf = (error: unknown): string => (error instanceof LedgerError ? error.failure.kind : '')

/** How often a change is decided anew where others record meanwhile. */
const ATTEMPTS = 50
/** What a transaction is known by again, among the attributes of its first message. */
const TRANSACTION = 'historyTransaction'

const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  canonicalJson(asJson(a)) === canonicalJson(asJson(b))

function itemsGiven(what: string, items: unknown): readonly AgentInputItem[] {
  const parsed = z.array(itemSchema).safeParse(items)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw wrong([what, ...(issue?.path ?? [])].join('.'), issueSentence(issue))
}

/** A message that is said, with the items that it stands for. */
interface SaidItems {
  readonly messageId: string
  readonly items: readonly AgentInputItem[]
}

/**
 * A session for `run(agent, input, { session })`: what is added is recorded, and what comes back is the ledger's
 * context, with the view of what was compacted in front of what is live.
 */
export function ledgerSession(options: LedgerSessionOptions): LedgerSession {
  keptIn('ledgerSession', options, ['ledger', 'sessionId', 'compaction'])
  const sessionId = conversationIdOf(options.sessionId)
  const { ledger, compaction = 'behind' } = options
  if (compaction !== 'behind' && compaction !== 'awaited') throw wrong('compaction', 'must be "behind" or "awaited"')

  /** What is live, in the order in which it was said; undefined where nothing was said so far. */
  async function live(): Promise<LiveMessages | undefined> {
    try {
      return await ledger.messages(sessionId)
    } catch (error) {
      if (kindOf(error) === 'NoSuchConversation') return undefined
      throw error
    }
  }
  const saidIn = (now: LiveMessages | undefined): SaidItems[] =>
    (now?.messages ?? []).map((message) => ({ messageId: message.messageId, items: toItems(toChatMessage(message)) }))

  /** What is withdrawn, and what is said anew of it, to take so many items off the end. */
  function withoutLast(said: readonly SaidItems[], count: number): { withdraw: string[]; again: AgentInputItem[] } {
    const withdraw: string[] = []
    let taken: AgentInputItem[] = []
    for (const { messageId, items } of said.toReversed()) {
      if (taken.length >= count) break
      withdraw.push(messageId)
      taken = [...items, ...taken]
    }
    return { withdraw, again: taken.slice(0, taken.length - count) }
  }

  /** Decides on what is live, and again where others recorded meanwhile. */
  async function change<Done>(decide: (now: LiveMessages | undefined) => Promise<Done>): Promise<Done> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await decide(await live())
      } catch (error) {
        if (kindOf(error) !== 'RevisionNotExpected' || tries === ATTEMPTS) throw error
      }
    }
  }

  /** The hash of the transaction that was applied under an operation's id; undefined where none was. */
  async function appliedAs(firstId: string, operationId: string, leavesNothing: boolean): Promise<string | undefined> {
    try {
      const { revision } = await ledger.messages(sessionId, { at: `message:${firstId}` })
      for await (const event of ledger.log(sessionId, { from: revision, limit: 1 }))
        if (event.type === 'MessageAppended') return String(event.data.attributes?.[TRANSACTION])
    } catch (error) {
      if (!['NoSuchMessage', 'NoSuchConversation'].includes(kindOf(error))) throw error
      if (kindOf(error) === 'NoSuchConversation' || !leavesNothing) return undefined
    }
    // A change that leaves no message is known by its request alone, which is read from the log.
    for await (const { type, metadata } of ledger.log(sessionId, { direction: 'backwards' }))
      if (type === 'MessagesWithdrawn' && metadata.correlationId.startsWith(`${operationId} `))
        return metadata.correlationId.slice(operationId.length + 1)
    return undefined
  }

  async function applyHistoryTransaction(args: HistoryTransaction): Promise<void> {
    const parsed = transactionSchema.safeParse(args)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      throw wrong(issue?.path.join('.') || 'transaction', issueSentence(issue))
    }
    const { operationId, transaction } = parsed.data
    const hash = sha256(canonicalJson(asJson(transaction)))
    const operation = sha256(operationId).slice(0, 32)
    const firstId = `operation-${operation}`
    const added = transaction.type === 'append_items' ? transaction.items : transaction.replacement
    await change(async (now) => {
      const applied = await appliedAs(firstId, operation, added.length === 0)
      if (applied === hash) return
      if (applied !== undefined)
        throw wrong('operationId', `"${operationId}" was applied with another transaction, and happens once`)
      const expected = transaction.type === 'append_items' ? [] : transaction.expectedSuffix
      const said = saidIn(now)
      const last = said.flatMap(({ items }) => items).slice(-expected.length || Infinity)
      if (expected.length > 0 && !sameItems(last, expected))
        throw wrong('expectedSuffix', 'is not what the session ends with: nothing was changed')
      const { withdraw, again } = withoutLast(said, expected.length)
      const append = [...toMessages(again), ...toMessages(added)].map((message, at): MessageInput => ({
        ...message,
        id: at === 0 ? firstId : `${firstId}-${String(at)}`,
        ...(at === 0 ? { attributes: { [TRANSACTION]: hash } } : {}),
      }))
      if (withdraw.length === 0 && append.length === 0) return
      await ledger.amend(sessionId, {
        withdraw,
        append,
        expectedRevision: now?.revision ?? -1n,
        correlationId: `${operation} ${hash}`,
      })
    })
  }

  /**
   * The context, each message where it was said: an answer's calls stand together, and their results behind them. A
   * session has no placeholders: the SDK itself sees to calls that have no result yet.
   */
  async function contextItems(now: LiveMessages): Promise<AgentInputItem[]> {
    const { messages, messageIds } = await ledger.context(sessionId)
    const places = new Map(now.messages.map(({ messageId }, at) => [messageId, at]))
    let before = -1
    const placed = messages.flatMap((message, at) => {
      const id = messageIds[at]
      before = places.get(id ?? '') ?? before
      return id === undefined && message.role === 'tool' ? [] : [{ message, place: before }]
    })
    return placed.toSorted((a, b) => a.place - b.place).flatMap(({ message }) => toItems(message))
  }

  const itemsOf = async (now: LiveMessages | undefined): Promise<AgentInputItem[]> =>
    now === undefined || now.messages.length === 0 ? [] : await contextItems(now)

  return {
    ...compactingSession({ ledger, sessionId, compaction, live, itemsOf, change, itemsGiven }),
    getSessionId: () => Promise.resolve(sessionId),
    async getItems(limit) {
      if (limit !== undefined && (!Number.isInteger(limit) || limit < 0))
        throw wrong('limit', 'must be a whole number, 0 or more')
      if (limit === 0) return []
      const items = await itemsOf(await live())
      return limit === undefined ? items : items.slice(-limit)
    },
    async addItems(items) {
      const messages = toMessages(itemsGiven('items', items))
      if (messages.length > 0) await ledger.append(sessionId, messages)
    },
    popItem: () =>
      change(async (now) => {
        const said = saidIn(now)
        const last = said.at(-1)?.items.at(-1)
        if (last === undefined || now === undefined) return undefined
        const { withdraw, again } = withoutLast(said, 1)
        await ledger.amend(sessionId, { withdraw, append: toMessages(again), expectedRevision: now.revision })
        return last
      }),
    async clearSession() {
      if ((await live()) !== undefined) await ledger.amend(sessionId, { withdraw: 'all' })
    },
    applyHistoryTransaction,
    async replaceHistoryWithCompaction(items) {
      const given = itemsGiven('items', items)
      if (given[0]?.type !== 'compaction') throw wrong('items.0', 'must be the compaction that the others follow')
      const sourceId = given[0].id ?? `compaction-${sha256(canonicalJson(asJson(given))).slice(0, 20)}`
      await ledger.amend(sessionId, {
        withdraw: 'all',
        append: toMessages(given),
        compaction: { program: 'openai-agents', sourceId },
      })
    },
  }
}
