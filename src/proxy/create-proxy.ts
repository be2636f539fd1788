/**
 * The proxy: what a client asks goes upstream, what upstream answers goes to the client, byte for byte and at once, and
 * a copy of both is recorded. In the mode `compact` the ledger's context goes upstream in the place of the client's
 * list.
 */
import { Hono } from 'hono'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { ServerResponse, type IncomingMessage } from 'node:http'
import { either as E } from 'fp-ts'
import { checkId } from '../domain/values/ids.js'
import type { PolicySettings } from '../domain/values/policy.js'
import { sentenceOf } from '../ports/store-error.js'
import { answerBeforeEnd } from '../ports/unread-body.js'
import type { AgentTool, Ledger } from '../library/ledger.js'
import type { Api, Asked, Shown } from './api.js'
import { anthropicMessages } from './apis/anthropic-messages.js'
import { chatCompletions } from './apis/chat-completions.js'
import { openaiResponses } from './apis/openai-responses.js'
import { decoded, takeBody } from './body.js'
import { createCopy, type Copy } from './copy.js'
import { isFields, jsonText, parseJson, type Fields } from './json.js'
import { askWithMemory, hasTool, type Held } from './memory.js'
import { bypassed, createRecorder, type Ending, type Turn } from './recorder.js'
import { addressOf, createUpstream, endToEnd, endToEndNames } from './upstream.js'
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
  /**
   * While observing: how long the head of an answer waits, at most, to say what became of the request. What is not known
   * by then is said to be `recording`. Default 0: a model is slower than a ledger.
   */
  readonly headWaitMs?: number
}

/**
 * The proxy as an application, and what ends it. `fetch` takes with its environment who asks (`actor`), which is recorded
 * then; without one it is the ledger's own actor.
 */
export type Proxy = Hono & {
  /** Waits until what was answered so far is recorded. */
  settled(): Promise<void>
  /** Lets go of the connections to upstream. */
  close(): Promise<void>
}

const APIS: readonly Api[] = [chatCompletions, openaiResponses, anthropicMessages]

const MAX_BODY_BYTES = 64 * 1024 * 1024
/** Of an answer whose head still waits, so much is read meanwhile. */
const MOST_HELD_BYTES = 1024 * 1024
const LEDGER_TIMEOUT_MS = 5_000
const HEAD_WAIT_MS = 0
/** A request that has been upstream for so long is recorded meanwhile. */
const RECORDED_AFTER_MS = 20

/** The header that says what became of a request. */
const STATE = 'x-context-ledger'
const REFUSED = { 'content-type': 'application/json', [STATE]: 'refused' }

const NO_BODY = new Set([101, 204, 205, 304])

/** What the header says of a turn; undefined where that is not known yet. */
function stateOf(turn: Turn | undefined): string {
  if (turn === undefined) return 'recording'
  if (turn.outcome === 'bypassed') return 'bypassed'
  if (turn.outcome === 'side-call') return 'side call; not recorded'
  return turn.cannotShorten === undefined ? 'recorded' : `recorded; cannot shorten: ${turn.cannotShorten}`
}

/** Headers of an answer for the client, name and value in turn, as upstream wrote them. */
function answerHeaders(incoming: IncomingMessage, turn: Turn | undefined, isAsked: boolean): string[] {
  const isKept = endToEndNames(incoming.headers.connection)
  const pairs: string[] = []
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    const [name, value] = [incoming.rawHeaders[at], incoming.rawHeaders[at + 1]]
    if (name !== undefined && value !== undefined && isKept(name)) pairs.push(name, value)
  }
  if (!isAsked) return pairs
  pairs.push(STATE, stateOf(turn))
  const { conversationId } = turn ?? {}
  if (conversationId !== undefined && /^[\x20-\x7E]*$/u.test(conversationId)) pairs.push(CONVERSATION, conversationId)
  return pairs
}

function asHeaders(pairs: readonly string[]): Headers {
  const headers = new Headers()
  for (let at = 0; at < pairs.length; at += 2) headers.append(pairs[at] ?? '', pairs[at + 1] ?? '')
  return headers
}

/** Waits for work of the ledger, and no longer than so many milliseconds. */
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

/** An answer on its way to the client. */
interface Passing {
  readonly incoming: IncomingMessage
  readonly copy: Copy | undefined
  readonly abort: AbortController
  /** Hears of each chunk that is on its way. */
  readonly passed: () => void
  /** Hears once how it ended; the client's end waits for what it returns. */
  readonly ended: (ending: Ending) => Promise<void> | undefined
}

/** An answer that is read, for its way to the client. */
interface Passed {
  readonly incoming: IncomingMessage
  readonly gate: Gate
  /** To be called where the client is gone. */
  readonly gone: () => void
}

/** Where the bytes of an answer go. */
interface Sink {
  /** False where it has enough for now. */
  write(chunk: Uint8Array): boolean
  end(): void
  /** The answer broke off. */
  breakOff(): void
}

/** Passes an answer on, chunk by chunk as it comes. Returns what to call where the client is gone. */
function pass({ incoming, copy, abort, passed, ended }: Passing, sink: Sink): () => void {
  let isEnded = false
  const end = (ending: Ending): Promise<void> | undefined => {
    isEnded = true
    return ended(ending)
  }
  incoming.on('data', (chunk: Buffer) => {
    if (isEnded) return
    const hasRoom = sink.write(chunk)
    copy?.take(chunk)
    passed()
    if (!hasRoom) incoming.pause()
  })
  incoming.once('end', () => {
    if (isEnded) return
    const waiting = end('whole')
    if (waiting === undefined) sink.end()
    else
      void (async (): Promise<void> => {
        try {
          await waiting
          sink.end()
        } catch {
          sink.breakOff()
        }
      })()
  })
  const broken = (): void => {
    if (isEnded) return
    void end('cut')
    sink.breakOff()
  }
  incoming.once('error', broken)
  incoming.once('close', broken)
  return () => {
    if (isEnded) return
    void end('interrupted')
    abort.abort()
    incoming.destroy()
  }
}

/** The client's own connection, where the server is Node's. */
function outgoingOf(environment: unknown): ServerResponse | undefined {
  const outgoing = isFields(environment) ? environment['outgoing'] : undefined
  return outgoing instanceof ServerResponse ? outgoing : undefined
}

/** Who asks, as whoever calls the application says it. */
function actorOf(environment: unknown): string | undefined {
  const actor = isFields(environment) ? environment['actor'] : undefined
  return typeof actor === 'string' ? actor : undefined
}

/** A place for an answer whose head still waits. */
interface Gate extends Sink {
  /** Lets through what came, and from now on what comes. */
  open(sink: Sink): void
}

/**
 * Holds what comes until it is opened. A connection that breaks drops what nobody has read and tells it once: so an
 * answer is read from its head on.
 */
function createGate(): Gate {
  let sink: Sink | undefined
  let isBroken = false
  let bytes = 0
  const held: ((to: Sink) => unknown)[] = []
  return {
    write(chunk) {
      if (sink !== undefined) return sink.write(chunk)
      held.push((to) => to.write(chunk))
      bytes += chunk.byteLength
      return bytes < MOST_HELD_BYTES
    },
    end() {
      if (sink === undefined)
        held.push((to) => {
          to.end()
        })
      else sink.end()
    },
    breakOff() {
      isBroken = true
      sink?.breakOff()
    },
    open(opened) {
      sink = opened
      for (const step of held.splice(0)) step(opened)
      // What was written in this turn of the event loop goes out first.
      if (isBroken)
        setImmediate(() => {
          opened.breakOff()
        })
    },
  }
}

/**
 * Writes an answer to the client's connection. A body of the Fetch API would cost every chunk several promises, and
 * write a sentence of the server's into an answer that breaks off.
 */
function passTo(outgoing: ServerResponse, { incoming, gate, gone }: Passed, pairs: readonly string[]): Response {
  outgoing.on('drain', () => {
    incoming.resume()
  })
  outgoing.once('close', gone)
  outgoing.once('error', gone)
  // Nobody is there any more.
  if (outgoing.destroyed) {
    gone()
    return RESPONSE_ALREADY_SENT
  }
  outgoing.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, [...pairs])
  outgoing.flushHeaders()
  gate.open({
    write: (chunk) => outgoing.write(chunk),
    end() {
      outgoing.end()
    },
    breakOff() {
      outgoing.destroy()
    },
  })
  incoming.resume()
  return RESPONSE_ALREADY_SENT
}

/** An answer as a body of the Fetch API, for other servers. */
function passedOn({ incoming, gate, gone }: Passed): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        gate.open({
          write(chunk) {
            controller.enqueue(chunk)
            return (controller.desiredSize ?? 0) > 0
          },
          end() {
            controller.close()
          },
          breakOff() {
            controller.error(new Error('upstream broke off'))
          },
        })
      },
      pull() {
        incoming.resume()
      },
      cancel() {
        gone()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  )
}

/** An answer that is there to its end. Node's own connection takes each status that upstream may say, `Response` does not. */
function whole(
  outgoing: ServerResponse | undefined,
  {
    incoming,
    status,
    pairs,
  }: { readonly incoming: IncomingMessage; readonly status: number; readonly pairs: string[] },
  bytes?: Uint8Array,
): Response {
  if (outgoing === undefined)
    return new Response(bytes === undefined ? null : new Uint8Array(bytes), { status, headers: asHeaders(pairs) })
  outgoing.writeHead(status, incoming.statusMessage, pairs).end(bytes)
  return RESPONSE_ALREADY_SENT
}

/** When a request is read and recorded that nothing waits for. */
interface Start {
  readonly begun: Promise<void>
  begin(): void
}

/**
 * A model thinks for a while, and that is when its question is recorded. Where an answer comes at once, its first bytes
 * go first.
 */
function createStart(): Start {
  let resolve: () => void = () => undefined
  const begun = new Promise<void>((resolved) => {
    resolve = resolved
  })
  const timer = setTimeout(() => {
    resolve()
  }, RECORDED_AFTER_MS)
  return {
    begun,
    begin() {
      clearTimeout(timer)
      resolve()
    },
  }
}

const bytesOf = (body: Fields): Uint8Array => Buffer.from(jsonText(body))

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
  const headWaitMs = options.headWaitMs ?? HEAD_WAIT_MS
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
  /** Nothing waits for the ledger: a request is recorded while it is upstream. */
  const isBeside = mode === 'observe' && fail === 'open'
  /** The last request could not be recorded: the next one waits to say whether it was. */
  let isDown = false
  /** Answers that are on their way to the client, or being recorded. */
  const under = new Set<Promise<unknown>>()

  const refused = (api: Api, status: 400 | 426 | 500 | 502 | 503, sentence: string, kind: string): Response =>
    new Response(JSON.stringify(api.refusal(sentence, kind)), {
      status,
      headers: REFUSED,
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

  /** The request with the ledger's context in the place of its list; undefined where that cannot be written. */
  function writtenFor(
    { api, body }: Reading,
    shown: readonly Shown[],
  ): { readonly body: Fields; readonly bytes: Uint8Array } | undefined {
    try {
      const written = api.write(body, shown)
      return { body: written, bytes: bytesOf(written) }
    } catch (error) {
      // What is nested without end can be read, and not written.
      onProblem(error)
      return undefined
    }
  }

  const memoryOf = (conversationId: string | undefined): AgentTool | undefined =>
    conversationId === undefined ? undefined : ledger.tools(conversationId).find(({ name }) => name === 'memory_read')

  /** An answer that was held back, recorded and handed on. */
  async function answered(
    held: Held,
    status: number,
    turn: Turn | undefined,
    outgoing: ServerResponse | undefined,
  ): Promise<Response> {
    const { incoming, bytes, answer, isCut, reads } = held
    const more = reads.length === 0 ? {} : { memoryReads: reads }
    const recording =
      turn !== undefined && status >= 200 && status < 300
        ? turn.answered(Promise.resolve(answer), isCut ? 'cut' : 'whole', more)
        : Promise.resolve(true)
    const isRecorded = await recording
    const pairs = answerHeaders(incoming, turn ?? bypassed, true)
    if (isCut || (!isRecorded && fail === 'closed')) {
      if (outgoing === undefined)
        return new Response(
          new ReadableStream<Uint8Array>({
            start(controller) {
              controller.enqueue(bytes)
            },
            pull() {
              throw new Error('upstream broke off')
            },
          }),
          { status, headers: asHeaders(pairs) },
        )
      outgoing.writeHead(status, incoming.statusMessage, pairs)
      outgoing.write(bytes, () => outgoing.destroy())
      return RESPONSE_ALREADY_SENT
    }
    return whole(outgoing, { incoming, status, pairs }, NO_BODY.has(status) ? undefined : bytes)
  }

  /** What `settled` waits for. */
  function keepUnder(work: Promise<unknown>): void {
    under.add(work)
    void work.finally(() => under.delete(work))
  }

  /** Reads and records a request while it is upstream. */
  async function askBeside(
    api: Api,
    bytes: Uint8Array,
    { headers, actor, begun }: { readonly headers: Headers; readonly actor: string | undefined } & Pick<Start, 'begun'>,
  ): Promise<Turn> {
    await begun
    const reading = await readAsked(api, bytes, headers)
    if (reading === undefined) return bypassed
    const turn = await recorder.ask(api, reading.asked, headers, actor)
    isDown = turn.outcome === 'bypassed'
    return turn
  }

  app.all('*', async (context) => {
    const request = context.req.raw
    const url = new URL(request.url)
    const api = request.method === 'POST' ? APIS.find((each) => each.matches(url.pathname)) : undefined
    // Codex asks over HTTP at once where a server says so, and tries on for seconds where it says anything else.
    if (/^websocket$/iu.test(request.headers.get('upgrade') ?? ''))
      return refused(openaiResponses, 426, 'this proxy records what is asked over HTTP, and no WebSocket', 'HttpOnly')
    const headers = endToEnd(request.headers)
    const actor = actorOf(context.env)
    const abort = new AbortController()
    request.signal.addEventListener('abort', () => {
      abort.abort()
    })

    let body: Uint8Array | ReadableStream<Uint8Array> | undefined = request.body ?? undefined
    let asking: Promise<Turn> | undefined
    let turn: Turn | undefined
    const start = createStart()
    let memory: { readonly body: Fields; readonly tool: AgentTool } | undefined
    if (api !== undefined) {
      const named = request.headers.get(CONVERSATION)
      const checked = named === null ? undefined : checkId(CONVERSATION, named.trim())
      if (checked !== undefined && E.isLeft(checked))
        return refused(api, 400, `the header ${CONVERSATION} ${checked.left.detail}`, 'BadId')
      const taken = await takeBody(request.body, maxBodyBytes)
      if (taken.kind === 'cut')
        return refused(api, 400, 'the request ended before it was whole, and was not sent', 'BodyCutOff')
      body = taken.kind === 'whole' ? taken.bytes : taken.stream
      if (taken.kind === 'whole' && isBeside)
        asking = askBeside(api, taken.bytes, { headers: request.headers, actor, begun: start.begun })
      if (asking !== undefined) keepUnder(asking)
      const reading =
        taken.kind === 'whole' && !isBeside ? await readAsked(api, taken.bytes, request.headers) : undefined
      if (reading !== undefined) {
        asking = recorder.ask(api, reading.asked, request.headers, actor)
        turn = await within(asking, ledgerTimeoutMs)
        const written = turn?.shown === undefined ? undefined : writtenFor(reading, turn.shown)
        if (turn?.shown !== undefined && written === undefined)
          turn = { ...turn, cannotShorten: 'the request cannot be written anew' }
        if (turn !== undefined && written !== undefined) {
          body = written.bytes
          headers.delete('content-encoding')
          const tool = options.offerMemory === true ? memoryOf(turn.conversationId) : undefined
          if (tool !== undefined && !hasTool(reading.asked.tools, tool.name)) memory = { body: written.body, tool }
        }
      }
      if (fail === 'closed' && taken.kind === 'long')
        return answerBeforeEnd(
          JSON.stringify(
            api.refusal(
              `the request is longer than ${String(maxBodyBytes)} bytes, and is not recorded`,
              'BodyTooLarge',
            ),
          ),
          taken.stream,
          413,
          REFUSED,
        )
      if (fail === 'closed' && (turn === undefined || turn.outcome === 'bypassed') && reading !== undefined)
        return refused(
          api,
          503,
          'the ledger cannot record this request now, so it was not sent: try again later',
          'LedgerDown',
        )
    }

    const send = async (sent: typeof body): Promise<IncomingMessage> =>
      await upstream.send({
        method: request.method,
        url: addressOf(upstreamUrl, url.pathname, url.search),
        headers,
        body: request.method === 'GET' || request.method === 'HEAD' ? undefined : sent,
        signal: abort.signal,
      })
    const outgoing = outgoingOf(context.env)
    let incoming: IncomingMessage
    let held: Held | undefined
    try {
      if (api !== undefined && memory !== undefined) {
        held = await askWithMemory(api, memory.body, memory.tool, async (sent) => await send(bytesOf(sent)))
        incoming = held.incoming
      } else incoming = await send(body)
    } catch (error) {
      const shape = api ?? chatCompletions
      return refused(shape, 502, `upstream does not answer: ${sentenceOf(error)}`, 'UpstreamUnreachable')
    }
    const status = incoming.statusCode ?? 502
    if (held !== undefined) return await answered(held, status, turn, outgoing)
    const isBodyless = NO_BODY.has(status) || request.method === 'HEAD'
    const isAnswer = api !== undefined && asking !== undefined && status >= 200 && status < 300 && !isBodyless
    const copy = isAnswer
      ? createCopy(api, incoming.headers['content-type'] ?? '', incoming.headers['content-encoding'])
      : undefined
    if (copy === undefined) start.begin()
    let isOver: () => void = () => undefined
    if (copy !== undefined) {
      const running = new Promise<void>((resolve) => {
        isOver = resolve
      })
      keepUnder(running)
    }
    const ended = (ending: Ending): Promise<void> | undefined => {
      if (copy === undefined || asking === undefined) return undefined
      start.begin()
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
    const passed = (): void => {
      start.begin()
    }
    const gate = createGate()
    const gone = isBodyless ? undefined : pass({ incoming, copy, abort, passed, ended }, gate)
    if (isBeside && asking !== undefined) {
      const waitMs = isDown ? ledgerTimeoutMs : headWaitMs
      if (waitMs > 0) start.begin()
      turn = await within(asking, waitMs)
    }
    const pairs = answerHeaders(
      incoming,
      turn ?? (asking !== undefined && isBeside ? undefined : bypassed),
      api !== undefined,
    )
    if (gone === undefined) {
      incoming.resume()
      return whole(outgoing, { incoming, status, pairs })
    }
    if (outgoing !== undefined) return passTo(outgoing, { incoming, gate, gone }, pairs)
    return new Response(passedOn({ incoming, gate, gone }), { status, headers: asHeaders(pairs) })
  })
  // Without this the framework writes the stack to standard error.
  app.onError((error, context) => {
    onProblem(error)
    const api = APIS.find((each) => each.matches(context.req.path)) ?? chatCompletions
    return refused(api, 500, 'a mistake of the proxy; its own log has more', 'Bug')
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
