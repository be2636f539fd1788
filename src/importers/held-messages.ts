/**
 * What was said of late, to be said again where somebody returns to a branch that was left. Only so much is held: who
 * reads a file of gigabytes must not keep it in memory. What was left lies at most a window or two back, mostly.
 */
import { jsonText } from './bodies.js'
import type { CompactionItem, MessageItem } from './transcript.js'

type HeldItem = MessageItem | CompactionItem

export interface Held {
  keep(id: string, items: readonly HeldItem[]): void
  /** Undefined for what was not kept, or lies too far back. */
  of(id: string): readonly HeldItem[] | undefined
}

/** Two million characters of JSON: what a window of half a million tokens holds. */
const MOST_CHARACTERS = 2 * 1024 * 1024

/** Holds nothing yet. Where it becomes too much, what was kept first goes first. */
export function createHeld(): Held {
  const held = new Map<string, { readonly items: readonly HeldItem[]; readonly length: number }>()
  let total = 0
  const drop = (id: string): void => {
    total -= held.get(id)?.length ?? 0
    held.delete(id)
  }
  return {
    keep: (id, items) => {
      drop(id)
      const length = jsonText(items).length
      held.set(id, { items, length })
      total += length
      for (const oldest of held.keys()) {
        if (total <= MOST_CHARACTERS) break
        drop(oldest)
      }
    },
    of: (id) => held.get(id)?.items,
  }
}
