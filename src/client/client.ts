/** The service's API as functions, one per route, typed by the service's own schemas in `src/schema/`. */
import { LedgerError } from '../lib/ledger-error.js'
import type { z } from 'zod'
import { routes, type RouteName } from '../schema/index.js'
import type { accepted } from '../schema/jobs.js'
import type { Route } from '../schema/route.js'
import { readEvents, type CloudEvent } from './event-stream.js'
import {
  createTransport,
  pathOf,
  textOf,
  type Answering,
  type ClientOptions,
  type Transport,
  unavailable,
  errorOfProblem,
} from './transport.js'

/** A job of the service. */
export type Job = z.infer<typeof accepted>

type Routes = typeof routes
type Streams = { [Name in RouteName]: Routes[Name] extends { readonly stream: 'events' } ? Name : never }[RouteName]

// In an address everything is a text; a number and a bigint become one.
type InAddress<T> = T extends string ? T | (string extends T ? number | bigint : never) : T
type Fields<Schema extends z.ZodObject> = { [Key in keyof z.input<Schema>]: InAddress<z.input<Schema>[Key]> }
type Part<Name extends string, Value> = string extends keyof Value
  ? unknown
  : Partial<Value> extends Value
    ? { readonly [Key in Name]?: Value }
    : { readonly [Key in Name]: Value }

/** What a route takes. */
export type Given<R extends Route> = Part<'params', Fields<R['params']>> &
  Part<'query', Fields<R['query']>> &
  (NonNullable<R['body']> extends z.ZodUndefined ? unknown : { readonly body: z.input<NonNullable<R['body']>> }) & {
    /** Headers that the route heeds: `if-match`, `if-none-match`, `idempotency-key`, `prefer`. */
    readonly headers?: Readonly<Record<string, string>>
    readonly signal?: AbortSignal | undefined
  }

/** What a route answered. */
export interface Answered<R extends Route> {
  readonly status: number
  /** The revision of what was read or written, for `if-match` and `if-none-match`. */
  readonly etag: string | undefined
  /** Undefined where the answer has no body: 204, and 304 where `if-none-match` was given. */
  readonly value: z.output<NonNullable<R['answer']>>
}

/** A function a route. */
export type Calls = {
  readonly [Name in Exclude<RouteName, Streams>]: (given: Given<Routes[Name]>) => Promise<Answered<Routes[Name]>>
}

/** Which facts to hear of. */
export interface EventsOptions {
  /** One conversation alone. */
  readonly conversationId?: string
  /** The first position, or the first revision if a conversation is named. Default: events recorded from now on. */
  readonly from?: bigint | number
  readonly signal?: AbortSignal | undefined
}

/** A service, as functions. */
export interface Client {
  /** Its address. */
  readonly name: string
  /** One function a route. */
  readonly calls: Calls
  /**
   * New events, each once and in order, until the signal aborts. After a lost connection it resumes after the last
   * event.
   */
  events(options?: EventsOptions): AsyncIterable<CloudEvent>
  /**
   * Waits until a job has ended and returns it. Throws a `ServiceError` with the problem of a failed job. If the
   * signal aborts, the job is cancelled.
   */
  ended(
    job: Job,
    options?: { readonly signal?: AbortSignal | undefined; readonly onProgress?: (progress: unknown) => void },
  ): Promise<Job>
}

/**
 * Functions for a service. Nothing is sent before one is called.
 * @throws TypeError where an option is wrong
 */
export function createClient(options: ClientOptions): Client {
  const transport = createTransport(options)
  // Each route's function takes and answers what the route says, which the loop over them cannot follow.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const calls = Object.fromEntries(
    Object.entries(routes).map(([name, route]) => [
      name,
      async (given: AnyGiven = {}): Promise<unknown> => await call(transport, route, given),
    ]),
  ) as unknown as Calls
  return {
    name: transport.name,
    calls,
    events: ({ conversationId, from, signal } = {}) =>
      readEvents(transport, { conversationId, from: from === undefined ? undefined : BigInt(from), signal }),
    ended: async (begun, { signal, onProgress } = {}) => await ended(calls, begun, signal, onProgress),
  }
}

interface AnyGiven {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, string | number | bigint | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

async function call(
  transport: Transport,
  route: Route,
  given: AnyGiven,
): Promise<{ readonly status: number; readonly etag: string | undefined; readonly value: unknown }> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given.query ?? {})) if (value !== undefined) query.set(name, String(value))
  const response = await transport.send(route, {
    path: pathOf(route, given.params),
    query,
    headers: {
      // With this key, a repeated request records nothing twice. If every message has an id, the ledger recognizes
      // them by id and reports those that it already has.
      ...(route.id === 'appendMessages' && !namesAll(given.body)
        ? { 'idempotency-key': globalThis.crypto.randomUUID() }
        : {}),
      ...given.headers,
    },
    ...(given.body === undefined
      ? {}
      : {
          body: JSON.stringify(given.body, (_key, part: unknown) =>
            typeof part === 'bigint' ? part.toString() : part,
          ),
        }),
    signal: given.signal,
  })
  const answered = { status: response.status, etag: response.headers.get('etag') ?? undefined }
  if (response.status === 204 || response.status === 304) {
    response.done()
    return { ...answered, value: undefined }
  }
  const value = await jsonOf(response, transport.name).finally(response.done)
  const parsed = route.answer?.safeParse(value)
  if (parsed?.success === false)
    throw unavailable(
      'NotAService',
      `${transport.name} answered ${route.id} in a shape that this version does not know: ${parsed.error.issues[0]?.path.join('.') ?? ''} ${parsed.error.issues[0]?.message ?? ''}`,
    )
  // As received, because parsed values have their fields in another order.
  return { ...answered, value }
}

/** Whether each message of an append has an id. */
function namesAll(body: unknown): boolean {
  const messages = typeof body === 'object' && body !== null && 'messages' in body ? body.messages : undefined
  return (
    Array.isArray(messages) &&
    messages.every(
      (each: unknown) => typeof each === 'object' && each !== null && 'id' in each && each.id !== undefined,
    )
  )
}

async function jsonOf(response: Answering, name: string): Promise<unknown> {
  const text = await textOf(response)
  try {
    return JSON.parse(text)
  } catch {
    throw unavailable('NotAService', `${name} answered with something that is no JSON`)
  }
}

/** Seconds that the service is asked to wait for a job's end before it answers how far it is. */
const JOB_WAIT = 'wait=20'

async function ended(
  calls: Calls,
  begun: Job,
  signal: AbortSignal | undefined,
  onProgress: ((progress: unknown) => void) | undefined,
): Promise<Job> {
  let job = begun
  let isCancelled = false
  let lastProgress: string | undefined
  while (job.state === 'running') {
    const params = { job: job.id }
    if (signal?.aborted === true && !isCancelled) {
      isCancelled = true
      await calls.cancelJob({ params })
    }
    job = (
      await calls
        .getJob({
          params,
          // A caller with `onProgress` wants the state sooner than one that only waits for the end.
          headers: { prefer: onProgress === undefined ? JOB_WAIT : 'wait=1' },
          signal: isCancelled ? undefined : signal,
        })
        .catch((error: unknown) => {
          if (signal?.aborted === true && !isCancelled) return { value: job }
          throw error
        })
    ).value
    const progress = JSON.stringify(job.progress)
    if (progress !== undefined && progress !== lastProgress) onProgress?.(job.progress)
    lastProgress = progress
  }
  if (job.state === 'failed') {
    throw errorOfProblem({ kind: 'Bug', detail: 'the job failed', status: 500, ...job.problem })
  }
  if (job.state === 'lost')
    throw new LedgerError(
      'JobLost',
      'world',
      'the process of the service that ran the job has ended: the same request resumes it',
    )
  if (job.state === 'cancelled' && signal?.aborted !== true)
    throw new LedgerError('JobCancelled', 'state', 'the job was cancelled')
  return job
}
