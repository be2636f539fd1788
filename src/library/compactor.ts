/// <reference lib="esnext.disposable" preserve="true" />
/** `createCompactor`: compaction as one function over a host's own message list. */
import type { Compressed } from '../application/compaction/compress.js'
import { listOrEmpty } from '../application/compaction/host-list.js'
import type { MessageInput } from '../domain/values/message.js'
import { checkedOptions, openLedger } from './compose.js'
import type { Ledger, LedgerOptions } from './ledger.js'
import { dataOfProblem, problem } from './problem.js'
import { problemReporter } from './report-problem.js'

/** A ledger that is open already, or how to open one. */
export type CompactorOptions = { readonly ledger: Ledger } | LedgerOptions

/** Compaction as one function. */
export interface Compactor {
  /**
   * Records what is new in `history`, compacts where a limit asks for it, and hands back the context. Never throws:
   * whatever goes wrong, the history comes back as it was, `error` says why, and `onProblem` hears of it.
   */
  compress<Message extends MessageInput>(
    history: readonly Message[],
    conversationId: string,
  ): Promise<Compressed<Message>>
  /** Closes the store if this compactor opened it. */
  close(): Promise<void>
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** An open ledger has its settings already, and they are not to be contradicted in silence. */
function checkLedgerAlone({ ledger, ...rest }: { readonly ledger: Ledger }): void {
  const wrong = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })
  if (typeof ledger !== 'object' || ledger === null || typeof ledger.compress !== 'function')
    throw wrong('ledger', 'must be what openLedger gives')
  const [beside] = Object.keys(rest)
  if (beside !== undefined) throw wrong(beside, 'goes without a ledger: an open ledger has its own')
}

/** Makes a compactor. Throws where an option is wrong; the store is opened with the first call. */
export function createCompactor(options: CompactorOptions): Compactor {
  const ownOptions = 'ledger' in options ? undefined : options
  if ('ledger' in options) checkLedgerAlone(options)
  else checkedOptions(options)
  const reportProblem = problemReporter(ownOptions?.onProblem)
  let opened: Promise<Ledger> | undefined = 'ledger' in options ? Promise.resolve(options.ledger) : undefined
  let isClosed = false

  async function open(): Promise<Ledger> {
    if (isClosed) throw problem({ kind: 'LedgerClosed' })
    if (opened !== undefined) return await opened
    if (ownOptions === undefined) throw problem({ kind: 'LedgerClosed' })
    const opening = openLedger(ownOptions)
    opened = opening
    try {
      return await opening
    } catch (error) {
      // A store that could not be opened is tried again with the next call.
      opened = undefined
      throw error
    }
  }

  return {
    async compress(history, conversationId) {
      try {
        return await (await open()).compress(history, conversationId)
      } catch (error) {
        reportProblem(error)
        return {
          history: listOrEmpty(history),
          batchesCreated: 0,
          messagesCompressed: 0,
          tokensEstimateBefore: 0,
          tokensEstimateAfter: 0,
          error: dataOfProblem(error),
        }
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    isClosed = true
    const ledger = await opened?.catch(() => undefined)
    opened = undefined
    if (ownOptions !== undefined) await ledger?.close()
  }
}
