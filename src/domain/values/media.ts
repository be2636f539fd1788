/**
 * Describes content parts other than text: kind, length, name, and an estimate of their tokens. APIs and libraries use
 * many forms for such parts. They are not parsed one by one: this module reads only the `type`, a media type anywhere
 * in the part, and the data.
 */
import type { Estimator, Media, MediaKind } from './estimator.js'
import type { ContentPart } from './message.js'

/** Tokens of an image of any size. */
export const IMAGE_TOKENS = 1000
/**
 * Tokens of a page of a PDF: providers send its text and its picture to the model. A file counts as one page or more,
 * and so does a file of unknown length.
 */
const PAGE_TOKENS = 2000
/** A page has about 50 kB. */
const FILE_BYTES_A_TOKEN = 25
/** Audio and video: 16 kB of MP3 a second, 10 to 32 tokens a second. */
const STREAM_BYTES_A_TOKEN = 1000
/** Audio or video of unknown length: about a minute of speech. */
const STREAM_TOKENS = 1000
const TEXT_BYTES_A_TOKEN = 4

const DATA_URL = /^data:([^,;]*)[^,]*?(;base64)?,/u
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/u
/** A shorter string of letters and digits is an id or a hash, and costs little as text. */
const SHORTEST_DATA = 256

/** Characters to inspect to decide whether a string is data: files have megabytes. */
const SAMPLE = 1_024

/**
 * Number of bytes if a string is base64 data; undefined for text. Prose has spaces and letters of other scripts; one
 * repeated letter is not data.
 */
function bytesIn(text: string): number | undefined {
  const url = text.startsWith('data:') ? DATA_URL.exec(text.slice(0, 256)) : null
  if (url !== null)
    return url[2] === undefined ? text.length - url[0].length : Buffer.byteLength(text.slice(url[0].length), 'base64')
  if (text.length < SHORTEST_DATA) return undefined
  // Some encoders break the lines.
  const sample = text.slice(0, SAMPLE).replaceAll(/\r?\n/gu, '')
  return BASE64.test(sample) && /[A-Z]/u.test(sample) && /[a-z]/u.test(sample) && /\d/u.test(sample)
    ? Buffer.byteLength(text, 'base64')
    : undefined
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

// Number of bytes of binary data that was serialized as JSON: a list of numbers (a Buffer), or an object with indexes
// as keys (a Uint8Array).
function bytesOf(value: unknown): number | undefined {
  if (!isObject(value) || (!Array.isArray(value) && value['0'] === undefined)) return undefined
  const items: unknown[] = Object.values(value)
  return items.length >= SHORTEST_DATA && items.every((item) => typeof item === 'number') ? items.length : undefined
}

const MEDIA_TYPE_KEYS = new Set(['media_type', 'mime_type', 'mediaType', 'mimeType', 'format'])
const NAME_KEYS = new Set(['filename', 'file_name', 'fileName', 'name', 'title'])

interface FoundMedia {
  mediaType?: string
  name?: string
  bytes?: number
}

function collectMedia(value: unknown, found: FoundMedia): void {
  if (!isObject(value)) return
  for (const [key, item] of Object.entries(value)) {
    const bytes = typeof item === 'string' ? bytesIn(item) : bytesOf(item)
    if (bytes !== undefined) found.bytes = (found.bytes ?? 0) + bytes
    if (typeof item === 'string') {
      const declaredType = MEDIA_TYPE_KEYS.has(key)
        ? item
        : bytes === undefined
          ? undefined
          : DATA_URL.exec(item.slice(0, 256))?.[1]
      if (declaredType !== undefined && declaredType !== '') found.mediaType ??= declaredType
      if (NAME_KEYS.has(key) && item !== '' && item.length <= 256) found.name ??= item
    } else if (bytes === undefined) collectMedia(item, found)
  }
}

const kindIn = (text: string): MediaKind | undefined =>
  /image/iu.test(text)
    ? 'image'
    : /audio|^(?:wav|mp3|flac|opus|ogg|m4a|aac|pcm)/iu.test(text)
      ? 'audio'
      : /video/iu.test(text)
        ? 'video'
        : undefined

/** Describes a content part. */
export function mediaOf(part: ContentPart): Media {
  const found: FoundMedia = {}
  collectMedia(part, found)
  const named = /file|document|pdf|media|inline_?data|blob/iu.test(part.type)
  // A `file` part that holds an image is an image. If the type is unknown, the data decides.
  const kind =
    kindIn(part.type) ??
    (named || found.bytes !== undefined ? kindIn(found.mediaType ?? '') : undefined) ??
    (named ? 'file' : 'other')
  return { kind, ...found }
}

const isTextual = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && /^text\/|json|xml|csv|yaml|javascript|markdown/iu.test(mediaType)

/** Whether a document contains its text or content parts. */
function holdsText(part: ContentPart): boolean {
  const source = part['source']
  return isObject(source) && (source['type'] === 'text' || source['type'] === 'content')
}

/** Tokens of a part other than text, by kind and length, unless the estimator counts it itself. */
export function mediaTokens(part: ContentPart, estimator: Estimator): number {
  const media = mediaOf(part)
  const estimated = estimator.part?.(part, media)
  if (estimated !== undefined) return estimated
  const { kind, bytes, mediaType } = media
  if (kind === 'image') return IMAGE_TOKENS
  if (kind === 'audio' || kind === 'video')
    return bytes === undefined ? STREAM_TOKENS : Math.ceil(bytes / STREAM_BYTES_A_TOKEN)
  if (kind === 'other' || holdsText(part)) return jsonTokens(part, estimator)
  if (bytes !== undefined && isTextual(mediaType)) return Math.ceil(bytes / TEXT_BYTES_A_TOKEN)
  return Math.max(PAGE_TOKENS, Math.ceil((bytes ?? 0) / FILE_BYTES_A_TOKEN))
}

const isPart = (value: unknown): value is ContentPart => isObject(value) && typeof value['type'] === 'string'

/** Tokens of a value as JSON. Data in it counts by length, and each image or file in it counts as one. */
export function jsonTokens(value: unknown, estimator: Estimator): number {
  let dataTokens = 0
  const text = JSON.stringify(value, (key, item: unknown) => {
    const bytes = typeof item === 'string' ? bytesIn(item) : bytesOf(item)
    if (bytes !== undefined) {
      dataTokens += Math.ceil(bytes / FILE_BYTES_A_TOKEN)
      return ''
    }
    if (key === '' || !isPart(item) || mediaOf(item).kind === 'other' || holdsText(item)) return item
    dataTokens += mediaTokens(item, estimator)
    return ''
  })
  return dataTokens + estimator.text(text)
}
