/**
 * The `fetch` of the OpenAI client. Node's own ends a request after 300 s without headers or body, whatever time limit
 * is set; this one has no limit, so only the deadline of the caller applies. It reads each body completely and rejects
 * one that is too large.
 */
import { isRecord } from '../../lib/is-record.js'
import type { ClientOptions } from 'openai'

/** Bytes of a body after decompression. The longest answers of models have about a megabyte. */
const MAX_BODY_BYTES = 64 * 1024 * 1024

export const BODY_TOO_LARGE = 'ERR_BODY_TOO_LARGE'

/** Statuses of responses that cannot have a body. */
const WITHOUT_BODY = new Set([204, 205, 304])

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength
      if (bytes > MAX_BODY_BYTES) break
      chunks.push(chunk)
    }
  } catch (error) {
    throw new Error(`the connection broke after ${String(bytes)} bytes of the answer`, { cause: error })
  }
  if (bytes > MAX_BODY_BYTES) {
    const message = `the server's answer is larger than ${String(MAX_BODY_BYTES / 1024 / 1024)} MiB`
    throw Object.assign(new Error(message), { code: BODY_TOO_LARGE })
  }
  const whole = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

/**
 * The body of an error as the client reads it: it ignores what is not in the field `error`. vLLM and FastAPI have no such
 * field, and Gemini sends an array.
 */
function withErrorField(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | string {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    return isRecord(value) && 'error' in value ? body : JSON.stringify({ error: value })
  } catch {
    return body
  }
}

/**
 * Loads undici, which is heavy, and creates a `fetch` with a separate agent. Idle connections of the agent do not keep
 * the process alive. Proxies of the environment are used if Node's own fetch would use them.
 */
export async function createFetch(): Promise<NonNullable<ClientOptions['fetch']>> {
  const { Agent, EnvHttpProxyAgent, fetch } = await import('undici')
  const limits = { headersTimeout: 0, bodyTimeout: 0 }
  const dispatcher = process.env['NODE_USE_ENV_PROXY'] === '1' ? new EnvHttpProxyAgent(limits) : new Agent(limits)
  return async (input, init = {}) => {
    const { method, headers, body, signal } = init
    const response = await fetch(input instanceof Request ? input.url : input, {
      ...(method === undefined ? {} : { method }),
      headers: [...new Headers(headers)],
      ...(typeof body === 'string' ? { body } : {}),
      ...(signal === undefined ? {} : { signal }),
      dispatcher,
    })
    const read = response.body === null ? undefined : await readWhole(response.body)
    const whole = read === undefined || response.ok ? read : withErrorField(read)
    return new Response(whole === undefined || WITHOUT_BODY.has(response.status) ? null : whole, {
      status: response.status,
      statusText: response.statusText,
      headers: [...response.headers],
    })
  }
}
