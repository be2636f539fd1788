/**
 * What a content part is that is no text: its kind, its length, its name, and about how many tokens a model counts for
 * it. The many shapes that APIs and libraries give such a part are not parsed one by one: what is asked is its `type`,
 * a media type anywhere in it, and the bytes that it holds.
 */
import type { ContentPart } from './message.js'
import type { Estimator } from './tokens.js'

/** What a content part that is no text is: `other` where nothing in it says so. */
export type MediaKind = 'image' | 'audio' | 'video' | 'file' | 'other'

/** What is known of a content part without understanding its API. */
export interface Media {
  /** What it is: an image, a file, audio or video. */
  readonly kind: MediaKind
  /** Its media type or format, as the part says it. */
  readonly mediaType?: string
  /** Its file name, where the part says one. */
  readonly name?: string
  /** Length of the data that it holds; undefined where it only refers to them. */
  readonly bytes?: number
}

/** What an image counts, whatever its size. */
export const IMAGE_TOKENS = 1000
/**
 * A page of a PDF: providers send a model its text and its picture. A file counts at least one, and so does one of
 * unknown length.
 */
const PAGE_TOKENS = 2000
/** A page takes about 50 kB. */
const FILE_BYTES_A_TOKEN = 25
/** Sound and film: 16 kB a second of MP3, 10 to 32 tokens a second. */
const STREAM_BYTES_A_TOKEN = 1000
/** Sound or film of unknown length: about a minute of speech. */
const STREAM_TOKENS = 1000
const TEXT_BYTES_A_TOKEN = 4

const DATA_URL = /^data:([^,;]*)[^,]*?(;base64)?,/u
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/u
/** Below so many characters a string of letters and digits is an id or a hash, and costs little as a text. */
const SHORTEST_DATA = 256

/** How much of a string tells whether it holds data: files have megabytes. */
const SAMPLE = 1_024

/**
 * Bytes of a string that holds data and no text; undefined for a text. Prose has blanks and letters of other scripts,
 * and one letter over and over is no data.
 */
function bytesIn(text: string): number | undefined {
  const url = text.startsWith('data:') ? DATA_URL.exec(text.slice(0, 256)) : null
  if (url !== null)
    return url[2] === undefined ? text.length - url[0].length : Buffer.byteLength(text.slice(url[0].length), 'base64')
  if (text.length < SHORTEST_DATA) return undefined
  // Some writers break the lines.
  const sample = text.slice(0, SAMPLE).replaceAll(/\r?\n/gu, '')
  return BASE64.test(sample) && /[A-Z]/u.test(sample) && /[a-z]/u.test(sample) && /\d/u.test(sample)
    ? Buffer.byteLength(text, 'base64')
    : undefined
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

// Bytes that went through JSON: a list of numbers (a Buffer), or an object with the places as its keys (a Uint8Array).
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

function look(value: unknown, found: FoundMedia): void {
  if (!isObject(value)) return
  for (const [key, item] of Object.entries(value)) {
    const bytes = typeof item === 'string' ? bytesIn(item) : bytesOf(item)
    if (bytes !== undefined) found.bytes = (found.bytes ?? 0) + bytes
    if (typeof item === 'string') {
      const said = MEDIA_TYPE_KEYS.has(key)
        ? item
        : bytes === undefined
          ? undefined
          : DATA_URL.exec(item.slice(0, 256))?.[1]
      if (said !== undefined && said !== '') found.mediaType ??= said
      if (NAME_KEYS.has(key) && item !== '' && item.length <= 256) found.name ??= item
    } else if (bytes === undefined) look(item, found)
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

/** What a part is. */
export function mediaOf(part: ContentPart): Media {
  const found: FoundMedia = {}
  look(part, found)
  const named = /file|document|pdf|media|inline_?data|blob/iu.test(part.type)
  // A file of an image is an image. A part whose type says nothing is what its data are, where it says that.
  const kind =
    kindIn(part.type) ??
    (named || found.bytes !== undefined ? kindIn(found.mediaType ?? '') : undefined) ??
    (named ? 'file' : 'other')
  return { kind, ...found }
}

const isTextual = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && /^text\/|json|xml|csv|yaml|javascript|markdown/iu.test(mediaType)

/** A document whose source is the text itself, or parts of its own. */
function holdsText(part: ContentPart): boolean {
  const source = part['source']
  return isObject(source) && (source['type'] === 'text' || source['type'] === 'content')
}

/** Tokens of a part that is no text, by its kind and length, unless the estimator has a number of its own. */
export function mediaTokens(part: ContentPart, estimator: Estimator): number {
  const media = mediaOf(part)
  const own = estimator.part?.(part, media)
  if (own !== undefined) return own
  const { kind, bytes, mediaType } = media
  if (kind === 'image') return IMAGE_TOKENS
  if (kind === 'audio' || kind === 'video')
    return bytes === undefined ? STREAM_TOKENS : Math.ceil(bytes / STREAM_BYTES_A_TOKEN)
  if (kind === 'other' || holdsText(part)) return jsonTokens(part, estimator)
  if (bytes !== undefined && isTextual(mediaType)) return Math.ceil(bytes / TEXT_BYTES_A_TOKEN)
  return Math.max(PAGE_TOKENS, Math.ceil((bytes ?? 0) / FILE_BYTES_A_TOKEN))
}

const isPart = (value: unknown): value is ContentPart => isObject(value) && typeof value['type'] === 'string'

/** Tokens of a value as JSON, where data in it count by their length and an image or a file inside as one. */
export function jsonTokens(value: unknown, estimator: Estimator): number {
  let apart = 0
  const text = JSON.stringify(value, (key, item: unknown) => {
    const bytes = typeof item === 'string' ? bytesIn(item) : bytesOf(item)
    if (bytes !== undefined) {
      apart += Math.ceil(bytes / FILE_BYTES_A_TOKEN)
      return ''
    }
    if (key === '' || !isPart(item) || mediaOf(item).kind === 'other' || holdsText(item)) return item
    apart += mediaTokens(item, estimator)
    return ''
  })
  return apart + estimator.text(text)
}
