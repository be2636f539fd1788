/** Calls of a service with the failures of a ledger: what the functions of a remote ledger are made of. */
import { isLedgerError } from '../../lib/ledger-error.js'
import type { ActorOptions } from '../../library/ledger.js'
import { problem } from '../../library/problem.js'
import { storeError } from '../../ports/store-error.js'
import type { AnswerOf, JobName, ResultOf, routes } from '../../schema/index.js'
import type { CallName, Client, EndedOptions, Given } from './client.js'

type Routes = typeof routes

/** A service, as the store of a ledger. */
export interface Remote {
  /** The answer of a call. */
  readonly value: <Name extends CallName>(name: Name, given: Given<Routes[Name]>) => Promise<AnswerOf<Name>>
  /** Starts a job and waits for its result. If the signal aborts, the job is cancelled. */
  readonly result: <Name extends JobName>(
    name: Name,
    given: Given<Routes[Name]>,
    options?: EndedOptions<AnswerOf<Name>>,
  ) => Promise<ResultOf<Name>>
  /** New events, until the signal aborts. */
  readonly events: Client['events']
  readonly close: () => void
}

/** Calls a client until it is closed. */
export function createRemote(client: Client): Remote {
  let isClosed = false
  const throwIfClosed = (): void => {
    if (isClosed) throw problem({ kind: 'LedgerClosed' })
  }

  /** A service that cannot be reached is the store of this ledger. */
  async function orStoreError<T>(answer: () => Promise<T>): Promise<T> {
    throwIfClosed()
    return await answer().catch((error: unknown) => {
      throw asStoreError(error)
    })
  }

  return {
    value: async (name, given) => (await orStoreError(async () => await client.calls[name](given))).value,
    async result(name, given, { signal, onProgress } = {}) {
      const job = await orStoreError(async () => {
        const { value } = await client.calls[name](given)
        return await client.ended(value, {
          signal,
          onProgress: onProgress === undefined ? undefined : quiet(onProgress),
        })
      })
      const { result } = job
      if (result !== undefined) return result
      signal?.throwIfAborted()
      throw storeError('StoreUnavailable', `the service has no result of the job ${job.id}`)
    },
    async *events(options) {
      throwIfClosed()
      try {
        yield* client.events(options)
      } catch (error) {
        throw asStoreError(error)
      }
    },
    close() {
      isClosed = true
    },
  }
}

const asStoreError = (error: unknown): unknown =>
  isLedgerError(error, 'ServiceUnreachable', 'NotAService')
    ? storeError('StoreUnavailable', error.message, error)
    : error

/** A listener whose errors are ignored, as with a ledger on a store. */
const quiet =
  <Progress>(listener: (progress: Progress) => void) =>
  (progress: Progress): void => {
    try {
      listener(progress)
    } catch {
      // The listener's own error.
    }
  }

/** The error for what a service does not offer; `detail` says what to do instead. */
export const notSupportedRemotely = (field: string, detail: string): Error =>
  problem({ kind: 'BadInput', field, detail: `is not available through a service: ${detail}` })

/** The options without `actor`. The service records the name of the key, so another name is rejected. */
export function withoutActor<Options extends ActorOptions>({ actor, ...rest }: Options): Omit<Options, 'actor'> {
  if (actor !== undefined) throw notSupportedRemotely('actor', 'the service records the name of the key')
  return rest
}
