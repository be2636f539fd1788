/** The body of a request, whole or not at all: within its limit, within its time. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { jsonOf, textOf } from './json.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import { Refused } from './problems.js'

/** What a body may take. */
export interface BodyLimits {
  readonly bytes: number
  readonly ms: number
}

/** The stream of a body: Node's own where there is one, since asking the request for it makes a stream of the web. */
function streamOf(request: Request, incoming: IncomingMessage | undefined): Readable | undefined {
  if (incoming !== undefined) return incoming
  const { body } = request
  // The types of the web's stream in Node and in the browser differ in name alone.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return body === null ? undefined : Readable.fromWeb(body as ReadableStream<Uint8Array>)
}

/** Discards the rest of a body. The connection stays open for the answer. */
const restOf = (stream: Readable): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => stream.iterator({ destroyOnReturn: false }),
})

const tooLarge = (most: number, stream: Readable | undefined): Refused =>
  new Refused(
    'BodyTooLarge',
    `the body has more than ${String(most)} bytes: append fewer messages at once, or raise --max-body`,
    { limit: most },
    { connection: 'close' },
    stream === undefined ? undefined : restOf(stream),
  )

const tooSlow = (ms: number): Refused =>
  new Refused(
    'BodyTooSlow',
    `the body did not come within ${String(ms / 1_000)} seconds: nothing was recorded`,
    {},
    { connection: 'close' },
  )

/**
 * Reads a stream by its events, because an iterator takes a tenth of the time of a small request. The rest stays
 * unread.
 */
function read(stream: Readable, { bytes: most, ms }: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = []
    let bytes = 0
    const leave = (): void => {
      clearTimeout(timer)
      stream.off('data', take).off('end', whole).off('close', cutOff).pause()
    }
    const refuse = (refused: Refused): void => {
      leave()
      reject(refused)
    }
    const take = (chunk: Uint8Array): void => {
      bytes += chunk.byteLength
      if (bytes > most) refuse(tooLarge(most, stream))
      else parts.push(chunk)
    }
    const whole = (): void => {
      leave()
      resolve(Buffer.concat(parts))
    }
    const cutOff = (): void => {
      refuse(new Refused('BodyCutOff', 'the body ended before it was whole: nothing was recorded'))
    }
    const timer = setTimeout(() => {
      refuse(tooSlow(ms))
    }, ms)
    // A stream that breaks closes, and that is heard. Without a listener its error would end the process.
    stream.on('error', () => undefined)
    if (stream.destroyed) cutOff()
    else stream.on('data', take).on('end', whole).on('close', cutOff)
  })
}

/** The bytes of a body. */
export async function bytesOf(
  request: Request,
  incoming: IncomingMessage | undefined,
  limits: BodyLimits,
): Promise<Buffer> {
  const stream = streamOf(request, incoming)
  if (Number(request.headers.get('content-length') ?? 0) > limits.bytes) throw tooLarge(limits.bytes, stream)
  return stream === undefined ? Buffer.alloc(0) : await read(stream, limits)
}

/** The value of a JSON body; undefined for an optional body that is empty. */
export async function valueOf(
  request: Request,
  incoming: IncomingMessage | undefined,
  limits: BodyLimits,
  mayBeEmpty: boolean,
): Promise<unknown> {
  const type = (request.headers.get('content-type') ?? '').toLowerCase()
  const [media = '', ...parameters] = type.split(';').map((part) => part.trim())
  const isEmpty =
    media === '' &&
    (request.headers.get('content-length') ?? '0') === '0' &&
    request.headers.get('transfer-encoding') === null
  if (mayBeEmpty && isEmpty) return undefined
  if (media !== 'application/json')
    throw new Refused(
      'WrongContentType',
      `the body has to be application/json, and is ${media === '' ? 'of no type' : `"${media.slice(0, 80)}"`}`,
    )
  const charset = parameters.find((part) => part.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/u.test(charset))
    throw new Refused('WrongContentType', 'the body has to be UTF-8')
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity')
    throw new Refused('WrongContentType', 'the body has to come without a content-encoding')
  const bytes = await bytesOf(request, incoming, limits)
  if (mayBeEmpty && bytes.length === 0) return undefined
  if (isPauseDue(bytes.length)) await pause()
  const text = textOf(bytes)
  return await jsonOf(text, limits.bytes)
}
