/**
 * The service as a function from requests to answers: authentication, routing, limits, and problem responses. It
 * contains no domain rule; each route calls one function of the ledger.
 */
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { SpanKind } from '@opentelemetry/api'
import { either as E } from 'fp-ts'
import { Hono, type Context } from 'hono'
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { IncomingMessage } from 'node:http'
import { Registry } from 'prom-client'
import { checkId } from '../../domain/values/ids.js'
import { inSpan } from '../../library/spans.js'
import type { Ledger } from '../../library/ledger.js'
import { kindOf, problem } from '../../library/problem.js'
import type { ServiceStores } from '../../library/processes.js'
import { formTypeOf, isFromOtherSite } from '../../lib/cross-site.js'
import { isOwnHost, PAGE_HEADERS } from '../page/security.js'
import type { KeyRecord, Role } from '../../ports/service-state.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { answerBeforeEnd } from '../../lib/unread-body.js'
import { accessOf, checkRoles, createBounds, EVERYTHING, keyGiven, type Access } from './access.js'
import { bytesOf, valueOf } from './body.js'
import { createCompactionMetrics } from './compaction-metrics.js'
import { routes, type RouteName } from '../../schema/index.js'
import type { Route } from '../../schema/route.js'
import { createFeed } from './feed.js'
import { handlers } from './handlers.js'
import { Jobs } from './jobs.js'
import { createKeyCheck } from './keys.js'
import { createRate, roomsOf, Shares, USUAL, type Limits, type Room } from './limits.js'
import { createServiceMetrics } from './metrics.js'
import { describeApi } from './openapi.js'
import { keyOfSession, LOGIN_BYTES, LOGIN_PATH, loginForm, ownPath, sessionCookie } from './page-session.js'
import { problemOf, Refused } from './problems.js'
import { withDecodedPosition } from './positions.js'
import { MAY_BE_EMPTY, parsed, parsedInParts, queryOf, refuseConditions } from './request-input.js'
import type { Answer, Parts } from './service.js'
import { eventStream } from './sse.js'
import { Uploads } from './uploads.js'
import { createUses } from './uses.js'
import { toWire } from '../../domain/values/revision.js'

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

/** What a log of requests shows of one. */
export interface AnsweredRequest {
  /** Time of the answer, as ISO 8601. */
  readonly at: string
  readonly method: string
  /** Name of the operation in the API description, without ids; `page`, `mount /mcp` and the like for others. */
  readonly route: string
  readonly status: number
  /** Until the answer began. */
  readonly milliseconds: number
  /** Id of the key; undefined without a valid one. */
  readonly keyId?: string
  readonly requestId: string
  /** Kind of the failure. */
  readonly kind?: string
}

/** A service. */
export interface Service {
  readonly app: Hono<{ Bindings: Partial<HttpBindings> }>
  /** From now on it says that it is not ready, and ends the streams. */
  drain(): void
  /** Ends streams and jobs, and writes what is to be written. The ledger stays open. */
  stop(): Promise<void>
}

type Ctx = Context<{ Bindings: Partial<HttpBindings> }>

/** What is known of a request while it is answered. */
interface Under {
  readonly requestId: string
  /** Whether the caller chose the id. */
  readonly isIdGiven: boolean
  readonly method: string
  readonly route: string
  /** Kind of the failure with which it was answered. */
  kind: string | undefined
  access: Access | undefined
  conversationId: string | undefined
  /** Leaves the place of the key; undefined before the key is known. */
  leave: (() => void) | undefined
  /** The status of an answer that is written already. */
  status: number | undefined
}

/** Whether a route may begin a conversation. A list that is compressed names no scope, so none begins within one by it. */
const mayBegin = (name: RouteName, { bound }: Access): boolean =>
  name === 'appendMessages' || name === 'observe' || (name === 'compress' && (bound === undefined || 'prefix' in bound))

/** Routes that search texts. They take longer than a read, and a store answers few of them at once. */
const SEARCHES: ReadonlySet<string> = new Set<RouteName>(['search', 'useTool', 'listConversations', 'getTotals'])

/** From this number of bytes on, the steps for a body take turns with other requests. */
const LARGE_BODY = 262_144

const REQUEST_ID = /^[\w.:-]{1,128}$/u
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

/** Rejects names of other machines and pages of other sites; for a service without keys. */
function checkHost(headers: Headers, port: number): void {
  if (!isOwnHost(headers.get('host') ?? undefined, port))
    throw new Refused('WrongHost', 'this service runs without keys and answers to the names of this machine alone')
  const origin = headers.get('origin')
  if (origin !== null && isFromOtherSite(headers))
    throw new Refused('WrongHost', 'this service runs without keys and answers no pages of other sites')
}

/**
 * Rejects requests that a page of another site can make a browser send: a GET changes nothing here, and its answer cannot
 * be read there.
 */
function checkSite({ method, headers }: Request, forwards = false): void {
  const isReading = method === 'GET' || method === 'HEAD'
  if ((!isReading || forwards) && isFromOtherSite(headers))
    throw new Refused('OtherSite', 'a page of another site made the browser send this request')
  const form = formTypeOf(headers)
  if (!isReading && !forwards && form !== undefined)
    throw new Refused('WrongContentType', `the body has to be application/json, and is "${form}", as a form sends it`)
}

/** The routes with their keys, limits, metrics and answers. */
class ServiceApp {
  readonly app = new Hono<{ Bindings: Partial<HttpBindings> }>()
  private readonly limits: Limits
  private readonly ownPort: ServiceOptions['ownPort']
  private readonly onProblem: NonNullable<ServiceOptions['onProblem']>
  private readonly onAnswer: NonNullable<ServiceOptions['onAnswer']>
  private readonly pepper: string | undefined
  private readonly check: ReturnType<typeof createKeyCheck>
  private readonly bounds: ReturnType<typeof createBounds>
  private readonly rate: ReturnType<typeof createRate>
  private readonly uses: ReturnType<typeof createUses>
  private readonly feed: ReturnType<typeof createFeed>
  private readonly jobs: Jobs
  private readonly rooms: ReturnType<typeof roomsOf>
  private readonly requestShares: Shares
  private readonly searchShares: Shares
  private readonly streamShares: Shares
  private readonly register = new Registry()
  private readonly metrics: ReturnType<typeof createServiceMetrics>
  private readonly draining = new AbortController()
  private readonly parts: Parts

  constructor(options: ServiceOptions) {
    const { ledger, stores, pepper } = options
    this.limits = { ...USUAL, ...options.limits }
    this.ownPort = options.ownPort
    this.onProblem = options.onProblem ?? (() => undefined)
    this.onAnswer = options.onAnswer ?? (() => undefined)
    this.pepper = pepper
    this.check = createKeyCheck(stores.keys, pepper)
    this.bounds = createBounds(ledger)
    this.rate = createRate(this.limits.requestsPerMinute, stores.budget)
    this.uses = createUses(stores.keys, this.onProblem, () => ledger.admin.secrets.redactor())
    this.feed = createFeed(ledger, this.onProblem)
    const rooms = roomsOf(this.limits)
    this.rooms = rooms
    const { requestsOfKey, searchesOfKey, streamsOfKey } = this.limits
    this.requestShares = new Shares(requestsOfKey, 'requests', 1)
    this.searchShares = new Shares(searchesOfKey, 'searches', 1)
    this.streamShares = new Shares(streamsOfKey, 'event streams', 10)
    this.jobs = new Jobs({
      store: stores.jobs,
      room: rooms.jobs,
      problemOf: (error, requestId) => this.reportedProblem(error, requestId),
    })
    this.metrics = createServiceMetrics(this.register, () => ({
      requests: rooms.requests.taken + rooms.forwarded.taken + rooms.logins.taken,
      streams: rooms.streams.taken,
      jobs: this.jobs.running(),
    }))
    stores.onCompaction(createCompactionMetrics(this.register).began)
    this.parts = this.partsOf(options)
    this.addRoutes()
    this.addDescription(options.version ?? 'unknown')
    this.addHealth(stores)
    this.addMounts(options.mounts ?? [])
    this.addPage(options.page)
    this.app.onError((error) => this.problemResponse(error, randomUUID()))
  }

  /** Rejects further requests. */
  drain(): void {
    this.draining.abort()
  }

  async stop(): Promise<void> {
    this.drain()
    await this.feed.stop()
    await this.jobs.stop()
    await this.uses.stop()
  }

  private partsOf({ ledger, stores }: ServiceOptions): Parts {
    return {
      ledger,
      bounds: this.bounds,
      jobs: this.jobs,
      feed: this.feed,
      uploads: new Uploads(ledger),
      keys: stores.keys,
      heartbeatMs: this.limits.heartbeatMs,
      recorded: (count) => {
        this.metrics.recorded(count)
      },
    }
  }

  private addRoutes(): void {
    for (const [name, { method, path }] of Object.entries<Route>(routes))
      this.app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/gu, ':$1'), (context) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a name of that very list
        this.answered(context, name, (under) => this.answerRoute(context, name as RouteName, under)),
      )
  }

  private addDescription(version: string): void {
    let description: string | undefined
    this.app.get('/openapi.json', (context) =>
      this.answered(context, 'openapi', async (under) => {
        under.access = EVERYTHING
        description ??= JSON.stringify(describeApi(version))
        return new Response(description, { headers: { 'content-type': 'application/json' } })
      }),
    )
    this.app.get('/metrics', (context) =>
      this.answered(context, 'metrics', async (under) => {
        const access = this.enter(under, await this.whoAsks(context.req.raw.headers, 'authorization'))
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
        const access = await this.whoAsks(req.raw.headers, mount.keyHeader)
        // A model may take minutes: a forwarded request takes no place of those that are answered here.
        if (forwards) under.access = access
        else this.enter(under, access)
        checkRoles(access, { roles: mount.roles, reach: 'some' })
        return await mount.fetch(req.raw, access, env)
      }
      const room = forwards ? this.rooms.forwarded : this.rooms.requests
      const handle = (context: Ctx): Promise<Response> =>
        this.answered(context, `mount ${mount.path}`, (under) => answer(context, under), room)
      this.app.all(mount.path, handle)
      this.app.all(`${mount.path}/*`, handle)
    }
  }

  /** The page, and refusals of unknown addresses. */
  private addPage(page: ServiceOptions['page']): void {
    if (page !== undefined)
      this.app.post(LOGIN_PATH, (context) =>
        this.answered(context, 'page', (under) => this.logIn(context, under), this.rooms.logins),
      )
    this.app.all('*', (context) => {
      const { path, method } = context.req
      const otherMethods = PATHS.filter(({ pattern }) => pattern.test(path)).map((other) => other.method.toUpperCase())
      const isApi = path === '/v1' || path.startsWith('/v1/') || otherMethods.length > 0
      return this.answered(context, isApi || page === undefined ? 'none' : 'page', async (under) => {
        checkSite(context.req.raw)
        if (!isApi && page !== undefined) {
          const access = await this.whoSeesThePage(context.req.raw)
          if (access === undefined) {
            const { pathname, search } = new URL(context.req.url)
            return loginForm(`${pathname}${search}`)
          }
          this.enter(under, access)
          return await withinTime(Promise.resolve(page(context.req.raw)), this.limits.requestMs)
        }
        this.enter(under, await this.whoAsks(context.req.raw.headers, 'authorization'))
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

  private reportedProblem(error: unknown, requestId: string): ReturnType<typeof problemOf> {
    const problemData = problemOf(error, requestId)
    if (problemData.status >= 500 && !(error instanceof Refused)) this.onProblem(error, requestId)
    return problemData
  }

  private problemResponse(error: unknown, requestId: string): Response {
    const { status, headers, body } = this.reportedProblem(error, requestId)
    const all = { 'content-type': 'application/problem+json', 'x-request-id': requestId, ...headers }
    const rest = error instanceof Refused ? error.rest : undefined
    return rest === undefined
      ? new Response(toWire(body), { status, headers: all })
      : answerBeforeEnd(toWire(body), rest, status, all)
  }

  /** Identity of the request; throws if its credentials are not accepted. */
  private async whoAsks(headers: Headers, header: string): Promise<Access> {
    if (!(await this.check.areNeeded()) && this.ownPort !== undefined) {
      checkHost(headers, this.ownPort())
      return EVERYTHING
    }
    const challenge = { 'www-authenticate': 'Bearer realm="context-ledger"' }
    const key = keyGiven(headers, header)
    if (key === undefined)
      throw new Refused(
        'KeyMissing',
        `give a key: \`${header}: Bearer KEY\`; \`context-ledger keys create\` makes one`,
        {},
        challenge,
      )
    const record = await this.check.check(key)
    if (record === undefined)
      throw new Refused('KeyRefused', 'this key is not known here, or it was revoked', {}, challenge)
    return await this.accessBy(record, async () => (await this.check.check(key)) !== undefined)
  }

  private async accessBy(record: KeyRecord, isCurrent: Access['isCurrent']): Promise<Access> {
    const access = accessOf(record, this.pepper ?? '', isCurrent)
    await this.rate(record.id)
    return access
  }

  /** Takes a place of the key and one of the service for a stream. */
  private takeStream({ keyId }: Access): () => void {
    const leaveShare = this.streamShares.take(keyId)
    try {
      const leaveRoom = this.rooms.streams.take()
      return () => {
        leaveShare()
        leaveRoom()
      }
    } catch (error) {
      leaveShare()
      throw error
    }
  }

  /** Takes the place of a key for a request. */
  private enter(under: Under, access: Access): Access {
    under.access = access
    under.leave = this.requestShares.take(access.keyId)
    return access
  }

  /** Answers within the limits, and keeps account of it. */
  private async answered(
    context: Ctx,
    route: string,
    work: (under: Under) => Promise<Response>,
    room: Room = this.rooms.requests,
  ): Promise<Response> {
    const began = performance.now()
    const given = context.req.header('x-request-id') ?? ''
    const isIdGiven = REQUEST_ID.test(given)
    const requestId = isIdGiven ? given : randomUUID()
    const { method } = context.req
    const under: Under = {
      requestId,
      isIdGiven,
      method,
      route,
      kind: undefined,
      access: undefined,
      conversationId: undefined,
      leave: undefined,
      status: undefined,
    }
    let response: Response
    try {
      if (this.draining.signal.aborted)
        throw new Refused(
          'ShuttingDown',
          'this process is shutting down: ask again, and another answers',
          {},
          { connection: 'close' },
        )
      const leave = room.take()
      response = await inSpan(
        `${method} ${route}`,
        { kind: SpanKind.SERVER, attributes: { 'http.request.method': method, 'http.route': route } },
        async (span) => {
          const answer = await work(under)
          span.setAttribute('http.response.status_code', under.status ?? answer.status)
          if (under.conversationId !== undefined) span.setAttribute('gen_ai.conversation.id', under.conversationId)
          return answer
        },
      ).finally(() => {
        leave()
        under.leave?.()
      })
    } catch (error) {
      under.status = undefined
      under.kind = kindOf(error)
      response = this.problemResponse(error, requestId)
    }
    this.account(under, response, (performance.now() - began) / 1_000)
    return response
  }

  /** Counts the request, and records the use of its key. */
  private account(under: Under, response: Response, seconds: number): void {
    const { route, method, requestId, kind, status = response.status } = under
    const keyId = under.access?.keyId
    const at = new Date().toISOString()
    this.metrics.answered({ route, status, seconds })
    const milliseconds = Math.round(seconds * 1_000_000) / 1_000
    this.onAnswer(withoutUndefined({ at, method, route, status, milliseconds, keyId, requestId, kind }))
    // Without keys there is no identity to record.
    if (keyId !== undefined || under.access === undefined)
      this.uses.note(
        { at, keyId, route, conversationId: under.conversationId?.slice(0, 1_000), status, requestId },
        under.isIdGiven,
      )
  }

  private async answerRoute(context: Ctx, name: RouteName, under: Under): Promise<Response> {
    const route: Route = routes[name]
    const { headers } = context.req.raw
    const conversation = route.reach === 'conversation' ? context.req.param('conversation') : undefined
    const checked = conversation === undefined ? undefined : checkId('conversationId', conversation)
    // An invalid conversation id is in no table, including the uses of keys.
    if (checked !== undefined && E.isRight(checked)) under.conversationId = checked.right
    checkSite(context.req.raw)
    const access = this.enter(under, await this.whoAsks(headers, 'authorization'))
    checkRoles(access, route)
    if (checked !== undefined && E.isLeft(checked)) throw problem(checked.left)
    if (context.req.raw.method === 'HEAD' && route.stream !== undefined)
      throw new Refused('MethodNotAllowed', 'a stream is read by GET', {}, { allow: 'GET' })
    const params = parsed(route.params, context.req.param(), 'the address')
    const query = withDecodedPosition(
      parsed(route.query, queryOf(context.req.url, route), 'the address'),
      access.positions,
    )
    if (conversation !== undefined) await this.bounds.check(access, conversation, mayBegin(name, access))
    const incoming: IncomingMessage | undefined = context.env.incoming
    const raw =
      route.body === undefined
        ? undefined
        : await valueOf(
            context.req.raw,
            incoming,
            { bytes: this.limits.bodyBytes, ms: this.limits.requestMs },
            MAY_BE_EMPTY.has(name),
          )
    // Other requests are answered between the steps of a large one.
    const isLarge = raw !== undefined && Number(headers.get('content-length') ?? Infinity) > LARGE_BODY
    if (isLarge) await nextTurn()
    const given =
      route.body === undefined
        ? undefined
        : isLarge
          ? await parsedInParts(route.body, raw)
          : parsed(route.body, raw ?? {}, 'the body')
    const body = withDecodedPosition(given, access.positions)
    const heeded = Object.fromEntries(
      Object.keys(route.headers).map((header) => [header, headers.get(header) ?? undefined]),
    )
    refuseConditions(route, headers)
    if (isLarge) await nextTurn()
    // Each handler takes what its own route gives; the compiler sees only that there are many of them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const handle = handlers[name] as (parts: Parts, asked: object) => Promise<Answer>
    // The body had a time of its own.
    const leaveSearch = SEARCHES.has(name) ? this.searchShares.take(access.keyId) : undefined
    const answer = await withinTime(
      // A search that takes too long goes on after its answer, and keeps its place.
      handle(this.parts, { params, query, body, raw, headers: heeded, access }).finally(leaveSearch),
      this.limits.requestMs,
    )
    return this.send(context, route, answer, { under, access })
  }

  private send(
    context: Ctx,
    route: Route,
    answer: Answer,
    { under, access }: { readonly under: Under; readonly access: Access },
  ): Response {
    const headers = { 'x-request-id': under.requestId, 'cache-control': 'no-store', ...answer.headers }
    if (answer.stream !== undefined) {
      const leave = this.takeStream(access)
      const { idOf, read } = answer.stream
      return eventStream(
        { idOf, read: (signal) => whileCurrent(read(signal), access) },
        {
          headers,
          leave,
          ended: this.draining.signal,
          stallMs: this.limits.stallMs,
          outgoing: context.env.outgoing,
          onProblem: this.onProblem,
        },
      )
    }
    if (route.headers['if-none-match'] !== undefined && route.method === 'get') {
      const etag = answer.headers?.['etag']
      if (etag !== undefined && isAmong(context.req.header('if-none-match'), etag))
        return write(context, under, 304, headers)
    }
    if (answer.body === undefined) return write(context, under, 204, headers)
    return write(
      context,
      under,
      answer.status ?? route.status,
      { 'content-type': 'application/json', ...headers },
      toWire(answer.body),
    )
  }

  /** The page shows the whole ledger: it takes a key that may read and audit all of it. Undefined without a login. */
  private async whoSeesThePage({ method, headers }: Request): Promise<Access | undefined> {
    const access = await this.sessionOf(headers)
    if (access === undefined && headers.get('authorization') === null && (await this.check.areNeeded()))
      if (method === 'GET' && (headers.get('accept') ?? '').includes('text/html')) return undefined
    const reader = access ?? (await this.whoAsks(headers, 'authorization'))
    checkPageRoles(reader)
    return reader
  }

  /** Access by the login of the page. */
  private async sessionOf(headers: Headers): Promise<Access | undefined> {
    const { pepper, check } = this
    const find = async (): Promise<KeyRecord | undefined> =>
      pepper === undefined ? undefined : await keyOfSession(pepper, headers, (id) => check.find(id), Date.now())
    const key = await find()
    return key === undefined ? undefined : await this.accessBy(key, async () => (await find()) !== undefined)
  }

  private async logIn({ req, env }: Ctx, under: Under): Promise<Response> {
    if (isFromOtherSite(req.raw.headers))
      throw new Refused('OtherSite', 'a page of another site made the browser send this login')
    const limits = { bytes: LOGIN_BYTES, ms: Math.min(this.limits.loginMs, this.limits.requestMs) }
    const form = new URLSearchParams((await bytesOf(req.raw, env.incoming, limits)).toString('utf8'))
    const next = ownPath(form.get('next'))
    const record = await this.check.check(form.get('key')?.trim() ?? '')
    if (record === undefined || this.pepper === undefined) return loginForm(next, 'This key is not known, or revoked.')
    const access = await this.accessBy(record, () => Promise.resolve(true))
    checkPageRoles(access)
    this.enter(under, access)
    const isSecure = req.url.startsWith('https:') || req.header('x-forwarded-proto') === 'https'
    const cookie = sessionCookie(this.pepper, record, isSecure, Date.now())
    return new Response(null, { status: 303, headers: { location: next, 'set-cookie': cookie, ...PAGE_HEADERS } })
  }
}

function checkPageRoles(access: Access): void {
  checkRoles(access, { roles: ['read'], reach: 'ledger' })
  checkRoles(access, { roles: ['audit'], reach: 'ledger' })
}

/** The items of a stream until its key is revoked. Each item waits for the check, which reads the store every two seconds. */
async function* whileCurrent<Item>(items: AsyncIterable<Item>, access: Access): AsyncGenerator<Item> {
  for await (const item of items) {
    if (!(await access.isCurrent())) return
    yield item
  }
}

/** Writes a complete answer. On Node's server it goes directly to the connection, without a web stream. */
function write(
  { env: { outgoing } }: Ctx,
  under: Under,
  status: number,
  headers: Readonly<Record<string, string>>,
  text?: string,
): Response {
  if (outgoing === undefined) return new Response(text ?? null, { status, headers })
  under.status = status
  if (text === undefined) outgoing.writeHead(status, headers).end()
  else outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text)
  return RESPONSE_ALREADY_SENT
}

/** Whether an ETag is among those of a header. */
const isAmong = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' || header.split(',').some((one) => one.trim().replace(/^W\//u, '') === etag))

/** The result, or a refusal after the time limit. Work that has started continues. */
async function withinTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new Refused(
          'TookTooLong',
          `it took more than ${String(ms / 1_000)} seconds, and may still be done: send the same again (an append with the same idempotency-key records nothing twice)`,
        ),
      )
    }, ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}
