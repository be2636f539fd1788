/**
 * The session methods with which the SDK's runner compacts. The runner reads the history with a receipt, adds items with
 * it, and at the end of a run the owner of a valid receipt may compact. The ledger does not replace items for this, so the
 * receipt only decides whether the end of the run waits for a compaction.
 */
import type {
  AgentInputItem,
  OpenAIResponsesCompactionArgs,
  OpenAIResponsesCompactionResult,
  OpenAIResponsesCompactionOwnershipAwareSession as CompactingSession,
} from '@openai/agents'
import type { Ledger, LiveMessages } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
import { toMessages } from './items.js'

/** Whether a due compaction runs in the background (`behind`), or the end of each run waits for it (`awaited`). */
export type SessionCompaction = 'behind' | 'awaited'

interface CompactingParts {
  readonly ledger: Ledger
  readonly sessionId: string
  readonly compaction: SessionCompaction
  readonly live: () => Promise<LiveMessages | undefined>
  readonly itemsOf: (now: LiveMessages | undefined) => Promise<AgentInputItem[]>
  /** Runs a change on the live messages, and again if the conversation changed in the meantime. */
  readonly retryOnConflict: <Done>(decide: (now: LiveMessages | undefined) => Promise<Done>) => Promise<Done>
  readonly checkItems: (what: string, items: unknown) => readonly AgentInputItem[]
}

type Compacting = Pick<
  CompactingSession,
  'getItemsWithCompactionOwnership' | 'addItemsWithCompactionOwnership' | 'runCompaction'
>

const lastOf = (now: LiveMessages | undefined): string | undefined => now?.messages.at(-1)?.messageId

/** The tokens of the summaries since a revision; undefined if no usage is recorded. */
async function summaryUsageSince(
  ledger: Ledger,
  sessionId: string,
  from: number,
): Promise<OpenAIResponsesCompactionResult['usage'] | undefined> {
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, inputTokensDetails: {}, outputTokensDetails: {} }
  for await (const { type, data } of ledger.log(sessionId, { from })) {
    if (type !== 'ChunkSummarized' && type !== 'BatchesResummarized' && type !== 'SummarySetAside') continue
    const tokens = data.summarizer.reused === true ? undefined : data.summarizer.usage
    usage.inputTokens += tokens?.promptTokens ?? 0
    usage.outputTokens += tokens?.completionTokens ?? 0
  }
  usage.totalTokens = usage.inputTokens + usage.outputTokens
  return usage.totalTokens === 0 ? undefined : usage
}

/** Creates the compaction methods of a session. */
export function compactingSession(parts: CompactingParts): Compacting {
  const { ledger, sessionId, compaction, live, itemsOf, retryOnConflict: change, checkItems: itemsGiven } = parts
  /** The last message that the owner of a receipt has read or added. */
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
          owned ? { expectedRevision: now?.revision ?? -1 } : {},
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
      // The log has the failed compaction. At the end of a run it is ignored; a direct call throws.
      if (failure !== undefined && ownership === undefined) throw problem(failure)
      const usage = await summaryUsageSince(ledger, sessionId, now.revision + 1)
      return usage === undefined ? null : { usage }
    },
  }
}
