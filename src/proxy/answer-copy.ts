/** Reads a copy of an answer while its bytes go to the client: event by event if it is a stream, else at its end. */
import { createSentEventReader } from '../domain/text/sent-events.js'
import type { Answer, Api } from '../model-apis/api.js'
import { decoderOf } from './body.js'
import { parseJson } from '../model-apis/json.js'

/** Reads the bytes of an answer. */
export interface AnswerCopy {
  /** Takes the next bytes as upstream sent them. */
  take(chunk: Uint8Array): void
  /** Returns the answer; undefined if it could not be read. */
  end(): Promise<Answer | undefined>
}

/** A longer answer is passed to the client and not recorded. */
const MAX_BYTES = 256 * 1024 * 1024

/** Reads decoded bytes. */
function plainCopy(api: Api, isStream: boolean): { take(chunk: Uint8Array): void; end(): Answer | undefined } {
  if (isStream) {
    const events = createSentEventReader()
    const reader = api.createAnswerReader()
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
      if (length <= MAX_BYTES) chunks.push(chunk)
    },
    end() {
      if (length > MAX_BYTES) return undefined
      const value = parseJson(Buffer.concat(chunks).toString('utf8'))
      return value === undefined ? undefined : api.readAnswer(value)
    },
  }
}

/** Creates a reader for a copy of an answer. It never throws. */
export function createAnswerCopy(api: Api, contentType: string, encoding: string | undefined): AnswerCopy {
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
    // The body was cut off or has the wrong encoding: the bytes before the error are still read.
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
