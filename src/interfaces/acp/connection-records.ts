/**
 * The messages of a connection, and how many of them are recorded. All stay in memory: a ledger that is opened again takes
 * them from the beginning, and recognizes them.
 */
import type { AcpClosed, AcpRecord, AcpRecordedSession } from '../../application/importers/acp.js'
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { partsOfLine } from './relay.js'

/** Characters of messages in memory. */
const MAX_CHARACTERS = 256_000_000

type Recorded = AcpRecord | AcpRecordedSession | AcpClosed

export class ConnectionRecords {
  private readonly all: Recorded[] = []
  /** How many of them are recorded. */
  private recorded = 0
  private characters = 0
  private unreadable = 0
  private dropped = 0
  /** Sessions that the ledger rejects, for example because their conversation is erased. */
  private readonly refused = new Set<string>()

  get areRecorded(): boolean {
    return this.recorded === this.all.length
  }

  /**
   * Adds the message of a line, unless it cannot be recorded. Returns `too-much` for the first line above the limit.
   * @param taken how many records an open ledger has taken
   */
  add(line: string, taken: number | undefined): AcpRecord | 'too-much' | undefined {
    if (this.characters + line.length > MAX_CHARACTERS) {
      this.dropped += 1
      return this.dropped === 1 ? 'too-much' : undefined
    }
    const record = recordIn(line)
    if (record === undefined) {
      this.unreadable += 1
      return undefined
    }
    if (this.refused.has(sessionOf(record) ?? '')) {
      this.dropped += 1
      return undefined
    }
    if (!this.isContinuation(record, taken)) this.all.push(record)
    this.characters += line.length
    return record
  }

  /** The connection has ended. */
  close(at: string): void {
    this.all.push({ at, closed: true })
  }

  /** The records from an index on. */
  from(index: number): readonly Recorded[] {
    return this.all.slice(index)
  }

  /** The records before an index are recorded. */
  markRecorded(end: number): void {
    this.recorded = end
  }

  /** Counts the lines that are not JSON, and the messages that were not recorded. */
  notRecorded(): { readonly unreadable: number; readonly messages: number } {
    const waiting = this.all.slice(this.recorded).filter((each) => 'message' in each).length
    return { unreadable: this.unreadable, messages: this.dropped + waiting }
  }

  /** Of a session that the ledger rejects nothing more is recorded; the others go on. */
  refuse(isRefused: (sessionId: string) => boolean): void {
    for (const sessionId of new Set(this.all.map(sessionOf))) {
      if (sessionId === undefined || !isRefused(sessionId)) continue
      this.refused.add(sessionId)
      const remaining = this.all.filter((record) => sessionOf(record) !== sessionId)
      this.dropped += this.all.slice(this.recorded).filter((record) => sessionOf(record) === sessionId).length
      this.all.splice(0, this.all.length, ...remaining)
      // The rest is taken again from the beginning, and recognized.
      this.recorded = 0
    }
  }

  /** Before a session goes on that was recorded earlier, its messages are named. */
  async addKnown(from: number, idsOf: (sessionId: string) => Promise<readonly string[]>): Promise<void> {
    for (let index = Math.max(from, this.recorded); index < this.all.length; index += 1) {
      const record = this.all[index]
      const sessionId = record === undefined ? undefined : continuedSession(record)
      if (record === undefined || sessionId === undefined || this.isMarked(index, sessionId)) continue
      this.all.splice(index, 0, { at: record.at, recorded: { sessionId, messageIds: await idsOf(sessionId) } })
      index += 1
    }
  }

  /** Whether the messages of the session are named before a record: an attempt that failed did it. */
  private isMarked(index: number, sessionId: string): boolean {
    const before = this.all[index - 1]
    return before !== undefined && 'recorded' in before && before.recorded.sessionId === sessionId
  }

  /** Streamed pieces of one message that were not recorded yet become one. */
  private isContinuation(record: AcpRecord, taken: number | undefined): boolean {
    const last = this.all.at(-1)
    if (this.areRecorded || taken === this.all.length) return false
    const [before, after] = [pieceOf(last), pieceOf(record)]
    if (before === undefined || after === undefined || before.key !== after.key) return false
    before.content['text'] = `${before.text}${after.text}`
    return true
  }
}

/** The record of a line; undefined if its message is not of the protocol. */
function recordIn(line: string): AcpRecord | undefined {
  const parts = partsOfLine(line)
  if (parts === undefined) return undefined
  try {
    const message: unknown = JSON.parse(parts.message)
    return isRecord(message) && message['jsonrpc'] === '2.0' ? { at: parts.at, from: parts.from, message } : undefined
  } catch {
    return undefined
  }
}

/** The session that a record names; undefined if it names none. */
function sessionOf(record: Recorded): string | undefined {
  if ('recorded' in record) return record.recorded.sessionId
  const params = 'message' in record ? record.message['params'] : undefined
  return isRecord(params) ? textIn(params['sessionId']) : undefined
}

/** A streamed text, and what it belongs to. */
function pieceOf(
  record: Recorded | undefined,
): { readonly key: string; readonly text: string; readonly content: Record<string, unknown> } | undefined {
  if (record === undefined || !('message' in record) || record.message['method'] !== 'session/update') return undefined
  const { params } = record.message
  const update = isRecord(params) ? params['update'] : undefined
  if (!isRecord(params) || !isRecord(update) || !isRecord(update['content'])) return undefined
  const { sessionUpdate, messageId, content } = update
  if (!String(sessionUpdate).endsWith('_chunk') || content['type'] !== 'text' || Object.keys(content).length > 2)
    return undefined
  const key = JSON.stringify([params['sessionId'], sessionUpdate, messageId, update['compactionId']])
  return typeof content['text'] === 'string' ? { key, text: content['text'], content } : undefined
}

/** The session that a request continues; undefined for any other record. */
function continuedSession(record: Recorded): string | undefined {
  if (!('message' in record) || record.from !== 'client') return undefined
  const { method, params } = record.message
  if (method !== 'session/load' && method !== 'session/resume') return undefined
  return isRecord(params) ? textIn(params['sessionId']) : undefined
}
