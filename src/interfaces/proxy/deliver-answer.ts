/** Passes the answers of upstream to the client, and records a copy of each. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Api } from '../../application/model-apis/api.js'
import { createAnswerCopy, type AnswerCopy } from './answer-copy.js'
import { answerHeaders, upstreamHeaders } from './answer-headers.js'
import {
  AnswerBuffer,
  asHeaders,
  handedOver,
  readAnswerInto,
  sendBrokenOff,
  sendComplete,
  streamedBody,
  streamTo,
} from './answer-stream.js'
import type { BufferedAnswer } from './memory-tool.js'
import { closeExchange, type ClientRequest, type PreparedRequest } from './prepare-request.js'
import { within, type ProxyState } from './proxy-state.js'
import { BYPASSED, type AnswerEnding, type RequestRecord } from './recorder.js'

/** Statuses of answers without a body. */
const NO_BODY = new Set([101, 204, 205, 304])

export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** An answer that passed to the client, and of which the ledger has nothing. */
const unreadableAnswer = (reason: string, conversationId: string | undefined): Error =>
  new Error(
    `an answer${conversationId === undefined ? '' : ` in the conversation ${conversationId}`} cannot be read: ${reason}. It passed to the client unchanged and is not recorded`,
  )

export class AnswerDelivery {
  constructor(private readonly state: ProxyState) {}

  /** Records a buffered answer and sends it to the client. */
  async sendBuffered(
    { incoming, bytes, answer, unreadable, isCut, reads }: BufferedAnswer,
    record: RequestRecord | undefined,
    outgoing: ServerResponse | undefined,
  ): Promise<Response> {
    const status = incoming.statusCode ?? 502
    const unread = isCut || !isSuccess(status) ? undefined : unreadable
    const recording =
      record === undefined || !isSuccess(status)
        ? Promise.resolve(true)
        : record.recordAnswer(
            Promise.resolve(unread === undefined ? answer : { unreadable: unread }),
            isCut ? 'cut-off' : 'complete',
            reads.length === 0 ? {} : { memoryReads: reads },
          )
    this.state.trackPending(recording)
    const isRecorded = await recording
    if (unread !== undefined) this.state.reportProblem(unreadableAnswer(unread, record?.conversationId))
    const head = { outgoing, incoming, status, headers: answerHeaders(incoming, record ?? BYPASSED, unread) }
    if (isCut || (!isRecorded && this.state.failsClosed)) return sendBrokenOff(head, bytes)
    return sendComplete(head, NO_BODY.has(status) ? undefined : bytes)
  }

  /** Passes an answer to the client while it arrives, and records a copy of it. */
  async streamAnswer(
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
    if (copy === undefined) closeExchange(prepared, false)
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
      const waitMs = this.state.isLedgerDown ? this.state.ledgerTimeoutMs : this.state.headWaitMs
      if (waitMs > 0) start.start()
      record = await within(recording, waitMs)
    }
    const isPending = recording !== undefined && this.state.recordsInBackground
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
   * Returns the function that records an answer at its end. With `fail: 'closed'` its result is false if the answer could
   * not be recorded, and the end of the client's answer waits for it.
   */
  private answerRecording(
    copy: AnswerCopy | undefined,
    prepared: PreparedRequest,
    outgoing: ServerResponse | undefined,
  ): (ending: AnswerEnding) => Promise<boolean> | undefined {
    const { recording, record, start } = prepared
    let onRecorded: () => void = () => undefined
    if (copy !== undefined)
      this.state.trackPending(
        new Promise<void>((resolve) => {
          onRecorded = resolve
        }),
      )
    return (ending) => {
      // The client cannot read an incomplete or unreadable answer either, so its next request will not contain it.
      if (copy !== undefined) closeExchange(prepared, ending === 'complete' && copy.unreadable() === undefined)
      // Parsing an answer takes time as well, so it starts after the client's answer was sent unless that one waits.
      const sent = this.state.failsClosed ? Promise.resolve() : handedOver(outgoing)
      void sent.then(() => start?.start())
      if (copy === undefined || recording === undefined) return undefined
      const answer = sent.then(async () => {
        const read = await copy.end()
        const unreadable = ending === 'complete' ? copy.unreadable() : undefined
        // An error in a successful response is no answer either.
        if (unreadable !== undefined || read?.message === undefined) closeExchange(prepared, false)
        if (unreadable === undefined) return read
        this.state.reportProblem(unreadableAnswer(unreadable, (await recording).conversationId))
        return { unreadable }
      })
      const stored =
        record === undefined
          ? recording.then((known) => known.recordAnswer(answer, ending))
          : record.recordAnswer(answer, ending)
      const isStored = stored
        .catch((error: unknown) => {
          this.state.reportProblem(error)
          return false
        })
        .finally(onRecorded)
      return this.state.failsClosed ? isStored : undefined
    }
  }
}
