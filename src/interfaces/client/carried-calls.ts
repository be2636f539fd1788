/** Functions of a remote ledger for the routes that carry a call of the library: the arguments become the request. */
import { z } from 'zod'
import { partOf, type PartOf } from '../../library/call-paths.js'
import { aboutOption, type OptionShape } from '../../schema/call.js'
import { routes, type CarriedBy, type CarryingRoute } from '../../schema/index.js'
import type { Carried, Route } from '../../schema/route.js'
import type { EndedOptions, Job } from './client.js'
import { notSupportedRemotely, withoutActor, type Remote } from './remote.js'

type CallName = CarriedBy<CarryingRoute>['call']['name']

/** The part of a ledger with the calls that routes carry. */
export type CarriedCalls = PartOf<CallName>

/** A remote, for any route. */
interface AnyRemote {
  readonly value: (name: string, request: object) => Promise<unknown>
  readonly result: (name: string, request: object, options: EndedOptions<Job>) => Promise<unknown>
}

/** The functions of all routes that carry a call. */
export function carriedCalls(remote: Remote): CarriedCalls {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names and requests are those of the routes
  const { value, result } = remote as unknown as AnyRemote

  const functionOf =
    (route: Route, { call, args = [], field }: Carried) =>
    async (...given: readonly unknown[]): Promise<unknown> => {
      const { signal, onProgress, ...options } = withoutActor(Object(given[args.length]))
      const named = Object.fromEntries(args.map((name, at) => [name, given[at]]))
      const request = requestOf(route, call.options(), { ...named, ...options })
      const answer =
        route.status === 202 ? await result(route.id, request, { signal, onProgress }) : await value(route.id, request)
      // A job has null for a result of undefined.
      return (field === undefined ? answer : Reflect.get(Object(answer), field)) ?? undefined
    }

  return partOf<CallName>(
    Object.values<Route>(routes).flatMap((route) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      route.carries === undefined ? [] : [[route.carries.call.name as CallName, functionOf(route, route.carries)]],
    ),
  )
}

/** The request with these fields. A field that is unknown here is sent, and the service rejects it. */
function requestOf(route: Route, known: OptionShape, fields: object): object {
  const params = new Map<string, unknown>()
  const query = new Map<string, unknown>()
  const body = new Map<string, unknown>()
  const bodyShape = route.body instanceof z.ZodObject ? route.body.shape : {}
  for (const [name, value] of Object.entries(fields)) {
    const part =
      name in route.params.shape ? params : name in route.query.shape || route.body === undefined ? query : body
    if (name in known && part === body && !(name in bodyShape))
      throw notSupportedRemotely(name, 'the service has its own')
    part.set(name, inJson(known[name], value))
  }
  return {
    params: Object.fromEntries(params),
    query: Object.fromEntries(query),
    ...(route.body === undefined ? {} : { body: Object.fromEntries(body) }),
  }
}

/** A time or a moment as a text. */
const inJson = (option: z.ZodType | undefined, value: unknown): unknown =>
  value instanceof Date
    ? value.toISOString()
    : typeof value === 'number' && option !== undefined && aboutOption(option).kind === 'moment'
      ? String(value)
      : value
