/**
 * The proxy. It passes requests to upstream and answers to the client byte for byte and without delay, and records a copy
 * of both. In the mode `compact` it sends the ledger's context upstream instead of the client's list.
 *
 * A request is prepared (`prepare-request.ts`), sent here, and its answer delivered (`deliver-answer.ts`).
 */
import { Hono } from 'hono'
import type { IncomingMessage } from 'node:http'
import { anthropicMessages } from '../../application/model-apis/anthropic-messages.js'
import type { Api } from '../../application/model-apis/api.js'
import { chatCompletions } from '../../application/model-apis/chat-completions.js'
import type { Fields } from '../../application/model-apis/json.js'
import { openaiResponses } from '../../application/model-apis/openai-responses.js'
import { sentenceOf } from '../../ports/store-error.js'
import { errorResponse } from './answer-headers.js'
import { outgoingOf } from './answer-stream.js'
import { AnswerDelivery, isSuccess } from './deliver-answer.js'
import { ANY_CALLER, type Caller } from './identify-request.js'
import { sendWithMemory, type BufferedAnswer } from './memory-tool.js'
import {
  bytesOf,
  closeExchange,
  RequestPreparation,
  type ClientRequest,
  type PreparedRequest,
} from './prepare-request.js'
import { ProxyState, type ProxyOptions } from './proxy-state.js'
import { addressOf, createUpstream, endToEnd } from './upstream.js'

/** The proxy as a function from requests to responses, which every server of the Fetch API can mount. */
export interface Proxy {
  /**
   * Answers a request. The environment may have the `caller` of the request (`Caller`): its actor is recorded, and only
   * conversations that it may use are read or recorded. Without one the actor is the ledger's, and the request may use
   * every conversation.
   */
  readonly fetch: (request: Request, environment?: object) => Response | Promise<Response>
  /** Resolves when all answers so far are recorded. */
  settled(): Promise<void>
  /** Waits as `settled` does, and closes the connections to upstream. */
  close(): Promise<void>
}

const APIS: readonly Api[] = [chatCompletions, openaiResponses, anthropicMessages]

/** The API of a request by its path. Servers accept other spellings of a path, for example with a slash at its end. */
function apiOf(pathname: string): Api | undefined {
  const path = plainPath(pathname)
  return APIS.find((each) => each.matches(path))
}

/** The usual spelling of a path: decoded, in lower case, with single slashes, and without one at its end. */
function plainPath(pathname: string): string {
  let decoded = pathname
  try {
    decoded = decodeURIComponent(pathname)
  } catch {
    // A path that cannot be decoded is compared as it is.
  }
  return decoded.toLowerCase().replaceAll(/\/+/gu, '/').replace(/\/$/u, '')
}

const isCaller = (value: unknown): value is Caller =>
  typeof value === 'object' && value !== null && 'mayUse' in value && typeof value.mayUse === 'function'

/** The caller in the environment. Throws if it has no function `mayUse`. */
function callerOf(environment: unknown): Caller {
  const caller: unknown = Object(environment).caller
  if (caller === undefined) return ANY_CALLER
  if (!isCaller(caller)) throw new TypeError('the caller in the environment of the proxy has no function mayUse')
  return caller
}

/** Handles the requests of a proxy. */
class RequestHandler {
  readonly state: ProxyState
  private readonly upstreamUrl: URL
  private readonly upstream = createUpstream()
  private readonly preparation: RequestPreparation
  private readonly delivery: AnswerDelivery

  constructor(options: ProxyOptions) {
    this.upstreamUrl = new URL(options.upstream)
    this.state = new ProxyState(options)
    this.preparation = new RequestPreparation(this.state)
    this.delivery = new AnswerDelivery(this.state)
  }

  async handle(request: Request, environment: unknown): Promise<Response> {
    const url = new URL(request.url)
    const api = request.method === 'POST' ? apiOf(url.pathname) : undefined
    // After status 426 Codex uses HTTP immediately; after any other status it retries for seconds.
    if (/^websocket$/iu.test(request.headers.get('upgrade') ?? ''))
      return errorResponse(
        openaiResponses,
        426,
        'this proxy records requests over HTTP; it does not support WebSocket',
        'HttpOnly',
      )
    const abort = new AbortController()
    request.signal.addEventListener('abort', () => {
      abort.abort()
    })
    const client: ClientRequest = {
      request,
      url,
      headers: endToEnd(request.headers),
      caller: callerOf(environment),
      abort,
      outgoing: outgoingOf(environment),
    }
    const prepared: PreparedRequest | Response =
      api === undefined ? { body: request.body ?? undefined } : await this.preparation.prepare(api, client)
    if (prepared instanceof Response) return prepared
    let incoming: IncomingMessage
    let buffered: BufferedAnswer | undefined
    try {
      const { memory } = prepared
      if (api !== undefined && memory !== undefined) {
        const send = async (body: Fields): Promise<IncomingMessage> => await this.send(client, bytesOf(body))
        buffered = await sendWithMemory(api, memory.body, memory.tool, send)
        incoming = buffered.incoming
      } else incoming = await this.send(client, prepared.body)
    } catch (error) {
      closeExchange(prepared, false)
      prepared.start?.start()
      const message = `the request to upstream failed: ${sentenceOf(error)}`
      return errorResponse(api ?? chatCompletions, 502, message, 'UpstreamUnreachable')
    }
    if (buffered === undefined) return await this.delivery.streamAnswer(api, client, prepared, incoming)
    const isAnswered = !buffered.isCut && buffered.unreadable === undefined && buffered.answer?.message !== undefined
    closeExchange(prepared, isAnswered && isSuccess(incoming.statusCode ?? 502))
    return await this.delivery.sendBuffered(buffered, prepared.record, client.outgoing)
  }

  async close(): Promise<void> {
    await this.state.settled()
    this.upstream.close()
  }

  private async send(
    { request, url, headers, abort }: ClientRequest,
    body: PreparedRequest['body'],
  ): Promise<IncomingMessage> {
    return await this.upstream.send({
      method: request.method,
      url: addressOf(this.upstreamUrl, url.pathname, url.search),
      headers,
      body: request.method === 'GET' || request.method === 'HEAD' ? undefined : body,
      signal: abort.signal,
    })
  }
}

/** Creates the proxy. */
export function createProxy(options: ProxyOptions): Proxy {
  const handler = new RequestHandler(options)
  const app = new Hono()
  app.all('*', async (context) => await handler.handle(context.req.raw, context.env))
  // Without this the framework writes the stack to standard error.
  app.onError((error, context) => {
    handler.state.reportProblem(error)
    const api = apiOf(context.req.path) ?? chatCompletions
    return errorResponse(api, 500, 'internal error of the proxy: see its log', 'Bug')
  })
  return {
    fetch: (request, environment) => app.fetch(request, environment),
    settled: async () => {
      await handler.state.settled()
    },
    close: async () => {
      await handler.close()
    },
  }
}
