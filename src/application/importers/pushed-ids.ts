/**
 * Ids from content in items that another machine read. That machine does not have the key of an erasable ledger, so it
 * marks these ids, and the ledger replaces them with its own.
 */
import { plainContentId, type ContentId } from './content-id.js'
import type { TranscriptItem } from './transcript.js'

const MARKED = /~content:([0-9a-f]{16})~/gu

/** @param redact replaces secrets, so that no id confirms a guess of one */
export const markedContentId =
  (redact: (text: string) => string): ContentId =>
  (text) =>
    `~content:${plainContentId(redact(text))}~`

/** Fields of items with the id of a record or a run, or with a list of them. */
const ID_FIELDS: ReadonlySet<string> = new Set(['sourceId', 'sourceIds', 'unknown', 'answerId'])

/** Replaces the marked ids of an item. */
export function withOwnIds(item: TranscriptItem, idOf: (plainId: string) => string): TranscriptItem {
  const replaceIn = (id: string): string => id.replaceAll(MARKED, (_match, plainId: string) => idOf(plainId))
  function replaced(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(replaced)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, field]: [string, unknown]) => {
        // The texts of messages are not searched.
        if (name === 'body' || name === 'content' || name === 'summary') return [name, field]
        if (!ID_FIELDS.has(name)) return [name, replaced(field)]
        const ids: unknown = Array.isArray(field)
          ? field.map((id: unknown) => (typeof id === 'string' ? replaceIn(id) : id))
          : field
        return [name, typeof ids === 'string' ? replaceIn(ids) : ids]
      }),
    )
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only texts change, and stay texts
  return replaced(item) as TranscriptItem
}
