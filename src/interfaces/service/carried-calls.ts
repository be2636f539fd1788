/** Handlers of the routes that carry a call of the library: the request becomes its arguments, and its result the answer. */
import { withoutUndefined } from '../../lib/without-undefined.js'
import { callByName } from '../../library/call-paths.js'
import { routes, type CarryingRoute, type JobName } from '../../schema/index.js'
import type { Carried, Route } from '../../schema/route.js'
import type { CarriedCalls } from './carried-types.js'
import { etagOf, type Answer, type Parts, type RouteRequest } from './service.js'

/** A request of any of the routes. */
interface AnyRequest extends Pick<RouteRequest<CarryingRoute>, 'headers' | 'access'> {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: object
  readonly body: object | undefined
}

/** Calls the function with the arguments that are in a request. `work` has the signal and the listener of a job. */
async function resultOf(
  { ledger }: Parts,
  { call, args = [] }: Carried,
  { params, query, body, access }: AnyRequest,
  work?: object,
): Promise<unknown> {
  const known = call.options()
  const input = new Map<string, unknown>(Object.entries({ ...params, ...query, ...body }))
  const positional = args.map((name) => input.get(name))
  for (const name of args) input.delete(name)
  const added = Object.entries({ actor: access.actor, ...work }).filter(([name]) => name in known)
  const options = withoutUndefined(Object.fromEntries([...input, ...added]))
  return await callByName(ledger, call.name, Object.keys(known).length === 0 ? positional : [...positional, options])
}

const answering =
  ({ headers }: Route, carried: Carried) =>
  async (parts: Parts, request: AnyRequest): Promise<Answer> => {
    const result = await resultOf(parts, carried, request)
    const etag = 'if-none-match' in headers ? { headers: etagOf(Object(result).revision) } : {}
    return { body: carried.field === undefined ? result : { [carried.field]: result }, ...etag }
  }

const startingJob =
  (name: JobName, carried: Carried) =>
  async (parts: Parts, request: AnyRequest): Promise<Answer> => {
    const { params, headers, access } = request
    const conversationId = typeof params['conversation'] === 'string' ? params['conversation'] : undefined
    // Report a missing conversation now instead of in a job.
    if (conversationId !== undefined) for await (const _event of parts.ledger.log(conversationId, { limit: 1 })) break
    const jobRequest = { access, conversationId, prefer: headers['prefer'] }
    return await parts.jobs.start(name, jobRequest, async ({ signal, progress }) => {
      const result = await resultOf(parts, carried, request, { signal, onProgress: progress })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of the handlers states it
      return (result ?? null) as never
    })
  }

const handlerOf = (name: string, route: Route, carried: Carried) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of these routes, only jobs have this status
  route.status === 202 ? startingJob(name as JobName, carried) : answering(route, carried)

/** The handlers. */
export const carriedHandlers: CarriedCalls =
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the loop keeps the names of the routes
  Object.fromEntries(
    Object.entries<Route>(routes).flatMap(([name, route]) =>
      route.carries === undefined ? [] : [[name, handlerOf(name, route, route.carries)]],
    ),
  ) as unknown as CarriedCalls
