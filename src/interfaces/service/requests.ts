/** Answers requests within the limits of the service, and keeps account of them. */
import type { HttpBindings } from '@hono/node-server'
import { SpanKind } from '@opentelemetry/api'
import type { Context } from 'hono'
import { randomUUID } from 'node:crypto'
import { formTypeOf, isFromOtherSite } from '../../lib/cross-site.js'
import { answerBeforeEnd } from '../../lib/unread-body.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { toWire } from '../../domain/values/revision.js'
import { kindOf } from '../../library/problem.js'
import { inSpan } from '../../library/spans.js'
import type { Access } from './access.js'
import type { Room, Shares } from './limits.js'
import type { createServiceMetrics } from './metrics.js'
import { problemOf, Refused } from './problems.js'
import type { createUses } from './uses.js'

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

export type Ctx = Context<{ Bindings: Partial<HttpBindings> }>

/** What is known of a request while it is answered. */
export interface Under {
  readonly requestId: string
  /** Whether the caller chose the id. */
  readonly isIdOfClient: boolean
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

const REQUEST_ID = /^[\w.:-]{1,128}$/u

interface RequestsOptions {
  /** Places for requests. */
  readonly room: Room
  /** Places of each key. */
  readonly shares: Shares
  readonly metrics: ReturnType<typeof createServiceMetrics>
  readonly uses: ReturnType<typeof createUses>
  readonly onAnswer: (request: AnsweredRequest) => void
  readonly onProblem: (problem: unknown, requestId?: string) => void
  /** Aborts if no further request is accepted. */
  readonly draining: AbortSignal
}

/** The requests of a service. */
export class Requests {
  constructor(private readonly options: RequestsOptions) {}

  /** Takes the place of a key for a request. */
  enter(under: Under, access: Access): Access {
    under.access = access
    under.leave = this.options.shares.take(access.keyId)
    return access
  }

  /** Answers within the limits, and keeps account of it. */
  async answered(
    context: Ctx,
    route: string,
    work: (under: Under) => Promise<Response>,
    room: Room = this.options.room,
  ): Promise<Response> {
    const began = performance.now()
    const sentId = context.req.header('x-request-id') ?? ''
    const isIdOfClient = REQUEST_ID.test(sentId)
    const requestId = isIdOfClient ? sentId : randomUUID()
    const { method } = context.req
    const under: Under = {
      requestId,
      isIdOfClient,
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
      if (this.options.draining.aborted)
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
    this.options.metrics.answered({ route, status, seconds })
    const milliseconds = Math.round(seconds * 1_000_000) / 1_000
    this.options.onAnswer(withoutUndefined({ at, method, route, status, milliseconds, keyId, requestId, kind }))
    // Without keys there is no identity to record.
    if (keyId !== undefined || under.access === undefined)
      this.options.uses.note(
        { at, keyId, route, conversationId: under.conversationId?.slice(0, 1_000), status, requestId },
        under.isIdOfClient,
      )
  }

  reportedProblem(error: unknown, requestId: string): ReturnType<typeof problemOf> {
    const problemData = problemOf(error, requestId)
    if (problemData.status >= 500 && !(error instanceof Refused)) this.options.onProblem(error, requestId)
    return problemData
  }

  problemResponse(error: unknown, requestId: string): Response {
    const { status, headers, body } = this.reportedProblem(error, requestId)
    const all = { 'content-type': 'application/problem+json', 'x-request-id': requestId, ...headers }
    const rest = error instanceof Refused ? error.rest : undefined
    return rest === undefined
      ? new Response(toWire(body), { status, headers: all })
      : answerBeforeEnd(toWire(body), rest, status, all)
  }
}

/**
 * Rejects requests that a page of another site can make a browser send: a GET changes nothing here, and its answer cannot
 * be read there.
 */
export function checkSite({ method, headers }: Request, forwards = false): void {
  const isReading = method === 'GET' || method === 'HEAD'
  if ((!isReading || forwards) && isFromOtherSite(headers))
    throw new Refused('OtherSite', 'a page of another site made the browser send this request')
  const form = formTypeOf(headers)
  if (!isReading && !forwards && form !== undefined)
    throw new Refused('WrongContentType', `the body has to be application/json, and is "${form}", as a form sends it`)
}

/** The result, or a refusal after the time limit. Work that has started continues. */
export async function withinTime<T>(work: Promise<T>, ms: number): Promise<T> {
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
