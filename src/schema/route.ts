/**
 * A route as data: address, roles, input and answer. The service binds a handler to each route; the client reads the
 * same definitions.
 */
import { z } from 'zod'
import type { Role } from '../ports/service-state.js'
import type { Call } from './call.js'

/**
 * Reach of a route. `conversation`: the conversation in the address, which must be within the key's bound. `some`:
 * everything within the bound. `ledger`: everything, so only keys without a bound are accepted.
 */
type Reach = 'conversation' | 'some' | 'ledger'

/** The function of the library that a route calls, and how the request becomes its arguments. */
export interface Carried {
  readonly call: Call
  /** Fields of the address or the body that are positional arguments, in their order. All other fields are options. */
  readonly args?: readonly string[]
  /** The field of the answer that has the result. Default: the result is the answer. */
  readonly field?: string
}

/** A route without its name. */
export interface RouteDefinition<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
  Carries extends Carried | undefined = Carried | undefined,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** With `{name}` for each parameter. */
  readonly path: string
  readonly summary: string
  /** A key with one of these is let in. */
  readonly roles: readonly Role[]
  readonly reach: Reach
  readonly params: Params
  readonly query: Query
  /** Headers that it heeds, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body, as JSON; undefined if it takes none. */
  readonly body: Body | undefined
  /** The answer, as JSON; undefined for 204 or a stream. */
  readonly answer: Answer | undefined
  /** 200, 202 for a job, 204 without a content. */
  readonly status: 200 | 202 | 204
  /**
   * The call that the service and the client derive their functions from. The service adds the actor of the key, and a
   * route with the status 202 runs the call as a job. Undefined if both have functions of their own.
   */
  readonly carries: Carries
  /** Items of a stream. */
  readonly stream?: 'events'
}

/** One route. */
export interface Route extends RouteDefinition {
  /** Its name: the operation's id in the description. */
  readonly id: string
}

/** The parts that most routes leave out. */
type Left = 'params' | 'query' | 'headers' | 'body' | 'answer' | 'status' | 'carries'

const none = z.object({})

/** Writes a route down. */
export function route<
  Params extends z.ZodObject = typeof none,
  Query extends z.ZodObject = typeof none,
  Body extends z.ZodType = z.ZodUndefined,
  Answer extends z.ZodType = z.ZodUndefined,
  const Carries extends Carried | undefined = undefined,
>(
  given: Omit<RouteDefinition, Left> &
    Partial<Pick<RouteDefinition, 'headers' | 'status'>> & {
      readonly params?: Params
      readonly query?: Query
      readonly body?: Body
      readonly answer?: Answer
      readonly carries?: Carries
    },
): RouteDefinition<Params, Query, Body, Answer, Carries> {
  const { params, query, body, answer, carries, status, headers = {}, ...rest } = given
  return {
    ...rest,
    headers,
    // The defaults of the type parameters are these very schemas.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    params: params ?? (none as unknown as Params),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    query: query ?? (none as unknown as Query),
    body,
    answer,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    carries: carries as Carries,
    status: status ?? (answer === undefined && given.stream === undefined ? 204 : 200),
  }
}
