/** The service's API as functions, one per route. Requests, answers and types derive from the routes in `src/schema/`. */
import { LedgerError } from '../../lib/ledger-error.js'
import type { z } from 'zod'
import { routes, type Job, type RouteName } from '../../schema/index.js'
import type { Immutable } from '../../schema/answer.js'
import type { Route } from '../../schema/route.js'
import { toWire } from '../../domain/values/revision.js'
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

export type { Job } from '../../schema/index.js'

type Routes = typeof routes
type Streams = { [Name in RouteName]: Routes[Name] extends { readonly stream: 'events' } ? Name : never }[RouteName]
/** The routes that answer at once. */
export type CallName = Exclude<RouteName, Streams>
// In an address everything is a text; a number and a number become one.
type InAddress<T> = T extends string ? T | (string extends T ? number : never) : T
type Fields<Schema extends z.ZodObject> = { [Key in keyof z.input<Schema>]: InAddress<z.input<Schema>[Key]> }
type Part<Name extends string, Value> = string extends keyof Value
  ? unknown
  : Partial<Value> extends Value
    ? { readonly [Key in Name]?: Value }
    : { readonly [Key in Name]: Value }
// A revision is a number here, and becomes a text like everywhere in JSON.
type Body<Schema extends z.ZodType> = Schema extends z.ZodUndefined
  ? unknown
  : object extends z.input<Schema>
    ? { readonly body?: Immutable<z.input<Schema> | z.output<Schema>> }
    : { readonly body: Immutable<z.input<Schema> | z.output<Schema>> }

/** Input of a route. */
export type Given<R extends Route> = Part<'params', Fields<R['params']>> &
  Part<'query', Fields<R['query']>> &
  Body<NonNullable<R['body']>> & {
    /** Headers that the route heeds: `if-match`, `if-none-match`, `idempotency-key`, `prefer`. */
    readonly headers?: Readonly<Record<string, string>> | undefined
    readonly signal?: AbortSignal | undefined
  }

/** Answer of a route. */
export interface Answered<R extends Route> {
  readonly status: number
  /** The revision that was read or written, for `if-match` and `if-none-match`. */
  readonly etag: string | undefined
  /**
   * The body, decoded by the route's schema: revisions and positions are numbers. Undefined if the answer has no body:
   * 204, and 304 if `if-none-match` was given.
   */
  readonly value: z.output<NonNullable<R['answer']>>
}

/** A function a route. */
export type Calls = {
  readonly [Name in CallName]: (given: Given<Routes[Name]>) => Promise<Answered<Routes[Name]>>
}

/** Which facts to hear of. */
export interface EventsOptions {
  /** One conversation alone. */
  readonly conversationId?: string
  /** The first position, or the first revision if a conversation is named. Default: events recorded from now on. */
  readonly from?: number
  /** Instead of `from`: events after the one with this position, or with this revision if a conversation is named. */
  readonly after?: number
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
   * Waits until a job has ended and returns it, with the result of its route. Throws the error of a failed job. If the
   * signal aborts, the job is cancelled.
   */
  ended<Begun extends Job>(job: Begun, options?: EndedOptions<Begun>): Promise<Begun>
}

/** How to wait for a job. */
export interface EndedOptions<Begun extends Job> {
  readonly signal?: AbortSignal | undefined
  /** Called with the progress when it has changed. */
  readonly onProgress?: ((progress: NonNullable<Begun['progress']>) => void) | undefined
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
      async (given: AnyGiven = {}): Promise<Answered<Route>> => await call(transport, route, given),
    ]),
  ) as unknown as Calls
  return {
    name: transport.name,
    calls,
    events: ({ conversationId, from, after, signal } = {}) =>
      readEvents(transport, { conversationId, from, after, signal }),
    ended: async (job, how = {}) => await ended(transport, job, how),
  }
}

interface AnyGiven {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

async function call(transport: Transport, route: Route, given: AnyGiven): Promise<Answered<Route>> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given.query ?? {})) if (value !== undefined) query.set(name, String(value))
  const response = await transport.send(route, {
    path: pathOf(route, given.params),
    query,
    headers: { ...repeatable(route, given.body), ...given.headers },
    ...(given.body === undefined ? {} : { body: toWire(given.body) }),
    signal: given.signal,
  })
  const answered = { status: response.status, etag: response.headers.get('etag') ?? undefined }
  if (response.status === 204 || response.status === 304) {
    response.done()
    return { ...answered, value: undefined }
  }
  const value = await jsonOf(response, transport.name).finally(response.done)
  return { ...answered, value: decoded(transport, route, value) }
}

/** The answer of a route by its schema. */
function decoded({ name }: Transport, { id, answer }: Route, value: unknown): unknown {
  const read = answer?.safeParse(value)
  if (read?.success !== false) return read?.data
  const [issue] = read.error.issues
  throw unavailable(
    'NotAService',
    `${name} answered ${id} in a shape that this version does not know: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`,
  )
}

/**
 * With this key, a repeated append records nothing twice. If every message has an id, the ledger recognizes them by id
 * and reports those that it already has.
 */
const repeatable = ({ id }: Route, body: unknown): Readonly<Record<string, string>> =>
  id === 'appendMessages' && !namesAll(body) ? { 'idempotency-key': globalThis.crypto.randomUUID() } : {}

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

/** Seconds that the service waits for the end of a job before it answers. */
const JOB_WAIT = 'wait=20'
/** A caller with `onProgress` wants the state sooner than one that only waits for the end. */
const PROGRESS_WAIT = 'wait=1'

async function ended<Begun extends Job>(
  transport: Transport,
  begun: Begun,
  { signal, onProgress }: EndedOptions<Begun>,
): Promise<Begun> {
  const params = { job: begun.id }
  const headers = { prefer: onProgress === undefined ? JOB_WAIT : PROGRESS_WAIT }
  let job = begun
  let isCancelled = false
  let lastProgress: string | undefined
  while (job.state === 'running') {
    if (signal?.aborted === true && !isCancelled) {
      isCancelled = true
      await call(transport, routes.cancelJob, { params })
    }
    try {
      const polled = await call(transport, routes.getJob, { params, headers, signal: isCancelled ? undefined : signal })
      // The route that started the job decodes its progress and its result.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      job = decoded(transport, routeOf(begun), polled.value) as Begun
    } catch (error) {
      if (signal?.aborted !== true || isCancelled) throw error
    }
    const { progress } = job
    const progressText = toWire(progress)
    if (progress !== undefined && progress !== null && progressText !== lastProgress) onProgress?.(progress)
    lastProgress = progressText
  }
  throwUnlessEnded(job, signal)
  return job
}

/** The route that started a job. */
const routeOf = ({ kind }: Job): Route => Object.values<Route>(routes).find(({ id }) => id === kind) ?? routes.getJob

/** Throws if a job ended in another way than its caller wanted. */
function throwUnlessEnded({ state, problem }: Job, signal: AbortSignal | undefined): void {
  if (state === 'failed') throw errorOfProblem({ kind: 'Bug', detail: 'the job failed', status: 500, ...problem })
  if (state === 'lost')
    throw new LedgerError(
      'JobLost',
      'the process of the service that ran the job has ended: the same request resumes it',
    )
  if (state === 'cancelled' && signal?.aborted !== true) throw new LedgerError('JobCancelled', 'the job was cancelled')
}
