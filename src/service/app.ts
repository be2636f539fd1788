/**
 * The service as a function from requests to answers: authentication, routing, limits, and problem responses. It
 * contains no domain rule; each route calls one function of the ledger.
 */
import { Hono } from 'hono'
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import type { Ledger } from '../library/ledger.js'
import type { ServiceStores } from '../library/processes.js'
import type { Role } from '../ports/service-state.js'
import { routes, type RouteName } from '../schema/index.js'
import type { Route } from '../schema/route.js'
import { checkRoles, createBounds, EVERYTHING, type Access } from './access.js'
import { Authentication } from './authentication.js'
import { createCompactionMetrics } from './compaction-metrics.js'
import { Feed } from './feed.js'
import { Jobs } from './jobs.js'
import { createKeyCheck } from './keys.js'
import { createRate, jobRoom, requestRoom, streamRoom, USUAL, withinTime, type Limits } from './limits.js'
import { createServiceMetrics } from './metrics.js'
import { describeApi } from './openapi.js'
import { Refused } from './problems.js'
import { Requests, type RequestContext, type ServiceBindings } from './requests.js'
import { RouteAnswers } from './route-answers.js'
import { createUses } from './uses.js'

/** Another interface under its own path. It is called after authentication. */
export interface Mount {
  /** For instance `/mcp`; everything below it belongs to the mount. */
  readonly path: string
  /** A key with one of these is let in. */
  readonly roles: readonly Role[]
  /**
   * The header that holds the key. A proxy leaves `authorization` to its upstream, and takes the key from
   * `x-context-ledger-key`.
   */
  readonly keyHeader: 'authorization' | 'x-context-ledger-key'
  /** Answers, or throws what a route would; the request is as it came, and its body was not read. */
  readonly fetch: (request: Request, access: Access, env: unknown) => Response | Promise<Response>
}

/** What a service is made of. */
export interface ServiceOptions {
  readonly ledger: Ledger
  readonly stores: ServiceStores
  /** The pepper of key hashes; undefined if there are no keys. */
  readonly pepper?: string | undefined
  readonly limits?: Partial<Limits>
  readonly mounts?: readonly Mount[]
  /** The page, for addresses that are no route of the API. It is called after authentication. */
  readonly page?: (request: Request) => Response | Promise<Response>
  /**
   * Where it may run without keys: the port of this machine that it listens on. A request by another name than this
   * machine's own is refused then, since any page of the web can lead a browser here.
   */
  readonly ownPort?: () => number
  readonly version?: string
  /** Called with background errors, and with internal errors and the id of their request. */
  readonly onProblem?: (problem: unknown, requestId?: string) => void
}

/** A service. */
export interface Service {
  readonly app: Hono<ServiceBindings>
  /** From now on it says that it is not ready, and ends the streams. */
  drain(): void
  /** Ends streams and jobs, and writes what is to be written. The ledger stays open. */
  stop(): Promise<void>
}

const READY_MS = 2_000

const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u')
const PATHS = Object.values<Route>(routes).map(({ path, method }) => ({ pattern: patternOf(path), method }))

/** Builds a service. */
export function createService(options: ServiceOptions): Service {
  const { ledger, stores, pepper, ownPort, onProblem = () => undefined } = options
  const limits: Limits = { ...USUAL, ...options.limits }
  const draining = new AbortController()
  const register = new Registry()
  const rooms = {
    requests: requestRoom(limits.requestsAtOnce),
    streams: streamRoom(limits.streams),
    jobs: jobRoom(limits.jobs),
  }
  const metrics = createServiceMetrics(register, () => ({
    requests: rooms.requests.taken,
    streams: rooms.streams.taken,
    jobs: jobs.running(),
  }))
  stores.onCompaction(createCompactionMetrics(register).began)
  const uses = createUses(stores.keys, onProblem)
  const requests = new Requests({ room: rooms.requests, metrics, uses, draining: draining.signal, onProblem })
  const jobs = new Jobs({
    store: stores.jobs,
    room: rooms.jobs,
    problemOf: (error, requestId) => requests.problem(error, requestId),
  })
  const feed = new Feed(ledger, onProblem)
  const authentication = new Authentication({
    check: createKeyCheck(stores.keys, pepper),
    rate: createRate(limits.requestsPerMinute, stores.budget),
    ownPort,
  })
  const parts = {
    ledger,
    bounds: createBounds(ledger),
    jobs,
    feed,
    keys: stores.keys,
    heartbeatMs: limits.heartbeatMs,
    recorded: (count: number) => {
      metrics.recorded(count)
    },
  }
  const answers = new RouteAnswers({
    parts,
    authentication,
    limits,
    streamRoom: rooms.streams,
    draining: draining.signal,
    onProblem,
  })
  const app = createApp({ ...options, limits, requests, answers, authentication, register, draining: draining.signal })
  return {
    app,
    drain() {
      draining.abort()
    },
    async stop() {
      draining.abort()
      await feed.stop()
      await jobs.stop()
      await uses.stop()
    },
  }
}

/** What the addresses of a service need. */
interface Addresses extends Pick<ServiceOptions, 'stores' | 'mounts' | 'page' | 'version'> {
  readonly limits: Limits
  readonly requests: Requests
  readonly answers: RouteAnswers
  readonly authentication: Authentication
  readonly register: Registry
  readonly draining: AbortSignal
}

type App = Service['app']

/** All addresses of a service. */
function createApp(addresses: Addresses): App {
  const app: App = new Hono()
  const { requests, answers } = addresses
  for (const [name, { method, path }] of Object.entries<Route>(routes))
    app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/gu, ':$1'), (context) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a name of that very list
      requests.answer(context, name, (state) => answers.answer(context, name as RouteName, state)),
    )
  addDescription(app, addresses)
  addHealth(app, addresses)
  addMounts(app, addresses)
  addOtherAddresses(app, addresses)
  app.onError((error) => requests.problemResponse(error, randomUUID()))
  return app
}

function addDescription(app: App, { requests, version = 'unknown' }: Addresses): void {
  let description: string | undefined
  app.get('/openapi.json', (context) =>
    requests.answer(context, 'openapi', async (state) => {
      state.access = EVERYTHING
      description ??= JSON.stringify(describeApi(version))
      return new Response(description, { headers: { 'content-type': 'application/json' } })
    }),
  )
}

/** Health and metrics. Health checks need no key, and reveal nothing about the ledger. */
function addHealth(app: App, { requests, authentication, register, stores, draining }: Addresses): void {
  app.get('/healthz', () => Response.json({ status: 'ok' }))
  app.get('/readyz', async () => {
    const isReady =
      !draining.aborted &&
      (await withinTime(stores.ping(), READY_MS).then(
        () => true,
        () => false,
      ))
    return Response.json({ status: isReady ? 'ready' : 'not ready' }, { status: isReady ? 200 : 503 })
  })
  app.get('/metrics', (context) =>
    requests.answer(context, 'metrics', async (state) => {
      state.access = await authentication.identify(context.req.raw.headers, 'authorization')
      checkRoles(state.access, { roles: ['audit', 'operate'], reach: 'ledger' })
      return new Response(await register.metrics(), { headers: { 'content-type': register.contentType } })
    }),
  )
}

function addMounts(app: App, { requests, authentication, mounts = [] }: Addresses): void {
  for (const { path, keyHeader, roles, fetch } of mounts) {
    const handle = (context: RequestContext): Promise<Response> =>
      requests.answer(context, `mount ${path}`, async (state) => {
        state.access = await authentication.identify(context.req.raw.headers, keyHeader)
        checkRoles(state.access, { roles, reach: 'some' })
        return await fetch(context.req.raw, state.access, context.env)
      })
    app.all(path, handle)
    app.all(`${path}/*`, handle)
  }
}

/** The page, and addresses that do not exist. */
function addOtherAddresses(app: App, { requests, authentication, page, limits }: Addresses): void {
  app.all('*', (context) => {
    const { path, method } = context.req
    const { headers } = context.req.raw
    const otherMethods = PATHS.filter(({ pattern }) => pattern.test(path)).map((other) => other.method.toUpperCase())
    const isApi = path === '/v1' || path.startsWith('/v1/') || otherMethods.length > 0
    return requests.answer(context, isApi || page === undefined ? 'none' : 'page', async (state) => {
      if (!isApi && page !== undefined) {
        state.access = await authentication.identifyForPage(headers)
        return await withinTime(Promise.resolve(page(context.req.raw)), limits.requestMs)
      }
      state.access = await authentication.identify(headers, 'authorization')
      if (otherMethods.length > 0)
        throw new Refused(
          'MethodNotAllowed',
          `${method} does not fit this address, which takes ${otherMethods.join(', ')}`,
          {},
          { allow: otherMethods.join(', ') },
        )
      throw new Refused('NoSuchRoute', 'there is no such address; /openapi.json describes those that there are')
    })
  })
}
