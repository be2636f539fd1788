/** What the handlers of routes work with, and what they are. */
import type { z } from 'zod'
import type { Ledger } from '../../library/ledger.js'
import type { KeyStore } from '../../ports/service-state.js'
import type { Access, Bounds } from './access.js'
import type { Immutable } from '../../schema/answer.js'
import type { AnswerOf, Job, JobName, RouteName, routes } from '../../schema/index.js'
import type { Feed, FeedDelivery } from './feed.js'
import type { Jobs } from './jobs.js'
import type { Uploads } from './uploads.js'

/** What every handler may use. */
export interface Parts {
  readonly ledger: Ledger
  readonly bounds: Bounds
  readonly jobs: Jobs
  readonly feed: Feed
  readonly uploads: Uploads
  readonly keys: KeyStore
  readonly heartbeatMs: number
  /** Hears how many messages were recorded. */
  readonly recorded: (messages: number) => void
}

type RouteOf<Name extends RouteName> = (typeof routes)[Name]
/** The parsed body of a request of a route. */
export type BodyOf<Name extends RouteName> =
  NonNullable<RouteOf<Name>['body']> extends z.ZodType ? z.output<NonNullable<RouteOf<Name>['body']>> : undefined

/** The answer of a handler: a value, or a stream of events. */
export interface Answer<Body = unknown> {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
  /** Events until the signal aborts. `idOf` is the id after which a client resumes. */
  readonly stream?: {
    readonly read: (signal: AbortSignal) => AsyncIterable<FeedDelivery>
    readonly idOf: (heard: FeedDelivery) => number | undefined
  }
}

/**
 * A request, parsed by the schemas of its route. `raw` is the body as received, because parsed values have their keys in
 * another order.
 */
export interface RouteRequest<Name extends RouteName> {
  readonly params: z.output<RouteOf<Name>['params']>
  readonly query: z.output<RouteOf<Name>['query']>
  readonly body: BodyOf<Name>
  readonly raw: unknown
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly access: Access
}

/** Answers a request. A job has its result as text in the store, so its answer is any job. */
type Handler<Name extends RouteName> = (
  parts: Parts,
  request: RouteRequest<Name>,
) => Promise<Answer<Immutable<Name extends JobName ? Job : AnswerOf<Name>>>>

/** The handlers of all routes, by their names. */
export type Handlers = { readonly [Name in RouteName]: Handler<Name> }

/** An ETag of a revision. */
export const etagOf = (revision: number): Readonly<Record<string, string>> => ({ etag: `"${String(revision)}"` })
