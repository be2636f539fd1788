/** Reads a request of a client, starts its recording, and decides what goes upstream. */
import { either as E } from 'fp-ts'
import type { ServerResponse } from 'node:http'
import type { Api, OutgoingMessage } from '../../application/model-apis/api.js'
import { jsonText, type Fields } from '../../application/model-apis/json.js'
import { checkId } from '../../domain/values/ids.js'
import { readBody } from '../../lib/read-body.js'
import { answerBeforeEnd } from '../../lib/unread-body.js'
import type { AgentTool } from '../../library/ledger.js'
import { errorResponse, REFUSED } from './answer-headers.js'
import { CONVERSATION_HEADER, type Caller } from './identify-request.js'
import { hasTool } from './memory-tool.js'
import { within, type ProxyState } from './proxy-state.js'
import { readRequest, tooLong, type ReadRequest } from './read-request.js'
import { RecallNotes } from './recall-notes.js'
import { BYPASSED, Recorder, type RequestRecord } from './recorder.js'
import { RecordingStart } from './recording-start.js'
import type { Exchange } from './tracked-conversation.js'

/** A request of a client. */
export interface ClientRequest {
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
export interface PreparedRequest {
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

const UNREADABLE =
  'the request cannot be read as one of this API and so cannot be recorded: it was not sent. Check its body and its content encoding'

/** Closes the exchange of a request. */
export function closeExchange({ exchange }: PreparedRequest, isAnswered: boolean): void {
  if (exchange !== undefined) exchange.state = isAnswered ? 'answered' : 'failed'
}

/** A body as it is sent. */
export const bytesOf = (body: Fields): Uint8Array => Buffer.from(jsonText(body))

export class RequestPreparation {
  private readonly recorder: Recorder
  /** Undefined without the option `recall`. */
  private readonly notes: RecallNotes | undefined

  constructor(private readonly state: ProxyState) {
    const { ledger, mode = 'observe', policy, scope, rules = [] } = state.options
    this.notes = state.addsNotes ? new RecallNotes(ledger, rules) : undefined
    this.recorder = new Recorder({ ledger, mode, policy, scope, onProblem: state.reportProblem })
  }

  /** Reads a model request and starts its recording. Returns a response if the request is not sent. */
  async prepare(api: Api, client: ClientRequest): Promise<PreparedRequest | Response> {
    const { request } = client
    const named = request.headers.get(CONVERSATION_HEADER)
    const checked = named === null ? undefined : checkId(CONVERSATION_HEADER, named.trim())
    if (checked !== undefined && E.isLeft(checked))
      return errorResponse(api, 400, `the header ${CONVERSATION_HEADER} ${checked.left.detail}`, 'BadId')
    const body = await readBody(request.body, this.state.maxBodyBytes)
    if (body.kind === 'cut-off')
      return errorResponse(api, 400, 'the request ended before its body was complete, so it was not sent', 'BodyCutOff')
    if (body.kind === 'too-long') {
      if (!this.state.failsClosed) return { body: body.stream }
      const { message, kind } = tooLong(this.state.maxBodyBytes)
      return answerBeforeEnd(JSON.stringify(api.errorBody(message, kind)), body.stream, 413, REFUSED)
    }
    if (!this.state.recordsInBackground) return await this.recordBeforeSending(api, client, body.bytes)
    const start = new RecordingStart(body.bytes.byteLength)
    const exchange: Exchange = { state: 'open' }
    const recording = this.recordInBackground(api, body.bytes, client, start, exchange)
    this.state.trackPending(recording)
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
    const read = await readRequest(api, bytes, headers, this.state)
    if (E.isLeft(read)) {
      if (read.left !== undefined) this.state.reportProblem(read.left)
      return BYPASSED
    }
    const record = await this.recorder.record(api, read.right.request, headers, caller, exchange)
    this.state.isLedgerDown = record.outcome === 'bypassed'
    return record
  }

  /** Records a request, and replaces its list by the ledger's context if the recorder returns one. */
  private async recordBeforeSending(
    api: Api,
    { request, headers, caller }: ClientRequest,
    bytes: Uint8Array,
  ): Promise<PreparedRequest | Response> {
    const unlessLeft = await readRequest(api, bytes, request.headers, this.state)
    if (E.isLeft(unlessLeft)) {
      const { left } = unlessLeft
      if (this.state.failsClosed)
        return left === undefined
          ? errorResponse(api, 400, UNREADABLE, 'RequestUnreadable')
          : errorResponse(api, 413, left.message, left.kind)
      if (left !== undefined) this.state.reportProblem(left)
      return { body: bytes }
    }
    const read = unlessLeft.right
    const exchange: Exchange = { state: 'open' }
    const recording = this.recorder.record(api, read.request, request.headers, caller, exchange)
    const record = await within(recording, this.state.ledgerTimeoutMs)
    if (this.state.failsClosed && (record === undefined || record.outcome === 'bypassed')) {
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
    const tool = this.state.options.offerMemory === true ? this.memoryTool(record.conversationId) : undefined
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
      const added = await within(this.notes.added(api, body, record), this.state.ledgerTimeoutMs)
      if (added === undefined) return undefined
      const bytes = bytesOf(added.body)
      headers.delete('content-encoding')
      return { body: bytes, recording: Promise.resolve(added.record), record: added.record }
    } catch (error) {
      this.state.reportProblem(error)
      return undefined
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
      this.state.reportProblem(error)
      return undefined
    }
  }

  private memoryTool(conversationId: string | undefined): AgentTool | undefined {
    if (conversationId === undefined) return undefined
    return this.state.options.ledger.conversation(conversationId).tools.list.find(({ name }) => name === 'memory_read')
  }
}
