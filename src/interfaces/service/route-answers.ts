/** Answers the routes of the API: checks the input and the access, and calls the handler. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { either as E } from 'fp-ts'
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { checkId } from '../../domain/values/ids.js'
import { toWire } from '../../domain/values/revision.js'
import { isRecord } from '../../lib/is-record.js'
import { problem } from '../../library/problem.js'
import { conversations } from '../../schema/fields.js'
import { routes, type RouteName } from '../../schema/index.js'
import type { Route } from '../../schema/route.js'
import { checkRoles, type Access } from './access.js'
import type { Authentication } from './authentication.js'
import { valueOf } from './body.js'
import { handlers } from './handlers.js'
import { Shares, type Limits, type Room } from './limits.js'
import { withDecodedPosition } from './positions.js'
import { Refused } from './problems.js'
import { MAY_BE_EMPTY, parsed, parsedInParts, queryOf, refuseConditions } from './request-input.js'
import { checkSite, withinTime, type Ctx, type Requests, type Under } from './requests.js'
import type { Answer, Parts } from './service.js'
import { eventStream } from './sse.js'

/** Whether a route may begin a conversation. A list that is compressed names no scope, so none begins within one by it. */
const mayBegin = (name: RouteName, { bound }: Access): boolean =>
  name === 'appendMessages' || name === 'observe' || (name === 'compress' && (bound === undefined || 'prefix' in bound))

/** Routes that search texts. They take longer than a read, and a store answers few of them at once. */
const SEARCHES: ReadonlySet<string> = new Set<RouteName>(['search', 'useTool', 'listConversations', 'getTotals'])

/** From this number of bytes on, the steps for a body take turns with other requests. */
const LARGE_BODY = 262_144

/** Throws if a body names a conversation outside the key's bound, or all of them with a key that has a bound. */
async function checkConversations({ bounds }: Parts, access: Access, body: unknown): Promise<void> {
  if (!isRecord(body) || body['conversations'] === undefined) return
  const named = conversations.parse(body['conversations'])
  if (named !== 'all') for (const id of named) await bounds.check(access, id)
  else if (access.bound !== undefined)
    throw new Refused('KeyBound', 'the key is bound to a part of the ledger: name the conversations', {
      field: 'conversations',
    })
}

interface RouteAnswersOptions {
  readonly parts: Parts
  readonly limits: Limits
  readonly authentication: Authentication
  readonly requests: Requests
  /** Places for streams. */
  readonly streamRoom: Room
  /** Aborts if streams have to end. */
  readonly draining: AbortSignal
  readonly onProblem: (problem: unknown) => void
}

/** The answers of routes. */
export class RouteAnswers {
  private readonly searchShares: Shares
  private readonly streamShares: Shares

  constructor(private readonly options: RouteAnswersOptions) {
    const { searchesOfKey, streamsOfKey } = options.limits
    this.searchShares = new Shares(searchesOfKey, 'searches', 1)
    this.streamShares = new Shares(streamsOfKey, 'event streams', 10)
  }

  async answer(context: Ctx, name: RouteName, under: Under): Promise<Response> {
    const { parts, limits, authentication, requests } = this.options
    const route: Route = routes[name]
    const { headers } = context.req.raw
    const conversation = route.reach === 'conversation' ? context.req.param('conversation') : undefined
    const checked = conversation === undefined ? undefined : checkId('conversationId', conversation)
    // An invalid conversation id is in no table, including the uses of keys.
    if (checked !== undefined && E.isRight(checked)) under.conversationId = checked.right
    checkSite(context.req.raw)
    const access = requests.enter(under, await authentication.whoAsks(headers, 'authorization'))
    checkRoles(access, route)
    if (checked !== undefined && E.isLeft(checked)) throw problem(checked.left)
    if (context.req.raw.method === 'HEAD' && route.stream !== undefined)
      throw new Refused('MethodNotAllowed', 'a stream is read by GET', {}, { allow: 'GET' })
    const params = parsed(route.params, context.req.param(), 'the address')
    const query = withDecodedPosition(
      parsed(route.query, queryOf(context.req.url, route), 'the address'),
      access.positions,
    )
    if (conversation !== undefined) await parts.bounds.check(access, conversation, mayBegin(name, access))
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
    await checkConversations(parts, access, body)
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
      handle(parts, { params, query, body, raw, headers: heeded, access }).finally(leaveSearch),
      limits.requestMs,
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
      const { limits, draining, onProblem } = this.options
      const leave = this.takeStream(access)
      const { idOf, read } = answer.stream
      return eventStream(
        { idOf, read: (signal) => whileCurrent(read(signal), access) },
        {
          headers,
          leave,
          ended: draining,
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

  /** Takes a place of the key and one of the service for a stream. */
  private takeStream({ keyId }: Access): () => void {
    const leaveShare = this.streamShares.take(keyId)
    try {
      const leaveRoom = this.options.streamRoom.take()
      return () => {
        leaveShare()
        leaveRoom()
      }
    } catch (error) {
      leaveShare()
      throw error
    }
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
