/**
 * The proxy. It passes requests to upstream and answers to the client byte for byte and without delay, and records a copy
 * of both. In the mode `compact` it sends the ledger's context upstream instead of the client's list.
 */
import { isRecord } from '../../lib/is-record.js'
import { Hono } from 'hono'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { either as E } from 'fp-ts'
import { checkId } from '../../domain/values/ids.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import { sentenceOf } from '../../ports/store-error.js'
import { countValues, hasMoreValues, MOST_MESSAGE_VALUES, MOST_VALUES } from '../../lib/json.js'
import { LedgerError } from '../../lib/ledger-error.js'
import { readBody } from '../../lib/read-body.js'
import { answerBeforeEnd } from '../../lib/unread-body.js'
import type { AgentTool, Ledger } from '../../library/ledger.js'
import { createAnswerCopy, type AnswerCopy } from './answer-copy.js'
import {
  AnswerBuffer,
  asHeaders,
  handedOver,
  outgoingOf,
  readAnswerInto,
  sendBrokenOff,
  sendComplete,
  streamedBody,
  streamTo,
} from './answer-stream.js'
import type { Api, OutgoingMessage, ProxyRequest } from '../../application/model-apis/api.js'
import { anthropicMessages } from '../../application/model-apis/anthropic-messages.js'
import { chatCompletions } from '../../application/model-apis/chat-completions.js'
import { openaiResponses } from '../../application/model-apis/openai-responses.js'
import { decodeBody } from './body.js'
import { ANY_CALLER, CONVERSATION_HEADER, type Caller } from './identify-request.js'
import { jsonText, parseJson, type Fields } from '../../application/model-apis/json.js'
import { hasTool, sendWithMemory, type BufferedAnswer } from './memory-tool.js'
import { RecallNotes } from './recall-notes.js'
import { BYPASSED, Recorder, type AnswerEnding, type RequestRecord } from './recorder.js'
import { RecordingStart } from './recording-start.js'
import type { Exchange } from './tracked-conversation.js'
import { addressOf, createUpstream, endToEnd, endToEndNames } from './upstream.js'

/** Options of the proxy. */
export interface ProxyOptions {
  /** The ledger that records the conversations. */
  readonly ledger: Ledger
  /** The API's base URL, with or without its version: `https://api.openai.com/v1`. */
  readonly upstream: string | URL
  /** `observe` (default) changes nothing; `compact` sends the ledger's context upstream. */
  readonly mode?: 'observe' | 'compact'
  /** If the ledger cannot record: `open` (default) passes the request on unrecorded, `closed` rejects it. */
  readonly fail?: 'open' | 'closed'
  /**
   * In the mode `observe`: after a compaction by the client's program, adds a note with the recorded content that the
   * context lost to the requests. It is not recorded as a message: answers to such requests have the attribute
   * `recallNote`. Requests then wait for the ledger.
   */
  readonly recall?: boolean
  /** Rules with which each note of `recall` begins. */
  readonly rules?: readonly string[]
  /** In the mode `compact`: offers `memory_read` to the model, and runs its calls in the proxy. */
  readonly offerMemory?: boolean
  /** Settings of the conversations. They take precedence over those computed from the requests. */
  readonly policy?: PolicySettings
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Called with errors of the ledger. The proxy ignores errors that it throws. */
  readonly onProblem?: (problem: unknown) => void
  /** A request with more bytes, sent or decoded, is passed on unrecorded. Default 64 MiB. */
  readonly maxBodyBytes?: number
  /** How long a request waits for the ledger before the ledger counts as unavailable. Default 5,000 ms. */
  readonly ledgerTimeoutMs?: number
  /**
   * While observing: the maximum time that the head of an answer waits for the state of the recording. After it the header
   * is `recording`, as for a request of more than 1 MiB, which is recorded after its answer. Default 0, since a model is
   * slower than a ledger.
   */
  readonly headWaitMs?: number
}

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

const MAX_BODY_BYTES = 64 * 1024 * 1024
const LEDGER_TIMEOUT_MS = 5_000
const HEAD_WAIT_MS = 0

/** The header with the state of the recording. */
const STATE = 'x-context-ledger'
const REFUSED = { 'content-type': 'application/json', [STATE]: 'refused' }

/** Statuses of answers without a body. */
const NO_BODY = new Set([101, 204, 205, 304])

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** An answer that passed to the client, and of which the ledger has nothing. */
const unreadableAnswer = (reason: string, conversationId: string | undefined): Error =>
  new Error(
    `an answer${conversationId === undefined ? '' : ` in the conversation ${conversationId}`} cannot be read: ${reason}. It passed to the client unchanged and is not recorded`,
  )

/** The value of the state header; `recording` if the record is not known yet. */
function stateOf(record: RequestRecord | undefined): string {
  if (record === undefined) return 'recording'
  if (record.outcome === 'bypassed') return 'bypassed'
  if (record.outcome === 'side-request') return 'side call; not recorded'
  return record.cannotShorten === undefined ? 'recorded' : `recorded; cannot shorten: ${record.cannotShorten}`
}

/** The headers of an answer as upstream wrote them, names and values in turn. */
function upstreamHeaders({ headers, rawHeaders }: IncomingMessage): string[] {
  const isForwarded = endToEndNames(headers.connection)
  const pairs: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at], rawHeaders[at + 1]]
    if (name !== undefined && value !== undefined && isForwarded(name)) pairs.push(name, value)
  }
  return pairs
}

/** The headers of the answer to a model request: those of upstream, the state and the conversation. */
function answerHeaders(incoming: IncomingMessage, record: RequestRecord | undefined, unreadable?: string): string[] {
  const state = `${stateOf(record)}${unreadable === undefined ? '' : `; answer not recorded: ${unreadable}`}`
  const pairs = [...upstreamHeaders(incoming), STATE, state]
  const { conversationId } = record ?? {}
  if (conversationId !== undefined && /^[\x20-\x7E]*$/u.test(conversationId))
    pairs.push(CONVERSATION_HEADER, conversationId)
  return pairs
}

/** Waits for work of the ledger, at most for this time. */
async function within<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  if (milliseconds <= 0) return await Promise.race([work, Promise.resolve(undefined)])
  let timer: NodeJS.Timeout | undefined
  try {
    return await Promise.race([
      work,
      new Promise<undefined>((resolve) => {
        timer = setTimeout(() => {
          resolve(undefined)
        }, milliseconds)
      }),
    ])
  } finally {
    clearTimeout(timer)
  }
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

const tooManyValues = (part: string, most: number): LedgerError =>
  new LedgerError('TooManyValues', `${part} has more than ${String(most)} JSON values, so it cannot be recorded`)

const bytesOf = (body: Fields): Uint8Array => Buffer.from(jsonText(body))

const errorResponse = (api: Api, status: 400 | 413 | 426 | 500 | 502 | 503, message: string, kind: string): Response =>
  new Response(JSON.stringify(api.errorBody(message, kind)), { status, headers: REFUSED })

/** A model request that was read. */
interface ReadRequest {
  readonly body: Fields
  readonly request: ProxyRequest
}

/** Why a request is not read. Undefined if it is no request of this API. */
type Unread = LedgerError | undefined

/** A request of a client. */
interface ClientRequest {
  readonly request: Request
  readonly url: URL
  /** Headers that go upstream. */
  readonly headers: Headers
  readonly caller: Caller
  readonly abort: AbortController
  /** The client's connection, if the server is Node's. */
  readonly outgoing: ServerResponse | undefined
}

/** The body that goes upstream, and the recording of the request. */
interface PreparedRequest {
  readonly body: Uint8Array | ReadableStream<Uint8Array> | undefined
  /** Undefined if the request is not recorded. */
  readonly recording?: Promise<RequestRecord>
  /** The request and its answer. Closed when the answer ends, however it does. */
  readonly exchange?: Exchange
  /** The result of the recording, if it is known. */
  readonly record?: RequestRecord | undefined
  readonly start?: RecordingStart
  readonly memory?: { readonly body: Fields; readonly tool: AgentTool }
}

/** Closes the exchange of a request. */
function close({ exchange }: PreparedRequest, isAnswered: boolean): void {
  if (exchange !== undefined) exchange.state = isAnswered ? 'answered' : 'failed'
}

/** Handles the requests of a proxy. */
class RequestHandler {
  private readonly options: ProxyOptions
  private readonly upstreamUrl: URL
  private readonly maxBodyBytes: number
  private readonly ledgerTimeoutMs: number
  private readonly failsClosed: boolean
  private readonly upstream = createUpstream()
  private readonly recorder: Recorder
  /** Undefined without the option `recall`. */
  private readonly notes: RecallNotes | undefined
  /** A request is recorded while it is upstream: it does not wait for the ledger. */
  private readonly recordsInBackground: boolean
  /** The last request could not be recorded: the answer to the next one waits for the state of its recording. */
  private isLedgerDown = false
  /** Answers that are being sent or recorded. */
  private readonly pending = new Set<Promise<unknown>>()

  constructor(options: ProxyOptions) {
    const { ledger, mode = 'observe', fail = 'open', policy, scope } = options
    this.options = options
    this.upstreamUrl = new URL(options.upstream)
    this.maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES
    this.ledgerTimeoutMs = options.ledgerTimeoutMs ?? LEDGER_TIMEOUT_MS
    this.failsClosed = fail === 'closed'
    this.notes =
      options.recall === true && mode === 'observe' ? new RecallNotes(ledger, options.rules ?? []) : undefined
    this.recordsInBackground = mode === 'observe' && fail === 'open' && this.notes === undefined
    this.recorder = new Recorder({ ledger, mode, policy, scope, onProblem: this.reportProblem })
  }

  readonly reportProblem = (problem: unknown): void => {
    try {
      this.options.onProblem?.(problem)
    } catch {
      // An error of the listener must not break a request.
    }
  }

  async handle(request: Request, environment: unknown): Promise<Response> {
    const url = new URL(request.url)
    const api = request.method === 'POST' ? APIS.find((each) => each.matches(url.pathname)) : undefined
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
      api === undefined ? { body: request.body ?? undefined } : await this.prepare(api, client)
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
      close(prepared, false)
      prepared.start?.start()
      const message = `upstream does not answer: ${sentenceOf(error)}`
      return errorResponse(api ?? chatCompletions, 502, message, 'UpstreamUnreachable')
    }
    if (buffered === undefined) return await this.streamAnswer(api, client, prepared, incoming)
    const isAnswered = !buffered.isCut && buffered.unreadable === undefined && buffered.answer?.message !== undefined
    close(prepared, isAnswered && isSuccess(incoming.statusCode ?? 502))
    return await this.sendBuffered(buffered, prepared.record, client.outgoing)
  }

  /** Resolves when all answers so far are recorded. */
  async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending)
  }

  async close(): Promise<void> {
    await this.settled()
    this.upstream.close()
  }

  /** Reads a model request and starts its recording. Returns a response if the request is not sent. */
  private async prepare(api: Api, client: ClientRequest): Promise<PreparedRequest | Response> {
    const { request } = client
    const named = request.headers.get(CONVERSATION_HEADER)
    const checked = named === null ? undefined : checkId(CONVERSATION_HEADER, named.trim())
    if (checked !== undefined && E.isLeft(checked))
      return errorResponse(api, 400, `the header ${CONVERSATION_HEADER} ${checked.left.detail}`, 'BadId')
    const body = await readBody(request.body, this.maxBodyBytes)
    if (body.kind === 'cut-off')
      return errorResponse(api, 400, 'the request ended before its body was complete, so it was not sent', 'BodyCutOff')
    if (body.kind === 'too-long') {
      if (!this.failsClosed) return { body: body.stream }
      const { message, kind } = this.tooLong()
      return answerBeforeEnd(JSON.stringify(api.errorBody(message, kind)), body.stream, 413, REFUSED)
    }
    if (!this.recordsInBackground) return await this.recordBeforeSending(api, client, body.bytes)
    const start = new RecordingStart(body.bytes.byteLength)
    const exchange: Exchange = { state: 'open' }
    const recording = this.recordInBackground(api, body.bytes, client, start, exchange)
    this.trackPending(recording)
    return { body: body.bytes, recording, start, exchange }
  }

  /** Records a request while it is upstream. */
  private async recordInBackground(
    api: Api,
    bytes: Uint8Array,
    { request: { headers }, caller }: ClientRequest,
    { started }: RecordingStart,
    exchange: Exchange,
  ): Promise<RequestRecord> {
    await started
    const read = await this.readRequest(api, bytes, headers)
    if (E.isLeft(read)) {
      if (read.left !== undefined) this.reportProblem(read.left)
      return BYPASSED
    }
    const record = await this.recorder.record(api, read.right.request, headers, caller, exchange)
    this.isLedgerDown = record.outcome === 'bypassed'
    return record
  }

  /** Records a request, and replaces its list by the ledger's context if the recorder returns one. */
  private async recordBeforeSending(
    api: Api,
    { request, headers, caller }: ClientRequest,
    bytes: Uint8Array,
  ): Promise<PreparedRequest | Response> {
    const unlessLeft = await this.readRequest(api, bytes, request.headers)
    if (E.isLeft(unlessLeft)) {
      const { left } = unlessLeft
      if (left !== undefined && this.failsClosed) return errorResponse(api, 413, left.message, left.kind)
      if (left !== undefined) this.reportProblem(left)
      return { body: bytes }
    }
    const read = unlessLeft.right
    const exchange: Exchange = { state: 'open' }
    const recording = this.recorder.record(api, read.request, request.headers, caller, exchange)
    const record = await within(recording, this.ledgerTimeoutMs)
    if (this.failsClosed && (record === undefined || record.outcome === 'bypassed')) {
      exchange.state = 'failed'
      return errorResponse(
        api,
        503,
        'the ledger cannot record this request now, so it was not sent: try again later',
        'LedgerDown',
      )
    }
    if (record?.outgoing === undefined)
      return { ...((await this.withNote(api, read, headers, record)) ?? { body: bytes, recording, record }), exchange }
    const written = this.writeRequest(api, read.body, record.outgoing)
    if (written === undefined)
      return {
        body: bytes,
        recording,
        exchange,
        record: { ...record, cannotShorten: 'the request cannot be rewritten' },
      }
    headers.delete('content-encoding')
    const tool = this.options.offerMemory === true ? this.memoryTool(record.conversationId) : undefined
    return {
      body: written.bytes,
      recording,
      exchange,
      record,
      ...(tool === undefined || hasTool(read.request.tools, tool.name) ? {} : { memory: { body: written.body, tool } }),
    }
  }

  /** The request with a note of recall. Undefined if it has none. */
  private async withNote(
    api: Api,
    { body, request }: ReadRequest,
    headers: Headers,
    record: RequestRecord | undefined,
  ): Promise<PreparedRequest | undefined> {
    // With a stored history, the list of the request is only its end.
    if (this.notes === undefined || record === undefined || request.upstreamHistory !== undefined) return undefined
    try {
      const added = await within(this.notes.added(api, body, record), this.ledgerTimeoutMs)
      if (added === undefined) return undefined
      const bytes = bytesOf(added.body)
      headers.delete('content-encoding')
      return { body: bytes, recording: Promise.resolve(added.record), record: added.record }
    } catch (error) {
      this.reportProblem(error)
      return undefined
    }
  }

  private tooLong(): LedgerError {
    const limit = String(this.maxBodyBytes)
    return new LedgerError('BodyTooLarge', `the request is longer than ${limit} bytes, so it cannot be recorded`)
  }

  private async readRequest(api: Api, bytes: Uint8Array, headers: Headers): Promise<E.Either<Unread, ReadRequest>> {
    const plain = await decodeBody(bytes, headers.get('content-encoding'), this.maxBodyBytes)
    if (plain === undefined) return E.left(undefined)
    if (plain === 'too-long') return E.left(this.tooLong())
    const text = Buffer.from(plain).toString('utf8')
    if (hasMoreValues(text, MOST_VALUES)) return E.left(tooManyValues('the request', MOST_VALUES))
    const body = parseJson(text)
    if (!isRecord(body)) return E.left(undefined)
    try {
      const request = api.readRequest(body)
      if (request === undefined) return E.left(undefined)
      return request.messages.some(({ input }) => countValues(input, MOST_MESSAGE_VALUES) > MOST_MESSAGE_VALUES)
        ? E.left(tooManyValues('a message of the request', MOST_MESSAGE_VALUES))
        : E.right({ body, request })
    } catch (error) {
      this.reportProblem(error)
      return E.left(undefined)
    }
  }

  /** The request with the ledger's context instead of its list; undefined if it cannot be written. */
  private writeRequest(
    api: Api,
    body: Fields,
    outgoing: readonly OutgoingMessage[],
  ): { readonly body: Fields; readonly bytes: Uint8Array } | undefined {
    try {
      const written = api.writeRequest(body, outgoing)
      return { body: written, bytes: bytesOf(written) }
    } catch (error) {
      // A deeply nested request can be read but not written.
      this.reportProblem(error)
      return undefined
    }
  }

  private memoryTool(conversationId: string | undefined): AgentTool | undefined {
    if (conversationId === undefined) return undefined
    return this.options.ledger.conversation(conversationId).tools.list.find(({ name }) => name === 'memory_read')
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

  /** Records a buffered answer and sends it to the client. */
  private async sendBuffered(
    { incoming, bytes, answer, unreadable, isCut, reads }: BufferedAnswer,
    record: RequestRecord | undefined,
    outgoing: ServerResponse | undefined,
  ): Promise<Response> {
    const status = incoming.statusCode ?? 502
    const unread = isCut || !isSuccess(status) ? undefined : unreadable
    const isRecorded =
      record === undefined || !isSuccess(status)
        ? true
        : await record.recordAnswer(
            Promise.resolve(unread === undefined ? answer : { unreadable: unread }),
            isCut ? 'cut-off' : 'complete',
            reads.length === 0 ? {} : { memoryReads: reads },
          )
    if (unread !== undefined) this.reportProblem(unreadableAnswer(unread, record?.conversationId))
    const head = { outgoing, incoming, status, headers: answerHeaders(incoming, record ?? BYPASSED, unread) }
    if (isCut || (!isRecorded && this.failsClosed)) return sendBrokenOff(head, bytes)
    return sendComplete(head, NO_BODY.has(status) ? undefined : bytes)
  }

  /** Passes an answer to the client while it arrives, and records a copy of it. */
  private async streamAnswer(
    api: Api | undefined,
    client: ClientRequest,
    prepared: PreparedRequest,
    incoming: IncomingMessage,
  ): Promise<Response> {
    const { outgoing, abort } = client
    const { recording, start } = prepared
    let { record } = prepared
    const status = incoming.statusCode ?? 502
    const isBodyless = NO_BODY.has(status) || client.request.method === 'HEAD'
    const copy =
      api !== undefined && recording !== undefined && isSuccess(status) && !isBodyless
        ? createAnswerCopy(api, incoming.headers['content-type'] ?? '', incoming.headers['content-encoding'])
        : undefined
    const unreadableByHeaders = copy?.unreadable()
    if (copy === undefined) close(prepared, false)
    if (copy === undefined && start?.isLarge === false) start.start()
    const recordEnd = this.answerRecording(copy, prepared, outgoing)
    const onChunk = (): void => {
      start?.onAnswerBegins()
    }
    const buffer = new AnswerBuffer()
    const onDisconnect = isBodyless
      ? undefined
      : readAnswerInto({ incoming, copy, abort, onChunk, onEnd: recordEnd }, buffer)
    if (recording !== undefined && start?.isLarge === false) {
      const waitMs = this.isLedgerDown ? this.ledgerTimeoutMs : (this.options.headWaitMs ?? HEAD_WAIT_MS)
      if (waitMs > 0) start.start()
      record = await within(recording, waitMs)
    }
    const isPending = recording !== undefined && this.recordsInBackground
    const headers =
      api === undefined
        ? upstreamHeaders(incoming)
        : answerHeaders(incoming, record ?? (isPending ? undefined : BYPASSED), unreadableByHeaders)
    if (onDisconnect === undefined) {
      incoming.resume()
      start?.start()
      return sendComplete({ outgoing, incoming, status, headers })
    }
    const answer = { incoming, buffer, onDisconnect }
    if (outgoing !== undefined) return streamTo(outgoing, answer, headers)
    return new Response(streamedBody(answer), { status, headers: asHeaders(headers) })
  }

  /**
   * Returns the function that records an answer at its end. With `fail: 'closed'` its result rejects if the answer could
   * not be recorded, and the end of the client's answer waits for it.
   */
  private answerRecording(
    copy: AnswerCopy | undefined,
    prepared: PreparedRequest,
    outgoing: ServerResponse | undefined,
  ): (ending: AnswerEnding) => Promise<void> | undefined {
    const { recording, record, start } = prepared
    let onRecorded: () => void = () => undefined
    if (copy !== undefined)
      this.trackPending(
        new Promise<void>((resolve) => {
          onRecorded = resolve
        }),
      )
    return (ending) => {
      // The client cannot read an incomplete or unreadable answer either, so its next request will not contain it.
      if (copy !== undefined) close(prepared, ending === 'complete' && copy.unreadable() === undefined)
      // Parsing an answer takes time as well, so it starts after the client's answer was sent unless that one waits.
      const sent = this.failsClosed ? Promise.resolve() : handedOver(outgoing)
      void sent.then(() => start?.start())
      if (copy === undefined || recording === undefined) return undefined
      const answer = sent.then(async () => {
        const read = await copy.end()
        const unreadable = ending === 'complete' ? copy.unreadable() : undefined
        // An error in a successful response is no answer either.
        if (unreadable !== undefined || read?.message === undefined) close(prepared, false)
        if (unreadable === undefined) return read
        this.reportProblem(unreadableAnswer(unreadable, (await recording).conversationId))
        return { unreadable }
      })
      const stored =
        record === undefined
          ? recording.then((known) => known.recordAnswer(answer, ending))
          : record.recordAnswer(answer, ending)
      const finished = (async (): Promise<void> => {
        const isRecorded = await stored
        onRecorded()
        if (!isRecorded && this.failsClosed) throw new Error('the answer could not be recorded')
      })()
      if (this.failsClosed) return finished
      finished.catch(this.reportProblem)
      return undefined
    }
  }

  /** Makes `settled` wait for this work. */
  private trackPending(work: Promise<unknown>): void {
    this.pending.add(work)
    void work.finally(() => this.pending.delete(work))
  }
}

/** Creates the proxy. */
export function createProxy(options: ProxyOptions): Proxy {
  const handler = new RequestHandler(options)
  const app = new Hono()
  app.all('*', async (context) => await handler.handle(context.req.raw, context.env))
  // Without this the framework writes the stack to standard error.
  app.onError((error, context) => {
    handler.reportProblem(error)
    const api = APIS.find((each) => each.matches(context.req.path)) ?? chatCompletions
    return errorResponse(api, 500, 'internal error of the proxy: see its log', 'Bug')
  })
  return {
    fetch: (request, environment) => app.fetch(request, environment),
    settled: async () => {
      await handler.settled()
    },
    close: async () => {
      await handler.close()
    },
  }
}
