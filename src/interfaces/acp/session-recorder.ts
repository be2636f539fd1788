/**
 * Records the messages between an editor and an agent, while they come. The ledger is open only while something is
 * recorded, so that other processes can use it. While it cannot be opened, messages wait; beyond a limit, the rest of the
 * connection is not recorded, and is counted.
 */
import type { AcpRecord } from '../../application/importers/acp.js'
import { isRecord } from '../../lib/is-record.js'
import { sessionConversationId } from '../../domain/values/session-ids.js'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { ConnectionRecords } from './connection-records.js'
import type { Ledger, OpenTranscript } from '../../library/ledger.js'

/** How long messages wait for more, unless a turn ends. */
const WAIT_MS = 1_000
/** Pauses between attempts, while the ledger cannot be opened. */
const PAUSE_MS = { first: 500, most: 15_000 } as const
const TOO_MUCH = 'this connection has more than 256 million characters: the rest of it is not recorded'
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
  private readonly records = new ConnectionRecords()
  private transcript: Transcript | undefined
  private running: Promise<void> | undefined
  /** Why messages wait. */
  private reason: unknown
  private stop = new AbortController()
  private isClosing = false
  private hasGivenUp = false

  constructor(private readonly options: RecorderOptions) {}

  /** Takes a line: a message with its time and the side that sent it. */
  take(line: string): void {
    const record = this.records.add(line, this.transcript?.taken)
    if (record === 'too-much') this.options.onProblem(new LedgerError('StoreUnavailable', TOO_MUCH))
    if (record === 'too-much' || record === undefined) return
    this.start()
    if (endsTurn(record)) this.stop.abort()
  }

  /** Records the rest, for at most this time. */
  async close(milliseconds: number): Promise<NotRecorded> {
    this.records.close(new Date().toISOString())
    this.isClosing = true
    this.start()
    this.stop.abort()
    const timer = new AbortController()
    await Promise.race([this.running, this.options.wait(milliseconds, timer.signal).catch(() => undefined)])
    timer.abort()
    this.hasGivenUp = true
    this.stop.abort()
    return { ...this.records.notRecorded(), reason: this.reason }
  }

  private start(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined
      if (!this.records.areRecorded && !this.isClosing) this.start()
    })
  }

  private async run(): Promise<void> {
    await this.pause(WAIT_MS)
    for (let pause: number = PAUSE_MS.first; ; pause = Math.min(PAUSE_MS.most, pause * 2)) {
      try {
        await this.options.withLedger((ledger) => this.record(ledger))
        this.reason = undefined
        if (this.records.areRecorded) return
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
    this.records.refuse((sessionId) => this.conversationOf(sessionId) === id)
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
    await this.records.addKnown(transcript.taken, (sessionId) => messageIdsOf(ledger, this.conversationOf(sessionId)))
    const records = this.records.from(transcript.taken)
    // From now on nothing is added to the last piece.
    transcript.taken += records.length
    const end = transcript.taken
    const conversations = await transcript.opened.record(records)
    this.records.markRecorded(end)
    for (const { conversationId, sourceId, compactions } of conversations) {
      const isNew = compactions > (transcript.compactions.get(conversationId) ?? 0)
      transcript.compactions.set(conversationId, compactions)
      if (isNew && this.options.onNote !== undefined) await this.noteFor(ledger, conversationId, sourceId)
    }
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

/** Whether the message answers a prompt: everything so far is then recorded immediately. */
const endsTurn = ({ message }: AcpRecord): boolean => isRecord(message['result']) && 'stopReason' in message['result']

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
