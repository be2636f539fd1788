/**
 * What the runner of the SDK asks of a session that compacts: it reads the history with a receipt, adds to it by that
 * receipt, and at the end of a run lets whoever still owns it compact. Of the ledger nothing is replaced by it, so that
 * the receipt decides alone whether a run's end waits for a compaction.
 */
import type {
  AgentInputItem,
  OpenAIResponsesCompactionArgs,
  OpenAIResponsesCompactionResult,
  OpenAIResponsesCompactionOwnershipAwareSession as CompactingSession,
} from '@openai/agents'
import type { Ledger, LiveMessages } from '../../library/ledger.js'
import { problem } from '../../library/problem.js'
import { toMessages } from './items.js'

/** Who waits for a compaction that is due: nobody (`behind`), or the end of each run (`awaited`). */
export type SessionCompaction = 'behind' | 'awaited'

interface CompactingParts {
  readonly ledger: Ledger
  readonly sessionId: string
  readonly compaction: SessionCompaction
  readonly live: () => Promise<LiveMessages | undefined>
  readonly itemsOf: (now: LiveMessages | undefined) => Promise<AgentInputItem[]>
  /** Decides on what is live, and again where others recorded meanwhile. */
  readonly change: <Done>(decide: (now: LiveMessages | undefined) => Promise<Done>) => Promise<Done>
  readonly itemsGiven: (what: string, items: unknown) => readonly AgentInputItem[]
}

type Compacting = Pick<
  CompactingSession,
  'getItemsWithCompactionOwnership' | 'addItemsWithCompactionOwnership' | 'runCompaction'
>

const lastOf = (now: LiveMessages | undefined): string | undefined => now?.messages.at(-1)?.messageId

/** The tokens of the summaries that were bought since a revision; undefined where nobody told of any. */
async function boughtSince(
  ledger: Ledger,
  sessionId: string,
  from: bigint,
): Promise<OpenAIResponsesCompactionResult['usage'] | undefined> {
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, inputTokensDetails: {}, outputTokensDetails: {} }
  for await (const { type, data } of ledger.log(sessionId, { from })) {
    if (type !== 'ChunkSummarized' && type !== 'BatchesResummarized' && type !== 'SummarySetAside') continue
    const bought = data.summarizer.reused === true ? undefined : data.summarizer.usage
    usage.inputTokens += bought?.promptTokens ?? 0
    usage.outputTokens += bought?.completionTokens ?? 0
  }
  usage.totalTokens = usage.inputTokens + usage.outputTokens
  return usage.totalTokens === 0 ? undefined : usage
}

/** The part of a session that compacts. */
export function compactingSession(parts: CompactingParts): Compacting {
  const { ledger, sessionId, compaction, live, itemsOf, change, itemsGiven } = parts
  /** The last message that the owner of a receipt knows of. */
  const receipts = new WeakMap<object, { readonly last: string | undefined }>()
  const owns = (receipt: object | null, now: LiveMessages | undefined): receipt is object => {
    const known = receipt === null ? undefined : receipts.get(receipt)
    return known !== undefined && known.last === lastOf(now)
  }

  return {
    async getItemsWithCompactionOwnership() {
      const now = await live()
      const ownership = {}
      receipts.set(ownership, { last: lastOf(now) })
      return { items: await itemsOf(now), ownership }
    },
    async addItemsWithCompactionOwnership(items, ownership) {
      const messages = toMessages(itemsGiven('items', items))
      if (messages.length === 0) return
      await change(async (now) => {
        const owned = owns(ownership, now)
        const { recorded } = await ledger.append(
          sessionId,
          messages,
          owned ? { expectedRevision: now?.revision ?? -1n } : {},
        )
        if (owned) receipts.set(ownership, { last: recorded.at(-1) })
      })
    },
    async runCompaction(
      args?: OpenAIResponsesCompactionArgs,
      _runContext?: unknown,
      ownership?: object | null,
    ): Promise<OpenAIResponsesCompactionResult | null> {
      const now = await live()
      if (now === undefined || (ownership !== undefined && !owns(ownership, now))) return null
      const force = args?.force === true
      if (!force && compaction === 'behind') return null
      const { failure } = await ledger.compact(sessionId, { force })
      // A run's end is none of a failed compaction, which stands in the log; who asked by hand hears of it.
      if (failure !== undefined && ownership === undefined) throw problem(failure)
      const usage = await boughtSince(ledger, sessionId, now.revision + 1n)
      return usage === undefined ? null : { usage }
    },
  }
}
