/** Answers the routes: checks the key, parses the request by the schemas of its route, and writes the answer. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { either as E } from 'fp-ts'
import type { IncomingMessage } from 'node:http'
import { unknownName } from '../domain/text/known-names.js'
import { checkId } from '../domain/values/ids.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { toWire } from '../lib/json.js'
import { problem } from '../library/problem.js'
import { routes, type RouteName } from '../schema/index.js'
import type { Route } from '../schema/route.js'
import { checkRoles, type Access } from './access.js'
import type { Authentication } from './authentication.js'
import { valueOf } from './body.js'
import type { Limits, Room } from './limits.js'
import { withinTime } from './limits.js'
import { Refused } from './problems.js'
import type { RequestContext, RequestState } from './requests.js'
import { agentHandlers } from './routes/agent.js'
import { conversationHandlers } from './routes/conversations.js'
import { editionHandlers } from './routes/editions.js'
import { eventHandlers } from './routes/events.js'
import { historyHandlers } from './routes/history.js'
import { messageHandlers } from './routes/messages.js'
import { operatingHandlers } from './routes/operating.js'
import type { Answer, Handlers, Parts } from './service.js'
import { eventStream } from './sse.js'

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

interface RouteAnswersOptions {
  readonly parts: Parts
  readonly authentication: Authentication
  readonly limits: Limits
  readonly streamRoom: Room
  readonly draining: AbortSignal
  readonly onProblem: (problem: unknown) => void
}

/** Answers requests to the routes of the API. */
export class RouteAnswers {
  constructor(private readonly options: RouteAnswersOptions) {}

  async answer(context: RequestContext, name: RouteName, state: RequestState): Promise<Response> {
    const { parts, limits } = this.options
    const route: Route = routes[name]
    const { headers } = context.req.raw
    const access = await this.authorize(context, route, state)
    if (context.req.raw.method === 'HEAD' && route.stream !== undefined)
      throw new Refused('MethodNotAllowed', 'a stream is read by GET', {}, { allow: 'GET' })
    const params = parsed(route.params, context.req.param(), 'the address')
    const query = parsed(route.query, queryOf(context.req.url, route), 'the address')
    if (state.conversationId !== undefined)
      await parts.bounds.check(access, state.conversationId, mayBegin(name, access))
    const raw = await this.readBody(context, name, route)
    const body = route.body === undefined ? undefined : parsed(route.body, raw ?? {}, 'the body')
    const heeded = Object.fromEntries(
      Object.keys(route.headers).map((header) => [header, headers.get(header) ?? undefined]),
    )
    refuseConditions(route, headers)
    // Each handler takes what its own route gives; the compiler sees only that there are many of them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const handle = handlers[name] as (parts: Parts, asked: object) => Promise<Answer>
    // The body had a time of its own.
    const asked = { params, query, body, raw, headers: heeded, access }
    const answer = await withinTime(handle(parts, asked), limits.requestMs)
    return answer.stream === undefined
      ? writeAnswer(context, route, answer, state)
      : this.stream(context, answer, answer.stream, { state, access })
  }

  /** Access of the key; throws if the key may not use the route. */
  private async authorize(context: RequestContext, route: Route, state: RequestState): Promise<Access> {
    const conversation = route.reach === 'conversation' ? context.req.param('conversation') : undefined
    const checked = conversation === undefined ? undefined : checkId('conversationId', conversation)
    // An invalid conversation id is in no table, including the uses of keys.
    if (checked !== undefined && E.isRight(checked)) state.conversationId = checked.right
    const access = await this.options.authentication.identify(context.req.raw.headers, 'authorization')
    state.access = access
    checkRoles(access, route)
    if (checked !== undefined && E.isLeft(checked)) throw problem(checked.left)
    return access
  }

  private async readBody(context: RequestContext, name: RouteName, { body }: Route): Promise<unknown> {
    if (body === undefined) return undefined
    const { bodyBytes, requestMs } = this.options.limits
    const incoming: IncomingMessage | undefined = context.env.incoming
    const limits = { bytes: bodyBytes, ms: requestMs }
    return await valueOf(context.req.raw, incoming, limits, MAY_BE_EMPTY.has(name))
  }

  private stream(
    context: RequestContext,
    { headers }: Answer,
    { idOf, read }: NonNullable<Answer['stream']>,
    { state, access }: { readonly state: RequestState; readonly access: Access },
  ): Response {
    const { streamRoom, draining, limits, onProblem } = this.options
    return eventStream(
      { idOf, read: (signal) => whileCurrent(read(signal), access) },
      {
        headers: { ...usualHeaders(state), ...headers },
        leave: streamRoom.take(),
        ended: draining,
        stallMs: limits.stallMs,
        outgoing: context.env.outgoing,
        onProblem,
      },
    )
  }
}

const usualHeaders = ({ requestId }: RequestState): Readonly<Record<string, string>> => ({
  'x-request-id': requestId,
  'cache-control': 'no-store',
})

/** Writes a value, or 304 if the caller has it already, or 204 if there is none. */
function writeAnswer(context: RequestContext, route: Route, answer: Answer, state: RequestState): Response {
  const headers = { ...usualHeaders(state), ...answer.headers }
  if (route.headers['if-none-match'] !== undefined && route.method === 'get') {
    const etag = answer.headers?.['etag']
    if (etag !== undefined && isAmong(context.req.header('if-none-match'), etag))
      return write(context, state, 304, headers)
  }
  if (answer.body === undefined) return write(context, state, 204, headers)
  const all = { 'content-type': 'application/json', ...headers }
  return write(context, state, answer.status ?? route.status, all, toWire(answer.body))
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
  { env: { outgoing } }: RequestContext,
  state: RequestState,
  status: number,
  headers: Readonly<Record<string, string>>,
  text?: string,
): Response {
  if (outgoing === undefined) return new Response(text ?? null, { status, headers })
  state.status = status
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
