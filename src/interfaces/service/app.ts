/**
 * The service as a function from requests to answers: authentication, routing, limits, and problem responses. It
 * contains no domain rule; each route calls one function of the ledger.
 */
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import type { Ledger } from '../../library/ledger.js'
import type { ServiceStores } from '../../library/processes.js'
import { isFromOtherSite } from '../../lib/cross-site.js'
import { PAGE_HEADERS } from '../page/security.js'
import type { Role } from '../../ports/service-state.js'
import { checkRoles, createBounds, EVERYTHING, type Access } from './access.js'
import { Authentication } from './authentication.js'
import { bytesOf } from './body.js'
import { createCompactionMetrics } from './compaction-metrics.js'
import { routes, type RouteName } from '../../schema/index.js'
import type { Route } from '../../schema/route.js'
import { createFeed } from './feed.js'
import { Jobs } from './jobs.js'
import { roomsOf, Shares, USUAL, type Limits } from './limits.js'
import { createServiceMetrics } from './metrics.js'
import { describeApi } from './openapi.js'
import { LOGIN_BYTES, LOGIN_PATH, loginForm, ownPath } from './page-session.js'
import { Refused } from './problems.js'
import { checkSite, Requests, withinTime, type AnsweredRequest, type Ctx, type Under } from './requests.js'
import { RouteAnswers } from './route-answers.js'
import type { Parts } from './service.js'
import { Uploads } from './uploads.js'
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
  /** It forwards requests: those of other sites are refused with every method, and an upload may be a form. */
  readonly forwards?: true
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
  /** Called with each answered request, except health checks. Nothing of it is content. */
  readonly onAnswer?: (request: AnsweredRequest) => void
  /** Called with background errors, and with internal errors and the id of their request. */
  readonly onProblem?: (problem: unknown, requestId?: string) => void
}

/** A service. */
export interface Service {
  readonly app: Hono<{ Bindings: Partial<HttpBindings> }>
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
  const service = new ServiceApp(options)
  return {
    app: service.app,
    drain() {
      service.drain()
    },
    stop: async () => {
      await service.stop()
    },
  }
}

/** The addresses of a service: routes, description, health, mounts and the page. */
class ServiceApp {
  readonly app = new Hono<{ Bindings: Partial<HttpBindings> }>()
  private readonly limits: Limits
  private readonly rooms: ReturnType<typeof roomsOf>
  private readonly register = new Registry()
  private readonly draining = new AbortController()
  private readonly uses: ReturnType<typeof createUses>
  private readonly parts: Parts
  private readonly requests: Requests
  private readonly authentication: Authentication
  private readonly routes: RouteAnswers

  constructor(options: ServiceOptions) {
    const { ledger, stores, onProblem = () => undefined, onAnswer = () => undefined } = options
    const limits = { ...USUAL, ...options.limits }
    const rooms = roomsOf(limits)
    this.limits = limits
    this.rooms = rooms
    this.uses = createUses(stores.keys, onProblem, () => ledger.admin.secrets.redactor())
    const jobs = new Jobs({
      store: stores.jobs,
      room: rooms.jobs,
      problemOf: (error, requestId) => this.requests.reportedProblem(error, requestId),
    })
    const metrics = createServiceMetrics(this.register, () => ({
      requests: rooms.requests.taken + rooms.forwarded.taken + rooms.logins.taken,
      streams: rooms.streams.taken,
      jobs: jobs.running(),
    }))
    stores.onCompaction(createCompactionMetrics(this.register).began)
    const draining = this.draining.signal
    this.requests = new Requests({
      room: rooms.requests,
      shares: new Shares(limits.requestsOfKey, 'requests', 1),
      metrics,
      uses: this.uses,
      onAnswer,
      onProblem,
      draining,
    })
    this.authentication = new Authentication(options, limits)
    this.parts = {
      ledger,
      bounds: createBounds(ledger),
      jobs,
      feed: createFeed(ledger, onProblem),
      uploads: new Uploads(ledger),
      keys: stores.keys,
      heartbeatMs: limits.heartbeatMs,
      recorded: (count) => {
        metrics.recorded(count)
      },
    }
    const { parts, requests, authentication } = this
    this.routes = new RouteAnswers({
      parts,
      limits,
      authentication,
      requests,
      streamRoom: rooms.streams,
      draining,
      onProblem,
    })
    this.addRoutes()
    this.addDescription(options.version ?? 'unknown')
    this.addHealth(stores)
    this.addMounts(options.mounts ?? [])
    this.addPage(options.page)
    this.app.onError((error) => requests.problemResponse(error, randomUUID()))
  }

  /** Rejects further requests. */
  drain(): void {
    this.draining.abort()
  }

  async stop(): Promise<void> {
    this.drain()
    await this.parts.feed.stop()
    await this.parts.jobs.stop()
    await this.uses.stop()
  }

  private addRoutes(): void {
    for (const [name, { method, path }] of Object.entries<Route>(routes))
      this.app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/gu, ':$1'), (context) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a name of that very list
        this.requests.answered(context, name, (under) => this.routes.answer(context, name as RouteName, under)),
      )
  }

  private addDescription(version: string): void {
    let description: string | undefined
    this.app.get('/openapi.json', (context) =>
      this.requests.answered(context, 'openapi', async (under) => {
        under.access = EVERYTHING
        description ??= JSON.stringify(describeApi(version))
        return new Response(description, { headers: { 'content-type': 'application/json' } })
      }),
    )
    this.app.get('/metrics', (context) =>
      this.requests.answered(context, 'metrics', async (under) => {
        const access = this.requests.enter(
          under,
          await this.authentication.whoAsks(context.req.raw.headers, 'authorization'),
        )
        checkRoles(access, { roles: ['audit', 'operate'], reach: 'ledger' })
        return new Response(await this.register.metrics(), { headers: { 'content-type': this.register.contentType } })
      }),
    )
  }

  private addHealth(stores: ServiceOptions['stores']): void {
    // Health checks need no key. They reveal nothing about the ledger.
    this.app.get('/healthz', () => Response.json({ status: 'ok' }))
    this.app.get('/readyz', async () => {
      const isReady =
        !this.draining.signal.aborted &&
        (await withinTime(stores.ping(), READY_MS).then(
          () => true,
          () => false,
        ))
      return Response.json({ status: isReady ? 'ready' : 'not ready' }, { status: isReady ? 200 : 503 })
    })
  }

  private addMounts(mounts: NonNullable<ServiceOptions['mounts']>): void {
    for (const mount of mounts) {
      const { forwards = false } = mount
      const answer = async ({ req, env }: Ctx, under: Under): Promise<Response> => {
        checkSite(req.raw, forwards)
        const access = await this.authentication.whoAsks(req.raw.headers, mount.keyHeader)
        // A model may take minutes: a forwarded request takes no place of those that are answered here.
        if (forwards) under.access = access
        else this.requests.enter(under, access)
        checkRoles(access, { roles: mount.roles, reach: 'some' })
        return await mount.fetch(req.raw, access, env)
      }
      const requestRoom = forwards ? this.rooms.forwarded : this.rooms.requests
      const handle = (context: Ctx): Promise<Response> =>
        this.requests.answered(context, `mount ${mount.path}`, (under) => answer(context, under), requestRoom)
      this.app.all(mount.path, handle)
      this.app.all(`${mount.path}/*`, handle)
    }
  }

  /** The page, and refusals of unknown addresses. */
  private addPage(page: ServiceOptions['page']): void {
    if (page !== undefined)
      this.app.post(LOGIN_PATH, (context) =>
        this.requests.answered(context, 'page', (under) => this.logIn(context, under), this.rooms.logins),
      )
    this.app.all('*', (context) => {
      const { path, method } = context.req
      const otherMethods = PATHS.filter(({ pattern }) => pattern.test(path)).map((other) => other.method.toUpperCase())
      const isApi = path === '/v1' || path.startsWith('/v1/') || otherMethods.length > 0
      return this.requests.answered(context, isApi || page === undefined ? 'none' : 'page', async (under) => {
        checkSite(context.req.raw)
        if (!isApi && page !== undefined) {
          const access = await this.authentication.whoSeesThePage(context.req.raw)
          if (access === undefined) {
            const { pathname, search } = new URL(context.req.url)
            return loginForm(`${pathname}${search}`)
          }
          this.requests.enter(under, access)
          return await withinTime(Promise.resolve(page(context.req.raw)), this.limits.requestMs)
        }
        this.requests.enter(under, await this.authentication.whoAsks(context.req.raw.headers, 'authorization'))
        if (otherMethods.length > 0)
          throw new Refused(
            'MethodNotAllowed',
            `${method} does not fit this address, which takes ${otherMethods.join(', ')}`,
            {},
            { allow: otherMethods.join(', ') },
          )
        throw new Refused('NoSuchRoute', 'there is no such route; see /openapi.json for all routes')
      })
    })
  }

  private async logIn({ req, env }: Ctx, under: Under): Promise<Response> {
    if (isFromOtherSite(req.raw.headers))
      throw new Refused('OtherSite', 'a page of another site made the browser send this login')
    const limits = { bytes: LOGIN_BYTES, ms: Math.min(this.limits.loginMs, this.limits.requestMs) }
    const form = new URLSearchParams((await bytesOf(req.raw, env.incoming, limits)).toString('utf8'))
    const next = ownPath(form.get('next'))
    const login = await this.authentication.logIn(form.get('key')?.trim() ?? '')
    if (login === undefined) return loginForm(next, 'This key is not known, or revoked.')
    this.requests.enter(under, login.access)
    const cookie = login.cookie(req.url.startsWith('https:') || req.header('x-forwarded-proto') === 'https')
    return new Response(null, { status: 303, headers: { location: next, 'set-cookie': cookie, ...PAGE_HEADERS } })
  }
}
