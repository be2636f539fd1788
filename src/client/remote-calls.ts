/** Calls of the service for `openRemoteLedger`: failures as a ledger's own, whole numbers as `bigint`, jobs to their end. */
import { isLedgerError } from '../lib/ledger-error.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import type { ActorOptions } from '../library/ledger.js'
import { problem } from '../library/problem.js'
import { storeError } from '../ports/store-error.js'
import { createClient, type Calls, type Client, type Job } from './client.js'
import type { ClientOptions } from './transport.js'
import { withWholeNumbers } from './whole-numbers.js'

interface JobOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: never) => void) | undefined
}

/** The calls of one service, until it is closed. */
export class RemoteCalls {
  readonly calls: Calls
  private readonly client: Client
  private isClosed = false

  /** @throws TypeError if an option is invalid */
  constructor(options: ClientOptions) {
    this.client = createClient(options)
    this.calls = this.client.calls
  }

  close(): void {
    this.isClosed = true
  }

  /** The client, for a stream of events. */
  open(): Client {
    if (this.isClosed) throw problem({ kind: 'LedgerClosed' })
    return this.client
  }

  /** The answer of a call. */
  async answer<T>(call: (client: Client) => Promise<T>): Promise<T> {
    const client = this.open()
    try {
      return await call(client)
    } catch (error) {
      throw asStoreError(error)
    }
  }

  /**
   * The value of an answer as the library's type of the same name.
   * @param own fields whose values are not the ledger's, and stay as they are
   */
  async value<T>(call: () => Promise<{ readonly value: unknown }>, own?: ReadonlySet<string>): Promise<T> {
    // A property test compares each of them with the ledger's own.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return withWholeNumbers((await this.answer(call)).value, own) as T
  }

  /** The result of a job. */
  async job<T>(begin: () => Promise<{ readonly value: Job }>, { signal, onProgress }: JobOptions = {}): Promise<T> {
    const ended = await this.answer(async (client) =>
      client.ended((await begin()).value, {
        signal,
        // Errors of a listener are ignored.
        ...(onProgress === undefined ? {} : { onProgress: (progress) => callListener(onProgress, progress) }),
      }),
    )
    if (ended.result === undefined) signal?.throwIfAborted()
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return withWholeNumbers(ended.result) as T
  }
}

function callListener(listener: (progress: never) => void, progress: unknown): void {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the service says of this job
    listener(withWholeNumbers(progress) as never)
  } catch {
    // As with a ledger on a store.
  }
}

/** A service that cannot be reached is the store of this ledger. */
export const asStoreError = (error: unknown): unknown =>
  isLedgerError(error, 'ServiceUnreachable', 'NotAService')
    ? storeError('StoreUnavailable', error.message, error)
    : error

/** Options without undefined fields, as the body of a request. The service validates it. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion, typescript/no-unnecessary-type-parameters
export const bodyOf = <T>(body: object): T => withoutUndefined(body) as T

/** The error for what a service does not offer. */
export const notSupportedRemotely = (field: string, detail: string): Error =>
  problem({ kind: 'BadInput', field, detail: `is not available through a service: ${detail}` })

/** Throws if the caller names an actor: the service takes it from the key. */
export function withoutActor(actor: string | undefined): void {
  if (actor !== undefined) throw notSupportedRemotely('actor', 'the service records the name of the key')
}

/** The options without `actor`. */
export function ofKey<Options extends ActorOptions>({ actor, ...rest }: Options): Omit<Options, 'actor'> {
  withoutActor(actor)
  return rest
}
