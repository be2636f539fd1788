/**
 * A server on this machine that speaks as much of OpenAI's API as we use: chat completions and embeddings. It answers
 * from a script, in order and the last answer for ever, counts its calls and keeps what it was asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { sha256 } from '../../src/domain/values/hash.js'

interface StubCall {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Readonly<Record<string, unknown>>
}

/** How a call is answered: a status with a body, or not at all. */
export type StubAnswer =
  | {
      readonly status: number
      /** A text and bytes are sent as they are, as `text/html` unless the headers say otherwise; the rest as JSON. */
      readonly body: unknown
      readonly headers?: Readonly<Record<string, string>>
      /** Milliseconds until the headers are sent. */
      readonly delayMs?: number
    }
  /**
   * Nothing comes back, or the beginning of a body and no more, or the connection breaks, before an answer or in the
   * middle of one.
   */
  | { readonly never: 'silence' | 'stall' | 'reset' | 'break' }
  | ((call: StubCall, number: number) => StubAnswer)

export interface OpenAiStub {
  /** With `/v1`, as clients want it. */
  readonly baseUrl: string
  readonly calls: readonly StubCall[]
  /** Takes the place of the script from the next call on. */
  answerWith(...answers: readonly [StubAnswer, ...StubAnswer[]]): void
  close(): Promise<void>
}

const completion = (message: Readonly<Record<string, unknown>>, finishReason: string): StubAnswer => ({
  status: 200,
  body: {
    id: 'chatcmpl-stub',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'stub-1',
    choices: [{ index: 0, finish_reason: finishReason, message: { role: 'assistant', ...message } }],
    usage: { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 },
  },
})

const problem = (
  status: number,
  message: string,
  code: string | null,
  headers: Readonly<Record<string, string>> = {},
): StubAnswer => ({
  status,
  body: { error: { message, type: 'invalid_request_error', param: null, code } },
  headers,
})

/** Everything that a model's server was seen to answer, by name. */
export const stubAnswers = {
  text: (text: string) => completion({ content: text, refusal: null }, 'stop'),
  empty: () => completion({ content: '', refusal: null }, 'stop'),
  refused: () => completion({ content: null, refusal: 'I cannot help with that.' }, 'stop'),
  filtered: () => completion({ content: '', refusal: null }, 'content_filter'),
  cutOff: () => completion({ content: 'This summary ends in the middle of a', refusal: null }, 'length'),
  /** Far above any `maxSummaryTokens`. */
  overLong: () => completion({ content: 'one more word '.repeat(10_000), refusal: null }, 'stop'),
  rateLimited: (retryAfter?: string) =>
    problem(
      429,
      'Rate limit reached',
      'rate_limit_exceeded',
      retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    ),
  noQuota: () => problem(429, 'You exceeded your current quota', 'insufficient_quota'),
  unauthorized: () => problem(401, 'Incorrect API key provided', 'invalid_api_key'),
  unknownModel: () => problem(404, 'The model `nobody-1` does not exist', 'model_not_found'),
  tooLarge: () =>
    problem(
      400,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      'context_length_exceeded',
    ),
  rejected: (message = 'Something in the request is wrong') => problem(400, message, null),
  down: () => problem(503, 'The server is overloaded', null),
  problem,
  silence: (): StubAnswer => ({ never: 'silence' }),
  stall: (): StubAnswer => ({ never: 'stall' }),
  reset: (): StubAnswer => ({ never: 'reset' }),
  breakOff: (): StubAnswer => ({ never: 'break' }),
} as const

/** A vector that depends on the text alone. */
export const stubVector = (text: string, dimensions = 8): readonly number[] =>
  Array.from(
    { length: dimensions },
    (_, place) => Number.parseInt(sha256(text).slice(place * 2, place * 2 + 2), 16) / 255,
  )

/** Answers a call for embeddings with a vector for each text. */
export const embeddingsAnswer: StubAnswer = ({ body }) => {
  const { input } = body
  const texts = Array.isArray(input) ? input.map(String) : [String(input)]
  const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: stubVector(text) }))
  // Servers need not keep the order; the index determines it.
  return {
    status: 200,
    body: {
      object: 'list',
      model: 'stub-embedding-1',
      data: data.toReversed(),
      usage: { prompt_tokens: texts.length, total_tokens: texts.length },
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  request.setEncoding('utf8')
  let text = ''
  for await (const part of request) text += String(part)
  const parsed: unknown = text === '' ? {} : JSON.parse(text)
  return typeof parsed === 'object' && parsed !== null ? Object.fromEntries(Object.entries(parsed)) : {}
}

function send(response: ServerResponse, answer: Exclude<StubAnswer, (...call: never[]) => unknown>): void {
  if ('never' in answer) {
    if (answer.never === 'reset') response.destroy()
    if (answer.never === 'stall')
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"id":"chatcmpl-')
    if (answer.never === 'break')
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .write('{"id":"chatcmpl-', () => response.destroy())
    return
  }
  const { status, body, headers, delayMs } = answer
  const isRaw = typeof body === 'string' || ArrayBuffer.isView(body)
  const write = (): void => {
    response
      .writeHead(status, { 'content-type': isRaw ? 'text/html' : 'application/json', ...headers })
      .end(isRaw ? body : JSON.stringify(body))
  }
  if (delayMs === undefined) write()
  else setTimeout(write, delayMs).unref()
}

/** Starts a stub on a free port of this machine. */
export async function startOpenAiStub(...script: readonly StubAnswer[]): Promise<OpenAiStub> {
  const calls: StubCall[] = []
  let answers: readonly StubAnswer[] = script.length === 0 ? [stubAnswers.text('A summary.')] : script
  let answered = 0
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call = { path: request.url ?? '', headers: request.headers, body: await bodyOf(request) }
    const number = calls.push(call) - 1
    let answer = answers[Math.min(answered, answers.length - 1)] ?? stubAnswers.down()
    answered += 1
    while (typeof answer === 'function') answer = answer(call, number)
    send(response, answer)
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    baseUrl: `http://127.0.0.1:${String(port)}/v1`,
    calls,
    answerWith: (...next) => {
      answers = next
      answered = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The flags with which a command summarizes through the stub. */
export const stubFlags = (baseUrl: string): readonly string[] => [
  '--summarizer',
  'openai',
  '--model',
  'stub-1',
  '--base-url',
  baseUrl,
  '--api-key',
  'test',
]
