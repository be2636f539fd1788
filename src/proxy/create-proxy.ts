/**
 * The proxy: what a client asks goes upstream, what upstream answers goes to the client, byte for byte and at once, and
 * a copy of both is recorded. In the mode `compact` the ledger's context goes upstream in the place of the client's
 * list.
 */
import { Hono } from 'hono'
import type { IncomingMessage } from 'node:http'
import { either as E } from 'fp-ts'
import { checkId } from '../domain/values/ids.js'
import type { PolicySettings } from '../domain/values/policy.js'
import { sentenceOf } from '../ports/store-error.js'
import type { Ledger } from '../library/ledger.js'
import type { Api, Asked } from './api.js'
import { anthropicMessages } from './apis/anthropic-messages.js'
import { chatCompletions } from './apis/chat-completions.js'
import { openaiResponses } from './apis/openai-responses.js'
import { decoded, takeBody } from './body.js'
import { createCopy, type Copy } from './copy.js'
import { isFields, parseJson, type Fields } from './json.js'
import { createRecorder, type Ending, type Turn } from './recorder.js'
import { addressOf, createUpstream, endToEnd } from './upstream.js'
import { CONVERSATION } from './whose.js'

/** What the proxy stands between, and how. */
export interface ProxyOptions {
  /** Where it records. */
  readonly ledger: Ledger
  /** The API's address, with or without its version: `https://api.openai.com/v1`. */
  readonly upstream: string | URL
  /** `observe` (default) changes nothing; `compact` sends the ledger's context upstream. */
  readonly mode?: 'observe' | 'compact'
  /** Where the ledger cannot record: `open` (default) passes the request on unrecorded, `closed` refuses it. */
  readonly fail?: 'open' | 'closed'
  /** In the mode `compact`: offers `memory_read` to the model, and answers it here. */
  readonly offerMemory?: boolean
  /** Settings of the conversations, over what is reckoned from the requests. */
  readonly policy?: PolicySettings
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Hears of what went wrong with the ledger. What it throws breaks nothing. */
  readonly onProblem?: (problem: unknown) => void
  /** Bytes of a request that are read to be recorded; a longer one is passed on unrecorded. Default 64 MiB. */
  readonly maxBodyBytes?: number
  /** How long a request waits for a ledger that does not answer, before it counts as down. Default 5,000 ms. */
  readonly ledgerTimeoutMs?: number
}

/** The proxy as an application, and what ends it. */
export type Proxy = Hono & {
  /** Waits until what was answered so far is recorded. */
  settled(): Promise<void>
  /** Lets go of the connections to upstream. */
  close(): Promise<void>
}

const APIS: readonly Api[] = [chatCompletions, openaiResponses, anthropicMessages]

const MAX_BODY_BYTES = 64 * 1024 * 1024
const LEDGER_TIMEOUT_MS = 5_000

/** The header that says what became of a request. */
const STATE = 'x-context-ledger'

const NO_BODY = new Set([101, 204, 205, 304])

/** What the header says of a turn. */
function stateOf(turn: Turn | undefined): string {
  if (turn === undefined || turn.outcome === 'bypassed') return 'bypassed'
  if (turn.outcome === 'side-call') return 'side call; not recorded'
  return turn.cannotShorten === undefined ? 'recorded' : `recorded; cannot shorten: ${turn.cannotShorten}`
}

/** Headers of an answer for the client. */
function answerHeaders(incoming: IncomingMessage, turn: Turn | undefined, isAsked: boolean): Headers {
  const all = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    const [name, value] = [incoming.rawHeaders[at], incoming.rawHeaders[at + 1]]
    if (name !== undefined && value !== undefined) all.append(name, value)
  }
  const headers = endToEnd(all)
  if (!isAsked) return headers
  headers.set(STATE, stateOf(turn))
  const { conversationId } = turn ?? {}
  if (conversationId !== undefined && /^[\x20-\x7E]*$/u.test(conversationId)) headers.set(CONVERSATION, conversationId)
  return headers
}

/** Waits for work of the ledger, and no longer than so many milliseconds. */
async function within<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
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

/**
 * The bytes of an answer for the client, as they come. `ended` hears once how it ended; a stream waits for it where it
 * returns a promise.
 */
function passedOn(
  incoming: IncomingMessage,
  copy: Copy | undefined,
  abort: AbortController,
  ended: (ending: Ending) => Promise<void> | undefined,
): ReadableStream<Uint8Array> {
  let isEnded = false
  const end = (ending: Ending): Promise<void> | undefined => {
    if (isEnded) return undefined
    isEnded = true
    return ended(ending)
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const close = async (waiting: Promise<void> | undefined): Promise<void> => {
          try {
            await waiting
            controller.close()
          } catch (error) {
            controller.error(error)
          }
        }
        incoming.on('data', (chunk: Buffer) => {
          controller.enqueue(chunk)
          copy?.take(chunk)
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause()
        })
        incoming.once('end', () => {
          void close(end('whole'))
        })
        const broken = (error?: Error): void => {
          if (isEnded) return
          void end(abort.signal.aborted ? 'interrupted' : 'cut')
          try {
            controller.error(error ?? new Error('upstream broke off'))
          } catch {
            // The client is gone, and nobody reads on.
          }
        }
        incoming.once('error', broken)
        incoming.once('close', () => {
          broken()
        })
      },
      pull() {
        incoming.resume()
      },
      cancel() {
        void end('interrupted')
        abort.abort()
        incoming.destroy()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  )
}

/** A request as it is recorded. */
interface Reading {
  readonly api: Api
  readonly body: Fields
  readonly asked: Asked
}

/** Makes the proxy. */
export function createProxy(options: ProxyOptions): Proxy {
  const { ledger, mode = 'observe', fail = 'open', policy, scope } = options
  const upstreamUrl = new URL(options.upstream)
  const maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES
  const ledgerTimeoutMs = options.ledgerTimeoutMs ?? LEDGER_TIMEOUT_MS
  const onProblem = (problem: unknown): void => {
    try {
      options.onProblem?.(problem)
    } catch {
      // Whoever listens breaks nothing.
    }
  }
  const upstream = createUpstream()
  const recorder = createRecorder({ ledger, mode, policy, scope, onProblem })
  const app = new Hono()
  /** Answers that are on their way to the client, or being recorded. */
  const under = new Set<Promise<unknown>>()

  const refused = (api: Api, status: 400 | 413 | 502 | 503, sentence: string, kind: string): Response =>
    new Response(JSON.stringify(api.refusal(sentence, kind)), {
      status,
      headers: { 'content-type': 'application/json', [STATE]: 'refused' },
    })

  async function readAsked(api: Api, bytes: Uint8Array, headers: Headers): Promise<Reading | undefined> {
    const plain = await decoded(bytes, headers.get('content-encoding'), maxBodyBytes * 4)
    if (plain === undefined) return undefined
    const body = parseJson(Buffer.from(plain).toString('utf8'))
    if (!isFields(body)) return undefined
    try {
      const asked = api.read(body)
      return asked === undefined ? undefined : { api, body, asked }
    } catch (error) {
      onProblem(error)
      return undefined
    }
  }

  app.all('*', async (context) => {
    const request = context.req.raw
    const url = new URL(request.url)
    const api = request.method === 'POST' ? APIS.find((each) => each.matches(url.pathname)) : undefined
    const headers = endToEnd(request.headers)
    const abort = new AbortController()
    request.signal.addEventListener('abort', () => {
      abort.abort()
    })

    let body: Uint8Array | ReadableStream<Uint8Array> | undefined = request.body ?? undefined
    let asking: Promise<Turn> | undefined
    let turn: Turn | undefined
    let isLong = false
    if (api !== undefined) {
      const named = request.headers.get(CONVERSATION)
      const checked = named === null ? undefined : checkId(CONVERSATION, named.trim())
      if (checked !== undefined && E.isLeft(checked))
        return refused(api, 400, `the header ${CONVERSATION} ${checked.left.detail}`, 'BadId')
      const taken = await takeBody(request.body, maxBodyBytes)
      isLong = taken.kind === 'long'
      body = taken.kind === 'whole' ? taken.bytes : taken.stream
      const reading = taken.kind === 'whole' ? await readAsked(api, taken.bytes, request.headers) : undefined
      if (reading !== undefined) {
        asking = recorder.ask(api, reading.asked, request.headers)
        if (mode === 'compact' || fail === 'closed') turn = await within(asking, ledgerTimeoutMs)
        if (turn?.shown !== undefined) {
          body = Buffer.from(JSON.stringify(api.write(reading.body, turn.shown)))
          headers.delete('content-encoding')
        }
      }
      if (fail === 'closed' && (turn === undefined || turn.outcome === 'bypassed') && (reading !== undefined || isLong))
        return isLong
          ? refused(
              api,
              413,
              `the request is longer than ${String(maxBodyBytes)} bytes, and is not recorded`,
              'BodyTooLarge',
            )
          : refused(
              api,
              503,
              'the ledger cannot record this request now, so it was not sent: try again later',
              'LedgerDown',
            )
    }

    let incoming: IncomingMessage
    try {
      incoming = await upstream.send({
        method: request.method,
        url: addressOf(upstreamUrl, url.pathname, url.search),
        headers,
        body: request.method === 'GET' || request.method === 'HEAD' ? undefined : body,
        signal: abort.signal,
      })
    } catch (error) {
      const shape = api ?? chatCompletions
      return refused(shape, 502, `upstream does not answer: ${sentenceOf(error)}`, 'UpstreamUnreachable')
    }
    const status = incoming.statusCode ?? 502
    if (turn === undefined && asking !== undefined) turn = await within(asking, ledgerTimeoutMs)

    const isAnswer = api !== undefined && asking !== undefined && status >= 200 && status < 300
    const copy = isAnswer
      ? createCopy(api, incoming.headers['content-type'] ?? '', incoming.headers['content-encoding'])
      : undefined
    let isOver: () => void = () => undefined
    if (copy !== undefined) {
      const running = new Promise<void>((resolve) => {
        isOver = resolve
      })
      under.add(running)
      void running.then(() => under.delete(running))
    }
    const ended = (ending: Ending): Promise<void> | undefined => {
      if (copy === undefined || asking === undefined) return undefined
      const coming = copy.end()
      const recording =
        turn === undefined ? asking.then((asked) => asked.answered(coming, ending)) : turn.answered(coming, ending)
      const done = (async (): Promise<void> => {
        const isRecorded = await recording
        isOver()
        if (!isRecorded && fail === 'closed') throw new Error('the answer could not be recorded')
      })()
      if (fail === 'closed') return done
      done.catch(onProblem)
      return undefined
    }
    const answerHead = { status, headers: answerHeaders(incoming, turn, api !== undefined) }
    if (NO_BODY.has(status) || request.method === 'HEAD') {
      incoming.resume()
      return new Response(null, answerHead)
    }
    return new Response(passedOn(incoming, copy, abort, ended), answerHead)
  })
  async function settled(): Promise<void> {
    while (under.size > 0) await Promise.all(under)
  }
  return Object.assign(app, {
    settled,
    async close() {
      await settled()
      upstream.close()
    },
  })
}
