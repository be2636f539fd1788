/**
 * The rules for every stream of the log: consecutive revisions, ascending positions, an unbroken hash chain, times that
 * do not decrease, ids derived from the content, causes that come earlier, and readable events.
 */
import { either as E } from 'fp-ts'
import { isKeyVaultError } from '../../ports/key-vault.js'
import { claimOf, decodeWith, eventHash, GENESIS_HASH, isSealed, readMetadata } from '../../domain/events/codec.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { eventIdOf, messageEventId } from '../../domain/values/ids.js'
import type { StoredEvent } from '../../ports/event-store.js'
import type { Rule } from './event-laws.js'
import type { StreamReport } from './stream-report.js'
import type { Log } from '../recording/load-conversation.js'
import { keyOwner } from '../recording/read-event.js'
import type { ConversationKeys } from '../sealing/text-keys.js'

/** The size of the cache of causes: one request causes many events. */
const CAUSES_KEPT = 1_000

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u

/** Checks one stream, event by event. */
export class StreamCheck {
  /** False from the first event that is not what was recorded: a state folded from there proves nothing. */
  sound = true
  private next = 0
  private previousHash = GENESIS_HASH
  /** False after an event with unreadable metadata: its hash is not known. */
  private isPreviousKnown = true
  private previousTime = ''
  private previousPosition = -1
  private keys: ConversationKeys | undefined
  private readonly causes = new Map<string, number | undefined>()

  constructor(
    readonly report: StreamReport,
    private readonly log: Log,
  ) {}

  private broken(rule: Rule, detail: string, revision: number): undefined {
    this.sound = false
    this.report.add(rule, detail, revision)
    return undefined
  }

  /** Position of the last event so far; -1 before the first. */
  get position(): number {
    return this.previousPosition
  }

  /** Number of events so far. */
  get count(): number {
    return this.next
  }

  /** Hash of the last event so far. */
  get head(): string {
    return this.previousHash
  }

  /**
   * Decodes the next event; undefined if it cannot be trusted or read. Returns a promise only if the event needs I/O: its
   * body is stored outside the log, its cause was not looked up yet, or the keys of the stream were not read yet or are
   * older than the event.
   */
  event(stored: StoredEvent): RecordedEvent | undefined | Promise<RecordedEvent | undefined> {
    const { revision } = stored
    const expected = this.next
    this.next = revision + 1
    if (revision !== expected)
      this.broken(
        'order',
        revision > expected
          ? `is in place of revision ${expected.toString()}: ${revision === expected + 1 ? 'that event is' : `the events from there to ${(revision - 1).toString()} are`} missing`
          : `is in place of revision ${expected.toString()}: events are duplicated or out of order`,
        revision,
      )
    // Readers by revision do not notice this, but read models, which read by position, get the events in another order.
    if (stored.position <= this.previousPosition)
      this.report.add(
        'order',
        `has position ${stored.position.toString()} in the log, which is not after that of its predecessor, ${this.previousPosition.toString()}`,
        revision,
      )
    this.previousPosition = stored.position
    const read = readMetadata(stored)
    if (E.isLeft(read)) {
      this.isPreviousKnown = false
      return this.broken('readable', read.left.detail, revision)
    }
    const { metadata, asRecorded } = read.right
    const { previousHash, hash, recordedAt, causationId, correlationId } = metadata
    // After a gap the chain cannot match; the gap is reported already.
    if (revision === expected && this.isPreviousKnown && previousHash !== this.previousHash)
      this.broken('hash', 'does not chain to the event before it', revision)
    if (eventHash(stored, metadata) !== hash)
      this.broken('hash', `this ${stored.type} is not what was recorded: its hash differs`, revision)
    // The hash covers the content of the metadata. Their exact text is part of the recording too.
    else if (!asRecorded) this.broken('hash', 'its metadata are not written as they were recorded', revision)
    if (recordedAt < this.previousTime)
      this.report.add('time', `is recorded at ${recordedAt}, before its predecessor at ${this.previousTime}`, revision)
    this.previousHash = hash
    this.isPreviousKnown = true
    this.previousTime = recordedAt
    const cause = causationId === correlationId || this.causes.has(causationId) ? undefined : causationId
    const isOpenedLater = isSealed(stored) && this.keys === undefined
    if (claimOf(stored) !== undefined || cause !== undefined || isOpenedLater)
      return this.waiting(stored, metadata, cause)
    return this.read(stored, metadata, undefined)
  }

  private async waiting(
    stored: StoredEvent,
    metadata: RecordedEvent['metadata'],
    cause: string | undefined,
  ): Promise<RecordedEvent | undefined> {
    const claim = claimOf(stored)
    if (cause !== undefined) await this.lookUpCause(cause, stored.revision)
    const body = claim === undefined ? undefined : await this.log.bodies.get(claim)
    if (isSealed(stored, body)) {
      const problem = await this.readKeys()
      if (problem !== undefined) return this.broken('readable', problem, stored.revision)
    }
    return this.read(stored, metadata, body)
  }

  /** Reads the keys of the stream's texts. Returns the problem if they are lost. */
  private async readKeys(isAfresh = false): Promise<string | undefined> {
    const owner = keyOwner(this.report.stream)
    if ((this.keys !== undefined && !isAfresh) || this.log.keys === undefined || owner === undefined) return undefined
    try {
      this.keys = await this.log.keys.reload(owner)
      return undefined
    } catch (error) {
      if (isKeyVaultError(error, 'KeyUnknown', 'KeyDestroyed', 'WrappedKeyDamaged')) return error.message
      throw error
    }
  }

  /** A cause is a command, which is not an event, or an earlier event of the stream. */
  private async lookUpCause(cause: string, revision: number): Promise<void> {
    if (this.causes.size >= CAUSES_KEPT) this.causes.clear()
    const [stored] = UUID.test(cause) ? await this.log.store.findByIds(this.report.stream, [cause]) : []
    this.causes.set(cause, stored?.revision)
    if (stored !== undefined && stored.revision >= revision)
      this.report.add(
        'cause',
        `names the event at revision ${stored.revision.toString()} as its cause, which is not before it`,
        revision,
      )
  }

  private read(
    stored: StoredEvent,
    metadata: RecordedEvent['metadata'],
    body: string | undefined,
  ): RecordedEvent | undefined | Promise<RecordedEvent | undefined> {
    const decoded = decodeWith(stored, metadata, body, this.keys?.open)
    // Another process recorded the event with keys that were created after these were read.
    return this.keys?.isOutdated === true
      ? this.readWithNewKeys(stored, metadata, body)
      : this.decodedEvent(stored, decoded, body)
  }

  private async readWithNewKeys(
    stored: StoredEvent,
    metadata: RecordedEvent['metadata'],
    body: string | undefined,
  ): Promise<RecordedEvent | undefined> {
    const problem = await this.readKeys(true)
    if (problem !== undefined) return this.broken('readable', problem, stored.revision)
    return this.decodedEvent(stored, decodeWith(stored, metadata, body, this.keys?.open), body)
  }

  private decodedEvent(
    stored: StoredEvent,
    decoded: ReturnType<typeof decodeWith>,
    body: string | undefined,
  ): RecordedEvent | undefined {
    if (E.isLeft(decoded)) return this.broken('readable', decoded.left.detail, stored.revision)
    const event = decoded.right
    const id =
      event.type === 'MessageAppended'
        ? messageEventId(this.report.stream, event.data.messageId)
        : eventIdOf(this.report.stream, event.revision, event.type, body ?? stored.data)
    if (id !== stored.id)
      this.report.add('id', `has the id ${stored.id}, but its content requires ${id}`, stored.revision)
    return event
  }

  /**
   * Checks at the end of the stream whether the store knows of further events.
   * @param last its last revision by the store's own count
   */
  async end(last: number): Promise<void> {
    if (last < this.next - 1)
      this.report.add(
        'order',
        `the store says that the stream ends at revision ${last.toString()}, but it continues to ${(this.next - 1).toString()}`,
        -1,
      )
    if (last <= this.next - 1) return
    // If another process appended meanwhile, the event can be read now.
    const [stored] = await this.log.store.readRevisions(this.report.stream, [last])
    if (stored === undefined)
      this.report.add(
        'order',
        `the store says that the stream ends at revision ${last.toString()}, but the events from ${this.next.toString()} on are missing`,
        -1,
      )
  }
}
