/** Which messages of another conversation a message is a copy of: an erasure of these erases the copy. */
import { isRecord } from '../../lib/is-record.js'

/** The attribute with the source of a copy. */
export const COPY_OF = 'copyOf'

/** The source of a copied message. */
export interface CopyOf {
  readonly conversationId: string
  /** Absent for a text that was made from any messages of the conversation. */
  readonly messageIds?: readonly string[]
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** The source that the attributes of a message name; undefined if it is no copy. */
export function copyOf(attributes: Readonly<Record<string, unknown>> | undefined): CopyOf | undefined {
  const source = attributes?.[COPY_OF]
  if (!isRecord(source) || !isText(source['conversationId'])) return undefined
  const { conversationId, messageIds } = source
  return { conversationId, ...(Array.isArray(messageIds) ? { messageIds: messageIds.filter(isText) } : {}) }
}
