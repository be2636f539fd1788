/** What the handlers of routes work with, and what they are. */
import type { z } from 'zod'
import type { Ledger } from '../library/ledger.js'
import type { KeyStore } from '../ports/service-state.js'
import type { Access, Bounds } from './access.js'
import type { RouteName, routes } from '../schema/index.js'
import type { Feed, FeedDelivery } from './feed.js'
import type { Jobs } from './jobs.js'

/** What every handler may use. */
export interface Parts {
  readonly ledger: Ledger
  readonly bounds: Bounds
  readonly jobs: Jobs
  readonly feed: Feed
  readonly keys: KeyStore
  readonly heartbeatMs: number
  /** Hears how many messages were recorded. */
  readonly recorded: (messages: number) => void
}

type RouteOf<Name extends RouteName> = (typeof routes)[Name]
type BodyOf<Name extends RouteName> =
  NonNullable<RouteOf<Name>['body']> extends z.ZodType ? z.output<NonNullable<RouteOf<Name>['body']>> : undefined

/** A request, parsed by its route. */
interface Asked<Name extends RouteName> {
  readonly params: z.output<RouteOf<Name>['params']>
  readonly query: z.output<RouteOf<Name>['query']>
  readonly body: BodyOf<Name>
  /** The body as received, because parsed values have their keys in another order. */
  readonly raw: unknown
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly access: Access
}

/** What a handler answers: a value, or a stream of facts. */
export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Events until the signal aborts. `idOf` is the id after which a client resumes. */
  readonly stream?: {
    readonly read: (signal: AbortSignal) => AsyncIterable<FeedDelivery>
    readonly idOf: (heard: FeedDelivery) => bigint | undefined
  }
}

/** What answers a route. */
type Handler<Name extends RouteName> = (asked: Asked<Name>) => Promise<Answer>

/** The handlers of some routes, by their names. */
export type Handlers<Name extends RouteName = RouteName> = { readonly [N in Name]: Handler<N> }

/** An ETag of a revision. */
export const etagOf = (revision: bigint): Readonly<Record<string, string>> => ({ etag: `"${String(revision)}"` })
