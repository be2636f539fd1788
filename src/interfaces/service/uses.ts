/**
 * Uses of keys: request, time and answer. Rows are written in batches after the answers, because one write per
 * request would double the time of an append. A killed process loses at most half a second of them; the events
 * themselves name their actor. The table keeps only the newest rows, so that requests cannot fill the disk.
 */
import { LRUCache } from 'lru-cache'
import type { KeyStore, KeyUse } from '../../ports/service-state.js'

const WRITE_MS = 500
/** Lines that wait while the database is away; beyond that the oldest are given up, and it is said how many. */
const MOST_WAITING = 20_000
const MOST_AT_ONCE = 1_000
/** Lines that the table keeps. */
const MOST_KEPT = 1_000_000
/** Requests without a valid key that are recorded per minute, so that they cannot push out the rows of others. */
const MOST_UNKNOWN = 120
/** Conversation ids that are remembered as ids without a secret, since most requests name one of few. */
const MOST_CLEAN_IDS = 5_000

/** Keeps account of uses. */
export interface Uses {
  /** @param isIdOfClient whether the caller chose the id of the request, which may then contain a secret */
  note(use: KeyUse, isIdOfClient: boolean): void
  /** Writes what is waiting. */
  stop(): Promise<void>
}

/** @param redactor the function that redacts rows before they are written */
export function createUses(
  store: Pick<KeyStore, 'addUses'>,
  onProblem: (error: unknown) => void,
  redactor: () => Promise<<Value>(value: Value) => Value>,
): Uses {
  let waiting: { readonly use: KeyUse; readonly isIdOfClient: boolean }[] = []
  const cleanIds = new LRUCache<string, true>({ max: MOST_CLEAN_IDS })
  let lost = 0
  let minute = 0
  let unknown = 0
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    // An address that was refused may have a secret.
    const redact = await redactor()
    const redactUse = (use: KeyUse, isIdOfClient: boolean): KeyUse => {
      const { conversationId } = use
      if (!isIdOfClient && (conversationId === undefined || cleanIds.has(conversationId))) return use
      const redacted = redact(use)
      if (conversationId !== undefined && redacted.conversationId === conversationId) cleanIds.set(conversationId, true)
      return redacted
    }
    while (waiting.length > 0) {
      const some = waiting.slice(0, MOST_AT_ONCE).map(({ use, isIdOfClient }) => redactUse(use, isIdOfClient))
      await store.addUses(some, MOST_KEPT)
      waiting = waiting.slice(some.length)
    }
    if (lost > 0) onProblem(new Error(`${String(lost)} uses of keys could not be written, and are lost`))
    lost = 0
  }

  const flush = async (): Promise<void> => {
    writing ??= write()
      .catch(onProblem)
      .finally(() => {
        writing = undefined
      })
    await writing
  }
  const timer = setInterval(() => void flush(), WRITE_MS)
  timer.unref()

  return {
    note(use, isIdOfClient) {
      if (use.keyId === undefined) {
        const now = Math.floor(Date.parse(use.at) / 60_000)
        if (now !== minute) unknown = 0
        minute = now
        unknown += 1
        if (unknown > MOST_UNKNOWN) return
      }
      waiting.push({ use, isIdOfClient })
      if (waiting.length <= MOST_WAITING) return
      waiting.shift()
      lost += 1
    },
    async stop() {
      clearInterval(timer)
      await flush()
      if (waiting.length > 0) await flush()
    },
  }
}
