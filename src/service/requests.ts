/** Every request: admitted within the limits, traced, counted, and recorded as a use of its key. */
import type { HttpBindings } from '@hono/node-server'
import { SpanKind } from '@opentelemetry/api'
import type { Context } from 'hono'
import { randomUUID } from 'node:crypto'
import { answerBeforeEnd } from '../lib/unread-body.js'
import { toWire } from '../lib/json.js'
import { inSpan } from '../library/spans.js'
import type { Access } from './access.js'
import type { Room } from './limits.js'
import type { ServiceMetrics } from './metrics.js'
import { problemOf, Refused, type Problem } from './problems.js'
import type { Uses } from './uses.js'

/** Node's side of a connection; absent if a request did not come over one. */
export interface ServiceBindings {
  Bindings: Partial<HttpBindings>
}

/** A request, as Hono has it. */
export type RequestContext = Context<ServiceBindings>

/** What is known of a request while it is answered. */
export interface RequestState {
  readonly requestId: string
  readonly route: string
  access: Access | undefined
  conversationId: string | undefined
  /** The status of an answer that is written already. */
  status: number | undefined
}

interface RequestsOptions {
  readonly room: Room
  readonly metrics: ServiceMetrics
  readonly uses: Uses
  readonly draining: AbortSignal
  readonly onProblem: (problem: unknown, requestId?: string) => void
}

const REQUEST_ID = /^[\w.:-]{1,128}$/u

/** Answers requests and keeps account of them. */
export class Requests {
  constructor(private readonly options: RequestsOptions) {}

  /** Answers a request by `work`; an error becomes a problem response. */
  async answer(
    context: RequestContext,
    route: string,
    work: (state: RequestState) => Promise<Response>,
  ): Promise<Response> {
    const startedAt = performance.now()
    const sentId = context.req.header('x-request-id') ?? ''
    const requestId = REQUEST_ID.test(sentId) ? sentId : randomUUID()
    const state: RequestState = { requestId, route, access: undefined, conversationId: undefined, status: undefined }
    let response: Response
    try {
      response = await this.admit(context.req.method, state, work)
    } catch (error) {
      state.status = undefined
      response = this.problemResponse(error, requestId)
    }
    this.account(state, state.status ?? response.status, (performance.now() - startedAt) / 1_000)
    return response
  }

  /** The problem of an error. Internal errors are reported with the id of the request. */
  problem(error: unknown, requestId: string): Problem {
    const problem = problemOf(error, requestId)
    if (problem.status >= 500 && !(error instanceof Refused)) this.options.onProblem(error, requestId)
    return problem
  }

  problemResponse(error: unknown, requestId: string): Response {
    const { status, headers, body } = this.problem(error, requestId)
    const all = { 'content-type': 'application/problem+json', 'x-request-id': requestId, ...headers }
    const rest = error instanceof Refused ? error.rest : undefined
    return rest === undefined
      ? new Response(toWire(body), { status, headers: all })
      : answerBeforeEnd(toWire(body), rest, status, all)
  }

  /** Does the work if the service is not shutting down and has room, in a span. */
  private async admit(
    method: string,
    state: RequestState,
    work: (state: RequestState) => Promise<Response>,
  ): Promise<Response> {
    const { route } = state
    if (this.options.draining.aborted)
      throw new Refused(
        'ShuttingDown',
        'this process is shutting down: ask again, and another answers',
        {},
        { connection: 'close' },
      )
    const leave = this.options.room.take()
    return await inSpan(
      `${method} ${route}`,
      { kind: SpanKind.SERVER, attributes: { 'http.request.method': method, 'http.route': route } },
      async (span) => {
        const answer = await work(state)
        span.setAttribute('http.response.status_code', state.status ?? answer.status)
        if (state.conversationId !== undefined) span.setAttribute('gen_ai.conversation.id', state.conversationId)
        return answer
      },
    ).finally(leave)
  }

  private account({ route, access, conversationId, requestId }: RequestState, status: number, seconds: number): void {
    const { metrics, uses } = this.options
    metrics.answered({ route, status, seconds })
    // Without keys there is no identity to record.
    if (access !== undefined && access.keyId === undefined) return
    uses.note({
      at: new Date().toISOString(),
      keyId: access?.keyId,
      route,
      conversationId: conversationId?.slice(0, 1_000),
      status,
      requestId,
    })
  }
}
