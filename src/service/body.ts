/** The body of a request, whole or not at all: within its limit, within its time. */
import type { IncomingMessage } from 'node:http'
import { jsonOf, textOf } from './json.js'
import { Refused } from './problems.js'

/** What a body may take. */
export interface BodyLimits {
  readonly bytes: number
  readonly ms: number
}

/** The chunks of a body, wherever it comes from. Node's own stream is quicker than the one of the web over it. */
function chunksOf(request: Request, incoming: IncomingMessage | undefined): AsyncIterable<Uint8Array> | undefined {
  // Whoever stops reading it does not end the connection, on which the answer goes.
  if (incoming !== undefined) return { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) }
  const { body } = request
  return body === null ? undefined : { [Symbol.asyncIterator]: () => body.values({ preventCancel: true }) }
}

async function read(chunks: AsyncIterable<Uint8Array>, most: number, isOver: () => boolean): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    if (isOver()) break
    bytes += chunk.byteLength
    if (bytes > most) throw tooLarge(most, chunks)
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}

const tooLarge = (most: number, rest: AsyncIterable<Uint8Array> | undefined): Refused =>
  new Refused(
    'BodyTooLarge',
    `the body has more than ${String(most)} bytes: append fewer messages at once, or raise --max-body`,
    { limit: most },
    { connection: 'close' },
    rest,
  )

/** The bytes of a body. */
async function bytesOf(
  request: Request,
  incoming: IncomingMessage | undefined,
  { bytes: most, ms }: BodyLimits,
): Promise<Buffer> {
  const chunks = chunksOf(request, incoming)
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge(most, chunks)
  if (chunks === undefined) return Buffer.alloc(0)
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      isOver = true
      reject(
        new Refused(
          'BodyTooSlow',
          `the body did not come within ${String(ms / 1_000)} seconds: nothing was recorded`,
          {},
          { connection: 'close' },
        ),
      )
    }, ms)
  })
  const reading = read(chunks, most, () => isOver).catch((error: unknown) => {
    if (error instanceof Refused) throw error
    throw new Refused('BodyCutOff', 'the body ended before it was whole: nothing was recorded')
  })
  try {
    return await Promise.race([reading, late])
  } finally {
    clearTimeout(timer)
    reading.catch(() => undefined)
  }
}

/** The value of a body in JSON; undefined where there is none and none is needed. */
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
  return jsonOf(textOf(bytes))
}
