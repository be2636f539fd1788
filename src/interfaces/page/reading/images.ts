/** Images in messages. Only formats that run nothing are shown. */
import type { ChatMessage } from '../../../library/ledger.js'
import { isRecord } from '../../../lib/is-record.js'

/** An image, as base64. */
export interface MessageImage {
  /** Media type. */
  readonly type: string
  readonly base64: string
}

const DATA_URL = /^data:(?<type>image\/(?:png|jpeg|gif|webp));base64,(?<base64>[\w+/=\s]+)$/u
const TYPES: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function imageOf(part: unknown): MessageImage | undefined {
  if (!isRecord(part)) return undefined
  const { image_url: image, source } = part
  const url = isRecord(image) ? image['url'] : image
  const groups = typeof url === 'string' ? DATA_URL.exec(url)?.groups : undefined
  if (groups?.['type'] !== undefined && groups['base64'] !== undefined)
    return { type: groups['type'], base64: groups['base64'] }
  if (!isRecord(source)) return undefined
  const { media_type: type, data } = source
  return typeof type === 'string' && TYPES.has(type) && typeof data === 'string' ? { type, base64: data } : undefined
}

/** The images of a message, in order. */
export const imagesOf = ({ content }: Pick<ChatMessage, 'content'>): readonly MessageImage[] =>
  Array.isArray(content) ? content.flatMap((part: unknown) => imageOf(part) ?? []) : []
