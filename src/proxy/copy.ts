/** Reads a copy of an answer while its bytes go to the client: as events where it is a stream of them, else whole. */
import { createSentEventReader } from '../domain/text/sent-events.js'
import type { Answer, Api } from './api.js'
import { decoderOf } from './body.js'
import { parseJson } from './json.js'

/** A copy that is read. */
export interface Copy {
  /** The next bytes, as upstream sent them. */
  take(chunk: Uint8Array): void
  /** Undefined where nothing could be read of it. */
  end(): Promise<Answer | undefined>
}

/** An answer that is longer than this is passed on, and not read to its end. */
const MOST_BYTES = 256 * 1024 * 1024

/** Reads bytes that are not encoded any more. */
function plainCopy(api: Api, isStream: boolean): { take(chunk: Uint8Array): void; end(): Answer | undefined } {
  if (isStream) {
    const events = createSentEventReader()
    const reader = api.reader()
    return {
      take(chunk) {
        for (const event of events.take(chunk)) reader.take(event)
      },
      end: () => reader.answer(),
    }
  }
  const chunks: Uint8Array[] = []
  let length = 0
  return {
    take(chunk) {
      length += chunk.byteLength
      if (length <= MOST_BYTES) chunks.push(chunk)
    },
    end() {
      if (length > MOST_BYTES) return undefined
      const value = parseJson(Buffer.concat(chunks).toString('utf8'))
      return value === undefined ? undefined : api.answerOf(value)
    },
  }
}

/** Reads a copy of an answer. Whatever it is made of, it never throws. */
export function createCopy(api: Api, contentType: string, encoding: string | undefined): Copy {
  const plain = plainCopy(api, /^text\/event-stream\b/iu.test(contentType))
  const decoder = decoderOf(encoding)
  let isBroken = decoder === undefined
  const attempt = (work: () => void): void => {
    if (isBroken) return
    try {
      work()
    } catch {
      isBroken = true
    }
  }
  if (decoder === undefined || decoder === 'plain')
    return {
      take: (chunk) => {
        attempt(() => {
          plain.take(chunk)
        })
      },
      end: () => {
        let answer: Answer | undefined
        attempt(() => {
          answer = plain.end()
        })
        return Promise.resolve(isBroken ? undefined : answer)
      },
    }
  const ended = new Promise<void>((resolve) => {
    decoder.on('data', (chunk: Uint8Array) => {
      attempt(() => {
        plain.take(chunk)
      })
    })
    decoder.once('end', resolve)
    // A body that is cut off, or is not encoded as it says: what came before stands.
    decoder.once('error', () => {
      resolve()
    })
  })
  return {
    take(chunk) {
      decoder.write(chunk)
    },
    async end() {
      decoder.end()
      await ended
      let answer: Answer | undefined
      attempt(() => {
        answer = plain.end()
      })
      return isBroken ? undefined : answer
    },
  }
}
