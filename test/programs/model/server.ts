/**
 * A model on 127.0.0.1 that answers by script (`script.ts`) over the APIs of `apis.ts`, refuses the requests
 * that the real APIs refuse, and keeps every request.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { EventEmitter, once } from 'node:events'
import { gzipSync } from 'node:zlib'
import type { ScriptedAnswer } from '../../support/upstream-answers.js'
import { writeAnswer } from '../../support/upstream-stub.js'
import { MODEL_APIS, type ModelApi } from './apis.js'
import { fieldsOf, jsonOf, type Fields, type ModelRequest } from './request.js'
import { Script, type AgentTools, type ScriptedStep } from './script.js'

/** What a request is for: a turn of the conversation, a summary, or something else (a title, a check). */
type RequestPurpose = 'turn' | 'compaction' | 'other'

/** What the model must know of a program. */
export interface ModelClient {
  readonly tools: AgentTools
  purposeOf(request: ModelRequest): RequestPurpose
  /** The summary in the form that the program asks for. */
  summary(text: string): string
  /** The answer to a request with the purpose `other`. */
  otherAnswer?(request: ModelRequest): string
  /** Rules of the real API that the program itself breaks: such requests are answered, and reported. */
  readonly brokenRules?: readonly RegExp[]
  /** The program counts tokens itself and does not read the usage of answers. */
  readonly countsTokens?: true
}

/** A request that the model received. */
export interface ReceivedRequest {
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  readonly api: ModelApi['name']
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body byte for byte, as base64. */
  readonly bytes: string
  readonly body: Fields
  readonly request: ModelRequest
  readonly purpose: RequestPurpose
  readonly problems: readonly string[]
  /** Undefined if the request was refused. */
  readonly answer: ScriptedStep | undefined
}

export interface ScriptedModel {
  /** Without a path. */
  readonly url: string
  /** Model requests, in the order in which they arrived. */
  readonly requests: readonly ReceivedRequest[]
  /** Other requests, as `METHOD PATH`. */
  readonly otherRequests: readonly string[]
  /** Resolves when the next answer begins that never ends. */
  hung(): Promise<void>
  /** Milliseconds before each answer. */
  delayMs: number
  close(): Promise<void>
}

/** The beginning of every summary. It omits the rule of the first message. */
export const SUMMARY = 'The agent read notes.txt and listed the folder. Next: continue with the harbour plan.'

/** Answers to requests that are for no answer of the model. */
function otherAnswer(path: string, body: Fields): unknown {
  if (path.endsWith('count_tokens')) return { input_tokens: Math.ceil(JSON.stringify(body).length / 4) }
  if (path.includes(':countTokens')) return { totalTokens: Math.ceil(JSON.stringify(body).length / 4) }
  if (path.endsWith('/models'))
    return { object: 'list', data: [{ id: 'm1', object: 'model', created: 1_700_000_000, owned_by: 'mock' }] }
  return {}
}

class Server {
  readonly requests: ReceivedRequest[] = []
  readonly otherRequests: string[] = []
  delayMs = 0
  readonly events = new EventEmitter()
  private readonly script: Script

  constructor(private readonly client: ModelClient) {
    this.script = new Script(client.tools, client.countsTokens === true)
  }

  async respond(
    path: string,
    method: string,
    headers: IncomingHttpHeaders,
    bytes: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    const body = fieldsOf(jsonOf(bytes.toString('utf8')))
    const api = method === 'POST' ? MODEL_APIS.find((each) => each.matches(path)) : undefined
    if (api === undefined) {
      this.otherRequests.push(`${method} ${path}`)
      await writeAnswer(response, { json: otherAnswer(path, body) })
      return
    }
    const request = api.read(body, path)
    const purpose = this.client.purposeOf(request)
    const problems = api.problems(body)
    const isRefused = problems.some((problem) => !(this.client.brokenRules ?? []).some((rule) => rule.test(problem)))
    const answer = isRefused ? undefined : this.answerTo(request, purpose)
    const receivedAt = Date.now()
    this.requests.push({
      receivedAt,
      api: api.name,
      path,
      headers,
      bytes: bytes.toString('base64'),
      body,
      request,
      purpose,
      problems,
      answer,
    })
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs))
    if (answer === undefined) {
      await writeAnswer(response, { status: 400, json: api.error(problems.join('; ')) })
      return
    }
    if (answer.garbled !== undefined) {
      const type =
        answer.garbled === 'html' ? 'text/html' : request.isStreamed ? 'text/event-stream' : 'application/json'
      response.writeHead(200, { 'content-type': type })
      response.end(answer.garbled === 'html' ? '<html>Service unavailable</html>' : gzipSync('{}'))
      return
    }
    const written = api.answer(answer, request.isStreamed)
    if (answer.hangs === true && typeof written === 'object' && 'chunks' in written) {
      await writeAnswer(response, { chunks: written.chunks.slice(0, 5), ending: 'hang' })
      this.events.emit('hung')
    } else await writeAnswer(response, written)
  }

  private answerTo(request: ModelRequest, purpose: RequestPurpose): ScriptedStep {
    const id = `answer_${String(this.requests.length + 1)}`
    const inputTokens = Math.ceil(JSON.stringify(request.messages).length / 4)
    const sideAnswer = (text: string): ScriptedAnswer => ({ id, text, inputTokens })
    // No two summaries are equal.
    if (purpose === 'compaction')
      return sideAnswer(this.client.summary(`${SUMMARY} (summary ${String(this.requests.length + 1)})`))
    if (purpose === 'other') return sideAnswer(this.client.otherAnswer?.(request) ?? 'Harbour plan')
    return { id, inputTokens, ...this.script.next(request) }
  }
}

/** Starts a model for one program. */
export async function startScriptedModel(client: ModelClient): Promise<ScriptedModel> {
  const state = new Server(client)
  const server = createServer((incoming, response) => {
    response.on('error', () => undefined)
    void (async () => {
      const bytes = Buffer.concat(await incoming.toArray())
      const path = new URL(incoming.url ?? '/', 'http://localhost').pathname
      await state.respond(path, incoming.method ?? '', incoming.headers, bytes, response)
    })().catch((error: unknown) => {
      response.writeHead(500).end(JSON.stringify({ error: { message: String(error) } }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : '')}`,
    requests: state.requests,
    otherRequests: state.otherRequests,
    hung: async () => {
      await once(state.events, 'hung')
    },
    get delayMs() {
      return state.delayMs
    },
    set delayMs(value) {
      state.delayMs = value
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
