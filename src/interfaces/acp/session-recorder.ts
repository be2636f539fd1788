/**
 * Records the messages between an editor and an agent, while they come. The ledger is open only while something is
 * recorded, so that other processes can use it. While it cannot be opened, messages wait; beyond a limit, the rest of the
 * connection is not recorded, and is counted.
 */
import type { AcpRecord, AcpRecordedSession, AcpClosed } from '../../application/importers/acp.js'
import { isRecord } from '../../lib/is-record.js'
import { sessionConversationId } from '../../domain/values/session-ids.js'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { textIn } from '../../lib/text-in.js'
import { partsOfLine } from './relay.js'
import type { Ledger, OpenTranscript } from '../../library/ledger.js'

/** How long messages wait for more, unless a turn ends. */
const WAIT_MS = 1_000
/** Pauses between attempts, while the ledger cannot be opened. */
const PAUSE_MS = { first: 500, most: 15_000 } as const
const TOO_MUCH = 'this connection has more than 256 million characters: the rest of it is not recorded'
/** Characters of messages in memory. */
const MAX_CHARACTERS = 256_000_000

/** Calls `work` with the ledger, which is opened for it. */
type WithLedger = <T>(work: (ledger: Ledger) => Promise<T>) => Promise<T>

export interface RecorderOptions {
  /** Name of the connection, of which nothing else is recorded. */
  readonly name: string
  readonly scope?: string | undefined
  readonly withLedger: WithLedger
  /** Called with the note for a session after each compaction; undefined if no notes are wanted. */
  readonly onNote?: ((sessionId: string, text: string) => void) | undefined
  /** Rules for the note. */
  readonly rules: readonly string[]
  readonly onProblem: (problem: unknown) => void
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

/** Counts of messages that were not recorded. */
export interface NotRecorded {
  /** Lines that are no JSON. */
  readonly unreadable: number
  /** Messages that waited in vain, or came after the limit. */
  readonly messages: number
  /** Why they waited. */
  readonly reason: unknown
}

type Recorded = AcpRecord | AcpRecordedSession | AcpClosed

/** The connection in a ledger that is open. */
interface Transcript {
  readonly ledger: Ledger
  readonly opened: OpenTranscript
  /** How many messages it has taken. */
  taken: number
  /** Compactions that it has recorded, by conversation. */
  readonly compactions: Map<string, number>
}

export class SessionRecorder {
  /** All messages so far: a ledger that is opened again takes them from the beginning, and recognizes them. */
  private readonly records: Recorded[] = []
  /** How many of them are recorded. */
  private recorded = 0
  private characters = 0
  private unreadable = 0
  private dropped = 0
  private reason: unknown
  private transcript: Transcript | undefined
  private running: Promise<void> | undefined
  private stop = new AbortController()
  private isClosing = false
  private hasGivenUp = false
  /** Sessions that the ledger rejects, for example because their conversation is erased. */
  private readonly refused = new Set<string>()

  constructor(private readonly options: RecorderOptions) {}

  /** Takes a line: a message with its time and the side that sent it. */
  take(line: string): void {
    if (this.characters + line.length > MAX_CHARACTERS) {
      if (this.dropped === 0) this.options.onProblem(new LedgerError('StoreUnavailable', TOO_MUCH))
      this.dropped += 1
      return
    }
    const record = recordIn(line)
    if (record === undefined) {
      this.unreadable += 1
      return
    }
    if (this.refused.has(sessionOf(record) ?? '')) {
      this.dropped += 1
      return
    }
    if (!this.isContinuation(record)) this.records.push(record)
    this.characters += line.length
    this.start()
    if (endsTurn(record)) this.stop.abort()
  }

  /** Records the rest, for at most this time. */
  async close(milliseconds: number): Promise<NotRecorded> {
    this.records.push({ at: new Date().toISOString(), closed: true })
    this.isClosing = true
    this.start()
    this.stop.abort()
    const timer = new AbortController()
    await Promise.race([this.running, this.options.wait(milliseconds, timer.signal).catch(() => undefined)])
    timer.abort()
    this.hasGivenUp = true
    this.stop.abort()
    const left = this.records.slice(this.recorded).filter((each) => 'message' in each).length
    return { unreadable: this.unreadable, messages: this.dropped + left, reason: this.reason }
  }

  /** Streamed pieces of one message that were not recorded yet become one. */
  private isContinuation(record: AcpRecord): boolean {
    const last = this.records.at(-1)
    if (this.records.length === this.recorded || this.transcript?.taken === this.records.length) return false
    const [before, after] = [pieceOf(last), pieceOf(record)]
    if (before === undefined || after === undefined || before.key !== after.key) return false
    before.content['text'] = `${before.text}${after.text}`
    return true
  }

  private start(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined
      if (this.recorded < this.records.length && !this.isClosing) this.start()
    })
  }

  private async run(): Promise<void> {
    await this.pause(WAIT_MS)
    for (let pause: number = PAUSE_MS.first; ; pause = Math.min(PAUSE_MS.most, pause * 2)) {
      try {
        await this.options.withLedger((ledger) => this.record(ledger))
        this.reason = undefined
        if (this.recorded === this.records.length) return
      } catch (error) {
        this.transcript = undefined
        this.refuse(error)
        if (this.reason === undefined) this.options.onProblem(error)
        this.reason = error
        await this.pause(pause)
        if (this.hasGivenUp) return
      }
    }
  }

  /** Of a session that the ledger rejects nothing more is recorded; the others go on. */
  private refuse(error: unknown): void {
    if (!(error instanceof LedgerError) || error.fault === 'world') return
    const id = error.details['conversationId']
    const sessions = new Set(this.records.map(sessionOf))
    for (const sessionId of sessions) {
      if (sessionId === undefined || this.conversationOf(sessionId) !== id) continue
      this.refused.add(sessionId)
      const remaining = this.records.filter((record) => sessionOf(record) !== sessionId)
      this.dropped += this.records.slice(this.recorded).filter((record) => sessionOf(record) === sessionId).length
      this.records.splice(0, this.records.length, ...remaining)
      // The rest is taken again from the beginning, and recognized.
      this.recorded = 0
    }
  }

  private conversationOf(sessionId: string): string {
    return sessionConversationId('acp', sessionId, this.options.scope)
  }

  private async pause(milliseconds: number): Promise<void> {
    if (this.isClosing && this.reason === undefined) return
    this.stop = new AbortController()
    await this.options.wait(milliseconds, this.stop.signal).catch(() => undefined)
  }

  private async record(ledger: Ledger): Promise<void> {
    const { name, scope } = this.options
    if (this.transcript?.ledger !== ledger)
      this.transcript = {
        ledger,
        opened: await ledger.transcripts.open(name, { from: 'acp', ...(scope === undefined ? {} : { scope }) }),
        taken: 0,
        compactions: new Map(),
      }
    const { transcript } = this
    await this.addKnown(ledger, transcript.taken)
    const end = this.records.length
    const from = transcript.taken
    // From now on nothing is added to the last piece.
    transcript.taken = end
    const conversations = await transcript.opened.record(this.records.slice(from, end))
    this.recorded = end
    for (const { conversationId, sourceId, compactions } of conversations) {
      const isNew = compactions > (transcript.compactions.get(conversationId) ?? 0)
      transcript.compactions.set(conversationId, compactions)
      if (isNew && this.options.onNote !== undefined) await this.noteFor(ledger, conversationId, sourceId)
    }
  }

  /** Before a session goes on that was recorded earlier, its messages are named. */
  private async addKnown(ledger: Ledger, from: number): Promise<void> {
    for (let index = Math.max(from, this.recorded); index < this.records.length; index += 1) {
      const record = this.records[index]
      const sessionId = record === undefined ? undefined : continuedSession(record)
      if (record === undefined || sessionId === undefined || this.isMarked(index, sessionId)) continue
      const messageIds = await messageIdsOf(ledger, this.conversationOf(sessionId))
      this.records.splice(index, 0, { at: record.at, recorded: { sessionId, messageIds } })
      index += 1
    }
  }

  /** Whether the messages of the session are named before a record: an attempt that failed did it. */
  private isMarked(index: number, sessionId: string): boolean {
    const before = this.records[index - 1]
    return before !== undefined && 'recorded' in before && before.recorded.sessionId === sessionId
  }

  /** Makes the note after a new compaction. */
  private async noteFor(ledger: Ledger, conversationId: string, sessionId: string): Promise<void> {
    const { onNote, rules, onProblem } = this.options
    try {
      const { text } = await ledger.recall(conversationId, { rules })
      onNote?.(sessionId, text)
    } catch (error) {
      onProblem(error)
    }
  }
}

/** The record of a line; undefined if its message is none of the protocol. */
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

/** Whether the message answers a prompt: everything so far is then recorded immediately. */
const endsTurn = ({ message }: AcpRecord): boolean => isRecord(message['result']) && 'stopReason' in message['result']

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

async function messageIdsOf(ledger: Ledger, conversationId: string): Promise<readonly string[]> {
  const ids: string[] = []
  try {
    for await (const { type, data } of ledger.log(conversationId))
      if (type === 'MessageAppended') ids.push(data.messageId)
  } catch (error) {
    if (!isLedgerError(error, 'NoSuchConversation')) throw error
  }
  return ids
}
