/** `createCompactor`: compaction as one function over a host's own message list, for who wants no more than that. */
import { hostsOwn, type Compressed } from '../application/compress.js'
import type { MessageInput } from '../domain/message.js'
import { openLedger } from './compose.js'
import type { Ledger, LedgerOptions } from './ledger.js'

/** A ledger that is open already, or how to open one. */
export type CompactorOptions = { readonly ledger: Ledger } | LedgerOptions

/** Compaction as one function. */
export interface Compactor {
  /**
   * Records what is new in `history`, compacts where a limit asks for it, and hands back the context.
   * Never throws: whatever goes wrong, the history comes back as it was, with nothing compressed, and `onProblem` hears why.
   */
  compress<Message extends MessageInput>(history: readonly Message[], conversationId: string): Promise<Compressed<Message>>
  /** Lets go of the store, where this compactor opened it. */
  close(): Promise<void>
}

/** Makes a compactor; the store is opened with the first call. */
export function createCompactor(options: CompactorOptions): Compactor {
  const own = 'ledger' in options ? undefined : options
  let opened: Promise<Ledger> | undefined = 'ledger' in options ? Promise.resolve(options.ledger) : undefined

  return {
    async compress(history, conversationId) {
      try {
        if (opened === undefined && own !== undefined) opened = openLedger(own)
        if (opened === undefined) throw new Error('this compactor is closed')
        return await (await opened).compress(history, conversationId)
      } catch (problem) {
        // A store that could not be opened is tried again with the next call.
        if (own !== undefined) opened = undefined
        own?.onProblem?.(problem)
        return { history: hostsOwn(history), batchesCreated: 0, messagesCompressed: 0, tokensEstimateBefore: 0, tokensEstimateAfter: 0 }
      }
    },
    async close() {
      const ledger = await opened?.catch(() => undefined)
      opened = undefined
      if (own !== undefined) await ledger?.close()
    },
  }
}
