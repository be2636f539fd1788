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
import type { IncomingMessage } from 'node:http'
import { Registry } from 'prom-client'
import { unknownName } from '../domain/text/known-names.js'
import { checkId } from '../domain/values/ids.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { inSpan } from '../library/spans.js'
import type { Ledger } from '../library/ledger.js'
import { problem } from '../library/problem.js'
import type { ServiceStores } from '../library/processes.js'
import { isOwnHost } from '../page/security.js'
import type { Role } from '../ports/service-state.js'
import { answerBeforeEnd } from '../lib/unread-body.js'
import { accessOf, checkRoles, createBounds, EVERYTHING, keyGiven, type Access } from './access.js'
import { valueOf } from './body.js'
import { createCompactionMetrics } from './compaction-metrics.js'
import { routes, type RouteName } from '../schema/index.js'
import type { Route } from '../schema/route.js'
import { createFeed } from './feed.js'
import { Jobs } from './jobs.js'
import { createKeyCheck } from './keys.js'
import { createRate, Room, USUAL, type Limits } from './limits.js'
import { createServiceMetrics } from './metrics.js'
import { describeApi } from './openapi.js'
import { problemOf, Refused } from './problems.js'
import { agentHandlers } from './routes/agent.js'
import { conversationHandlers } from './routes/conversations.js'
import { editionHandlers } from './routes/editions.js'
import { eventHandlers } from './routes/events.js'
import { historyHandlers } from './routes/history.js'
import { messageHandlers } from './routes/messages.js'
import { operatingHandlers } from './routes/operating.js'
import type { Answer, Handlers, Parts } from './service.js'
import { eventStream } from './sse.js'
import { createUses } from './uses.js'
import { toWire } from '../lib/json.js'

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
  readonly route: string
  access: Access | undefined
  conversationId: string | undefined
  /** The status of an answer that is written already. */
  status: number | undefined
}

/** What answers each route. */
const handlers: Handlers = {
  ...conversationHandlers,
  ...messageHandlers,
  ...agentHandlers,
  ...historyHandlers,
  ...editionHandlers,
  ...operatingHandlers,
  ...eventHandlers,
}

/** Routes with an optional body. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(
  Object.entries<Route>(routes).flatMap(([name, { body }]) => (body?.safeParse({}).success === true ? [name] : [])),
)

/** Whether a route may begin a conversation. A list that is compressed names no scope, so none begins within one by it. */
const mayBegin = (name: RouteName, { bound }: Access): boolean =>
  name === 'appendMessages' || name === 'observe' || (name === 'compress' && (bound === undefined || 'prefix' in bound))

const REQUEST_ID = /^[\w.:-]{1,128}$/u
const READY_MS = 2_000

const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u')
const PATHS = Object.values<Route>(routes).map(({ path, method }) => ({ pattern: patternOf(path), method }))

/** Builds a service. */
export function createService(options: ServiceOptions): Service {
  const { ledger, stores, pepper, mounts = [], page, ownPort, version = 'unknown' } = options
  const limits: Limits = { ...USUAL, ...options.limits }
  const onProblem = options.onProblem ?? (() => undefined)
  const check = createKeyCheck(stores.keys, pepper)
  const bounds = createBounds(ledger)
  const rate = createRate(limits.requestsPerMinute, stores.budget)
  const uses = createUses(stores.keys, onProblem)
  const feed = createFeed(ledger, onProblem)
  const requestRoom = new Room(
    limits.requestsAtOnce,
    () => new Refused('TooBusy', `${String(limits.requestsAtOnce)} requests are under way: try again in a second`),
  )
  const streamRoom = new Room(
    limits.streams,
    () =>
      new Refused(
        'TooManyStreams',
        `${String(limits.streams)} event streams are open: close one, or try again later`,
        {},
        { 'retry-after': '10' },
      ),
  )
  const jobRoom = new Room(
    limits.jobs,
    () =>
      new Refused(
        'TooManyJobs',
        `${String(limits.jobs)} jobs run here: try again when one has ended`,
        {},
        { 'retry-after': '10' },
      ),
  )
  const jobs = new Jobs({ store: stores.jobs, room: jobRoom, problemOf: reportedProblem })
  const register = new Registry()
  const metrics = createServiceMetrics(register, () => ({
    requests: requestRoom.taken,
    streams: streamRoom.taken,
    jobs: jobs.running(),
  }))
  stores.onCompaction(createCompactionMetrics(register).began)
  const draining = new AbortController()
  const app = new Hono<{ Bindings: Partial<HttpBindings> }>()

  const parts: Parts = {
    ledger,
    bounds,
    jobs,
    feed,
    keys: stores.keys,
    heartbeatMs: limits.heartbeatMs,
    recorded: (count) => {
      metrics.recorded(count)
    },
  }
  function reportedProblem(error: unknown, requestId: string): ReturnType<typeof problemOf> {
    const problemData = problemOf(error, requestId)
    if (problemData.status >= 500 && !(error instanceof Refused)) onProblem(error, requestId)
    return problemData
  }

  function problemResponse(error: unknown, requestId: string): Response {
    const { status, headers, body } = reportedProblem(error, requestId)
    const all = { 'content-type': 'application/problem+json', 'x-request-id': requestId, ...headers }
    const rest = error instanceof Refused ? error.rest : undefined
    return rest === undefined
      ? new Response(toWire(body), { status, headers: all })
      : answerBeforeEnd(toWire(body), rest, status, all)
  }

  /** Identity of the request; throws if its credentials are not accepted. */
  async function whoAsks(headers: Headers, header: string): Promise<Access> {
    if (!(await check.areNeeded()) && ownPort !== undefined) {
      if (!isOwnHost(headers.get('host') ?? undefined, ownPort()))
        throw new Refused('WrongHost', 'this service runs without keys and answers to the names of this machine alone')
      // A page of another site can have a browser of this machine ask without reading the answer.
      const origin = headers.get('origin')
      if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== headers.get('host')))
        throw new Refused('WrongHost', 'this service runs without keys and answers no pages of other sites')
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
    const record = await check.check(key)
    if (record === undefined)
      throw new Refused('KeyRefused', 'this key is not known here, or it was revoked', {}, challenge)
    const access = accessOf(record, async () => (await check.check(key)) !== undefined)
    await rate(record.id)
    return access
  }

  /** Answers within the limits, and keeps account of it. */
  async function answered(context: Ctx, route: string, work: (under: Under) => Promise<Response>): Promise<Response> {
    const began = performance.now()
    const given = context.req.header('x-request-id') ?? ''
    const requestId = REQUEST_ID.test(given) ? given : randomUUID()
    const under: Under = { requestId, route, access: undefined, conversationId: undefined, status: undefined }
    const { method } = context.req
    let response: Response
    try {
      if (draining.signal.aborted)
        throw new Refused(
          'ShuttingDown',
          'this process is shutting down: ask again, and another answers',
          {},
          { connection: 'close' },
        )
      const leave = requestRoom.take()
      response = await inSpan(
        `${method} ${route}`,
        { kind: SpanKind.SERVER, attributes: { 'http.request.method': method, 'http.route': route } },
        async (span) => {
          const answer = await work(under)
          span.setAttribute('http.response.status_code', under.status ?? answer.status)
          if (under.conversationId !== undefined) span.setAttribute('gen_ai.conversation.id', under.conversationId)
          return answer
        },
      ).finally(leave)
    } catch (error) {
      under.status = undefined
      response = problemResponse(error, requestId)
    }
    const { status = response.status } = under
    metrics.answered({ route, status, seconds: (performance.now() - began) / 1_000 })
    // Without keys there is no identity to record.
    if (under.access?.keyId !== undefined || under.access === undefined)
      uses.note({
        at: new Date().toISOString(),
        keyId: under.access?.keyId,
        route,
        conversationId: under.conversationId?.slice(0, 1_000),
        status,
        requestId,
      })
    return response
  }

  async function answerRoute(context: Ctx, name: RouteName, under: Under): Promise<Response> {
    const route: Route = routes[name]
    const { headers } = context.req.raw
    const conversation = route.reach === 'conversation' ? context.req.param('conversation') : undefined
    const checked = conversation === undefined ? undefined : checkId('conversationId', conversation)
    // An invalid conversation id is in no table, including the uses of keys.
    if (checked !== undefined && E.isRight(checked)) under.conversationId = checked.right
    const access = await whoAsks(headers, 'authorization')
    under.access = access
    checkRoles(access, route)
    if (checked !== undefined && E.isLeft(checked)) throw problem(checked.left)
    if (context.req.raw.method === 'HEAD' && route.stream !== undefined)
      throw new Refused('MethodNotAllowed', 'a stream is read by GET', {}, { allow: 'GET' })
    const params = parsed(route.params, context.req.param(), 'the address')
    const query = parsed(route.query, queryOf(context.req.url, route), 'the address')
    if (conversation !== undefined) await bounds.check(access, conversation, mayBegin(name, access))
    const incoming: IncomingMessage | undefined = context.env.incoming
    const raw =
      route.body === undefined
        ? undefined
        : await valueOf(
            context.req.raw,
            incoming,
            { bytes: limits.bodyBytes, ms: limits.requestMs },
            MAY_BE_EMPTY.has(name),
          )
    const body = route.body === undefined ? undefined : parsed(route.body, raw ?? {}, 'the body')
    const heeded = Object.fromEntries(
      Object.keys(route.headers).map((header) => [header, headers.get(header) ?? undefined]),
    )
    refuseConditions(route, headers)
    // Each handler takes what its own route gives; the compiler sees only that there are many of them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const handle = handlers[name] as (parts: Parts, asked: object) => Promise<Answer>
    // The body had a time of its own.
    const answer = await withinTime(
      handle(parts, { params, query, body, raw, headers: heeded, access }),
      limits.requestMs,
    )
    return send(context, route, answer, { under, access })
  }

  function send(
    context: Ctx,
    route: Route,
    answer: Answer,
    { under, access }: { readonly under: Under; readonly access: Access },
  ): Response {
    const headers = { 'x-request-id': under.requestId, 'cache-control': 'no-store', ...answer.headers }
    if (answer.stream !== undefined) {
      const leave = streamRoom.take()
      const { idOf, read } = answer.stream
      return eventStream(
        { idOf, read: (signal) => whileCurrent(read(signal), access) },
        {
          headers,
          leave,
          ended: draining.signal,
          stallMs: limits.stallMs,
          outgoing: context.env.outgoing,
          onProblem,
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

  for (const [name, { method, path }] of Object.entries<Route>(routes))
    app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/gu, ':$1'), (context) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a name of that very list
      answered(context, name, (under) => answerRoute(context, name as RouteName, under)),
    )

  let description: string | undefined
  app.get('/openapi.json', (context) =>
    answered(context, 'openapi', async (under) => {
      under.access = EVERYTHING
      description ??= JSON.stringify(describeApi(version))
      return new Response(description, { headers: { 'content-type': 'application/json' } })
    }),
  )
  // Health checks need no key. They reveal nothing about the ledger.
  app.get('/healthz', () => Response.json({ status: 'ok' }))
  app.get('/readyz', async () => {
    const isReady =
      !draining.signal.aborted &&
      (await withinTime(stores.ping(), READY_MS).then(
        () => true,
        () => false,
      ))
    return Response.json({ status: isReady ? 'ready' : 'not ready' }, { status: isReady ? 200 : 503 })
  })
  app.get('/metrics', (context) =>
    answered(context, 'metrics', async (under) => {
      under.access = await whoAsks(context.req.raw.headers, 'authorization')
      checkRoles(under.access, { roles: ['audit', 'operate'], reach: 'ledger' })
      return new Response(await register.metrics(), { headers: { 'content-type': register.contentType } })
    }),
  )

  for (const mount of mounts) {
    const handle = (context: Ctx): Promise<Response> =>
      answered(context, `mount ${mount.path}`, async (under) => {
        under.access = await whoAsks(context.req.raw.headers, mount.keyHeader)
        checkRoles(under.access, { roles: mount.roles, reach: 'some' })
        return await mount.fetch(context.req.raw, under.access, context.env)
      })
    app.all(mount.path, handle)
    app.all(`${mount.path}/*`, handle)
  }

  app.all('*', (context) => {
    const { path, method } = context.req
    const otherMethods = PATHS.filter(({ pattern }) => pattern.test(path)).map((other) => other.method.toUpperCase())
    const isApi = path === '/v1' || path.startsWith('/v1/') || otherMethods.length > 0
    return answered(context, isApi || page === undefined ? 'none' : 'page', async (under) => {
      if (!isApi && page !== undefined) {
        under.access = await whoSeesThePage(context.req.raw.headers)
        return await withinTime(Promise.resolve(page(context.req.raw)), limits.requestMs)
      }
      under.access = await whoAsks(context.req.raw.headers, 'authorization')
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
  app.onError((error) => problemResponse(error, randomUUID()))

  /** The page shows the whole ledger: it takes a key that may read and audit all of it. */
  async function whoSeesThePage(headers: Headers): Promise<Access> {
    try {
      const access = await whoAsks(headers, 'authorization')
      checkRoles(access, { roles: ['read'], reach: 'ledger' })
      checkRoles(access, { roles: ['audit'], reach: 'ledger' })
      return access
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 401) throw error
      // A browser asks for a name and a password: the key is the password.
      throw new Refused(error.kind, error.message, error.about, {
        'www-authenticate': 'Basic realm="context-ledger", charset="UTF-8"',
      })
    }
  }

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

/** Rejects a conditional header that the route ignores, because the caller relies on it. */
function refuseConditions({ headers: heeded, method }: Route, headers: Headers): void {
  for (const name of ['if-match', 'if-none-match', 'idempotency-key'])
    if (method !== 'get' && headers.has(name) && heeded[name] === undefined)
      throw new Refused('BadRequest', `${name} goes with appending messages alone`, { field: name })
}

/** The query of an address, each name once. */
function queryOf(url: string, { query }: Route): Readonly<Record<string, string>> {
  if (!url.includes('?')) return {}
  const { searchParams } = new URL(url)
  const found: Record<string, string> = {}
  for (const [name, value] of searchParams) {
    if (Object.hasOwn(found, name)) throw new Refused('BadRequest', `${name} is given twice`, { field: name })
    Object.defineProperty(found, name, { value, enumerable: true })
  }
  const wrong = unknownName(found, Object.keys(query.shape), 'parameter of this address')
  if (wrong !== undefined) throw new Refused('BadRequest', `${wrong.field} ${wrong.detail}`, { field: wrong.field })
  return found
}

/** A value by its schema; throws with the field that is wrong. */
function parsed(schema: Route['query'] | NonNullable<Route['body']>, value: unknown, what: string): unknown {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const field = issue?.path.join('.') ?? ''
  throw new Refused(
    'BadRequest',
    `${field === '' ? what : field} ${issueSentence(issue)}`,
    field === '' ? {} : { field },
  )
}

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
