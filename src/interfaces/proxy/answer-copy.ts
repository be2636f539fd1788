/** Reads a copy of an answer while its bytes go to the client: event by event if it is a stream, else at its end. */
import { createSentEventReader } from '../../domain/text/sent-events.js'
import type { Answer, Api } from '../../application/model-apis/api.js'
import { decoderOf } from './body.js'
import { parseJson } from '../../application/model-apis/json.js'

/** Reads the bytes of an answer. */
export interface AnswerCopy {
  /** Takes the next bytes as upstream sent them. */
  take(chunk: Uint8Array): void
  /** Returns the answer; undefined if it could not be read. */
  end(): Promise<Answer | undefined>
  /** Why the answer cannot be read, as far as that is known: from its headers, or at its end. */
  unreadable(): string | undefined
}

/** A longer answer is passed to the client and not recorded. */
const MAX_BYTES = 256 * 1024 * 1024

/** Reads decoded bytes. */
interface PlainCopy {
  take(chunk: Uint8Array): void
  end(): Answer | undefined
  unreadable(): string | undefined
}

/** The first bytes of gzip. */
const GZIP = Buffer.from([0x1f, 0x8b])

/** What the bytes of an unreadable answer look like. */
const unreadableBytes = (first: Uint8Array, expected: string): string =>
  Buffer.from(first.subarray(0, 2)).equals(GZIP)
    ? 'it is compressed with gzip, which its headers do not say'
    : `it is not ${expected}`

/** Reads the events of a stream. */
function streamCopy(api: Api): PlainCopy {
  const events = createSentEventReader()
  const reader = api.createAnswerReader()
  let first: Uint8Array | undefined
  let hasEvent = false
  return {
    take(chunk) {
      first ??= chunk
      for (const event of events.take(chunk)) {
        hasEvent ||= event.data === '[DONE]' || parseJson(event.data) !== undefined
        reader.take(event)
      }
    },
    end: () => reader.answer(),
    unreadable: () => (hasEvent || first === undefined ? undefined : unreadableBytes(first, 'a stream of events')),
  }
}

/** Reads an answer that is one JSON value. */
function wholeCopy(api: Api): PlainCopy {
  const chunks: Uint8Array[] = []
  let length = 0
  let reason: string | undefined
  return {
    take(chunk) {
      length += chunk.byteLength
      if (length <= MAX_BYTES) chunks.push(chunk)
    },
    end() {
      if (length > MAX_BYTES) reason = `it has more than ${String(MAX_BYTES)} bytes`
      if (length === 0 || length > MAX_BYTES) return undefined
      const bytes = Buffer.concat(chunks)
      const value = parseJson(bytes.toString('utf8'))
      if (value === undefined) reason = unreadableBytes(bytes, 'JSON')
      return value === undefined ? undefined : api.readAnswer(value)
    },
    unreadable: () => reason,
  }
}

/** Why an answer with these headers cannot be read; undefined if it can. */
function unreadableHeaders(
  contentType: string,
  encoding: string | undefined,
  isSupported: boolean,
): string | undefined {
  if (!isSupported) return `this version of Node cannot decode "${encoding ?? ''}"`
  return /^text\/html\b/iu.test(contentType) ? 'it is an HTML page' : undefined
}

/** Creates a reader for a copy of an answer. It never throws. */
export function createAnswerCopy(api: Api, contentType: string, encoding: string | undefined): AnswerCopy {
  const plain = /^text\/event-stream\b/iu.test(contentType) ? streamCopy(api) : wholeCopy(api)
  const decoder = decoderOf(encoding)
  let reason = unreadableHeaders(contentType, encoding, decoder !== undefined)
  const attempt = <T>(work: () => T): T | undefined => {
    if (reason !== undefined) return undefined
    try {
      return work()
    } catch {
      reason = 'its format is broken'
      return undefined
    }
  }
  const take = (chunk: Uint8Array): void => {
    attempt(() => {
      plain.take(chunk)
    })
  }
  const end = (): Answer | undefined => attempt(() => plain.end())
  const unreadable = (): string | undefined => reason ?? plain.unreadable()
  if (decoder === undefined || decoder === 'plain') return { take, end: () => Promise.resolve(end()), unreadable }
  let decodingError: string | undefined
  const ended = new Promise<void>((resolve) => {
    decoder.on('data', take)
    decoder.once('end', resolve)
    // The body was cut off or has the wrong encoding: the bytes before the error are still read.
    decoder.once('error', () => {
      decodingError = `it is not valid ${encoding ?? ''}`
      resolve()
    })
  })
  let hasBytes = false
  return {
    take(chunk) {
      hasBytes = true
      decoder.write(chunk)
    },
    async end() {
      decoder.end()
      await ended
      const answer = end()
      if (hasBytes && answer?.message === undefined && answer?.error === undefined) reason ??= decodingError
      return answer
    },
    unreadable,
  }
}
