/**
 * Compares logs: the complete text of an event except its position (which differs by store), and a digest over these
 * texts in log order.
 */
import { createHash } from 'node:crypto'
import type { StoredEvent } from './stored-event.js'

/** The complete event as JSON. The text is stable forever: files and digests contain it. */
export function eventText(event: StoredEvent): string {
  const { stream, revision, id, type, data, metadata } = event
  return JSON.stringify({ stream, revision: revision.toString(), id, type, data, metadata })
}

/** Totals of a log. */
export interface LogTotals {
  readonly streams: number
  readonly events: number
  /** Bodies outside the log, each counted once. */
  readonly bodies: number
  /** Of data, metadata and bodies, in UTF-8. */
  readonly bytes: number
  /**
   * SHA-256 over the text of every event, each followed by a line feed, in log order. Events refer to bodies by their
   * SHA-256.
   */
  readonly sha256: string
}

export interface LogTally {
  /** Counts an event; `text` is its `eventText`. */
  event(event: StoredEvent, text: string): void
  body(text: string): void
  readonly events: number
  /** The totals so far. More events may follow. */
  totals(): LogTotals
}

/** Counts and digests a log, event by event. */
export function createLogTally(): LogTally {
  const hash = createHash('sha256')
  let streams = 0
  let events = 0
  let bodies = 0
  let bytes = 0
  return {
    event({ revision, data, metadata }, text) {
      hash.update(text, 'utf8').update('\n')
      // Revisions start at 0 without gaps, so this counts each stream once.
      if (revision === 0) streams += 1
      events += 1
      bytes += Buffer.byteLength(data, 'utf8') + Buffer.byteLength(metadata, 'utf8')
    },
    body(text) {
      bodies += 1
      bytes += Buffer.byteLength(text, 'utf8')
    },
    get events() {
      return events
    },
    totals: () => ({ streams, events, bodies, bytes, sha256: hash.copy().digest('hex') }),
  }
}
