/**
 * The latest messages and compactions of a conversation, emitted again when the user returns to an abandoned branch.
 * The size is limited, so that a file of several gigabytes does not fill the memory. An abandoned branch is usually at
 * most a context window or two back.
 */
import { jsonText } from './bodies.js'
import type { CompactionItem, MessageItem } from './transcript.js'

type RecentItem = MessageItem | CompactionItem

export interface RecentItems {
  keep(id: string, items: readonly RecentItem[]): void
  /** Undefined if the items were never kept, or were dropped to stay below the limit. */
  of(id: string): readonly RecentItem[] | undefined
}

/** Two million characters of JSON: a context window of about half a million tokens. */
const MAX_CHARACTERS = 2 * 1024 * 1024

/** Creates an empty store. When it grows above the limit, it drops the oldest items first. */
export function createRecentItems(): RecentItems {
  const entries = new Map<string, { readonly items: readonly RecentItem[]; readonly length: number }>()
  let total = 0
  const drop = (id: string): void => {
    total -= entries.get(id)?.length ?? 0
    entries.delete(id)
  }
  return {
    keep: (id, items) => {
      drop(id)
      const length = jsonText(items).length
      entries.set(id, { items, length })
      total += length
      for (const oldest of entries.keys()) {
        if (total <= MAX_CHARACTERS) break
        drop(oldest)
      }
    },
    of: (id) => entries.get(id)?.items,
  }
}
