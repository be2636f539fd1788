/**
 * What makes two logs the same: an event as one text that leaves nothing out but the position (each store gives its
 * own), and a digest over these texts in the order of the log.
 */
import { createHash } from 'node:crypto'
import type { StoredEvent } from './stored-event.js'

/**
 * An event as JSON, with everything that is its own. The same event gives the same text for ever: files hold it, and
 * digests are made of it.
 */
export function eventText(event: StoredEvent): string {
  const { stream, revision, id, type, data, metadata } = event
  return JSON.stringify({ stream, revision: revision.toString(), id, type, data, metadata })
}

/** What a log comes to. */
export interface LogTotals {
  readonly streams: number
  readonly events: number
  /** Bodies beside the log, each counted once. */
  readonly bodies: number
  /** Of data, metadata and bodies, in UTF-8. */
  readonly bytes: number
  /**
   * SHA-256 over the text of every event, each followed by a line feed, in the order of the log. A body is named by the
   * event that needs it.
   */
  readonly sha256: string
}

export interface LogTally {
  /** Counts an event; `text` is its `eventText`. */
  event(event: StoredEvent, text: string): void
  body(text: string): void
  readonly events: number
  /** What was counted so far; it may go on. */
  totals(): LogTotals
}

/** Counts a log and digests it, event by event. */
export function createLogTally(): LogTally {
  const hash = createHash('sha256')
  let streams = 0
  let events = 0
  let bodies = 0
  let bytes = 0
  return {
    event({ revision, data, metadata }, text) {
      hash.update(text, 'utf8').update('\n')
      // Revisions start at 0 without gaps, so each stream is met once.
      if (revision === 0n) streams += 1
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
