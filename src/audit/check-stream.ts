/**
 * What must be true of any stream of the log, whatever it holds: revisions without a gap, positions in their order, an
 * unbroken hash chain, times that never go back, ids that derive from what is recorded, a cause that came before, and
 * facts that can be read.
 */
import { either as E } from 'fp-ts'
import { claimOf, decodeWith, eventHash, GENESIS_HASH, readMetadata } from '../domain/events/codec.js'
import type { RecordedEvent } from '../domain/events/index.js'
import { eventIdOf, messageEventId } from '../domain/values/ids.js'
import type { StoredEvent } from '../ports/event-store.js'
import type { Finding, Rule } from './event-laws.js'
import type { Log } from '../recording/load-conversation.js'

/** Something that `verify` found wrong. */
export interface Problem {
  /** The stream; where it is about a whole read model (`rows`), the name of that. */
  readonly stream: string
  /** Undefined where the stream is no conversation's. */
  readonly conversationId: string | undefined
  /** Revision at which the rule breaks; -1n where it is about the whole stream. */
  readonly revision: bigint
  /** The rule that is broken. */
  readonly rule: Rule
  /** What is wrong, in a sentence. */
  readonly detail: string
}

/** Problems of one stream that are told one by one; what breaks in every fact needs no more. */
const MOST_PROBLEMS = 100
/** Causes that were looked up lately: one request leads to many facts. */
const CAUSES_KEPT = 1_000

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u

/** Follows one stream, event by event. */
export class StreamCheck {
  readonly problems: Problem[] = []
  /** What another program did otherwise than our laws have it, as its transcript says. */
  readonly observations: Problem[] = []
  /** False from the first event on that is not what was recorded: what is folded from there proves nothing. */
  sound = true
  private next = 0n
  private previousHash = GENESIS_HASH
  private previousTime = ''
  private previousPosition = -1n
  private readonly causes = new Map<string, bigint | undefined>()

  constructor(
    readonly stream: string,
    private readonly conversationId: string | undefined,
    private readonly log: Log,
  ) {}

  report(rule: Rule, detail: string, revision: bigint): void {
    if (this.problems.length > MOST_PROBLEMS) return
    const told =
      this.problems.length < MOST_PROBLEMS ? detail : `${detail}; what else is wrong with this stream is not listed`
    this.problems.push({ stream: this.stream, conversationId: this.conversationId, revision, rule, detail: told })
  }

  found(findings: readonly Finding[], revision: bigint): void {
    for (const { rule, detail, isObservation } of findings) {
      if (isObservation !== true) this.report(rule, detail, revision)
      else if (this.observations.length < MOST_PROBLEMS)
        this.observations.push({ stream: this.stream, conversationId: this.conversationId, revision, rule, detail })
    }
  }

  private broken(rule: Rule, detail: string, revision: bigint): undefined {
    this.sound = false
    this.report(rule, detail, revision)
    return undefined
  }

  /** Position of the last event so far; -1n before the first. */
  get position(): bigint {
    return this.previousPosition
  }

  /** Events of the stream so far. */
  get count(): bigint {
    return this.next
  }

  /** Hash of the last event so far. */
  get head(): string {
    return this.previousHash
  }

  /**
   * The fact of the next event; undefined where the event is not one that can be trusted or read. Only a body beside
   * the log and a cause are waited for.
   */
  event(stored: StoredEvent): RecordedEvent | undefined | Promise<RecordedEvent | undefined> {
    const { revision } = stored
    const expected = this.next
    this.next = revision + 1n
    if (revision !== expected)
      this.broken(
        'order',
        revision > expected
          ? `stands where revision ${expected.toString()} is expected: ${revision === expected + 1n ? 'that fact is' : `the facts from there to ${(revision - 1n).toString()} are`} missing`
          : `stands where revision ${expected.toString()} is expected: facts are doubled or out of order`,
        revision,
      )
    // Who reads by revision does not notice; who goes by position, as the read models do, is given the facts in another
    // order.
    if (stored.position <= this.previousPosition)
      this.report(
        'order',
        `stands at position ${stored.position.toString()} of the log, which is not behind its predecessor's, ${this.previousPosition.toString()}`,
        revision,
      )
    this.previousPosition = stored.position
    const read = readMetadata(stored)
    if (E.isLeft(read)) return this.broken('readable', read.left.detail, revision)
    const { metadata, asRecorded } = read.right
    const { previousHash, hash, recordedAt, causationId, correlationId } = metadata
    // Behind a gap the chain cannot hold, which the gap has said.
    if (revision === expected && previousHash !== this.previousHash)
      this.broken('hash', 'does not chain to the fact before it', revision)
    if (eventHash(stored, metadata) !== hash)
      this.broken('hash', `this ${stored.type} is not what was recorded: its hash differs`, revision)
    // The hash covers what the metadata say; how they are written is part of what was recorded too.
    else if (!asRecorded) this.broken('hash', 'its metadata are not written as they were recorded', revision)
    if (recordedAt < this.previousTime)
      this.report('time', `is recorded at ${recordedAt}, before its predecessor at ${this.previousTime}`, revision)
    this.previousHash = hash
    this.previousTime = recordedAt
    const cause = causationId === correlationId || this.causes.has(causationId) ? undefined : causationId
    if (claimOf(stored) !== undefined || cause !== undefined) return this.waiting(stored, metadata, cause)
    return this.read(stored, metadata, undefined)
  }

  private async waiting(
    stored: StoredEvent,
    metadata: RecordedEvent['metadata'],
    cause: string | undefined,
  ): Promise<RecordedEvent | undefined> {
    const claim = claimOf(stored)
    if (cause !== undefined) await this.lookUpCause(cause, stored.revision)
    return this.read(stored, metadata, claim === undefined ? undefined : await this.log.bodies.get(claim))
  }

  /** A cause is a command, which is no event, or an earlier event of the stream. */
  private async lookUpCause(cause: string, revision: bigint): Promise<void> {
    if (this.causes.size >= CAUSES_KEPT) this.causes.clear()
    const [stored] = UUID.test(cause) ? await this.log.store.findByIds(this.stream, [cause]) : []
    this.causes.set(cause, stored?.revision)
    if (stored !== undefined && stored.revision >= revision)
      this.report(
        'cause',
        `names the event at revision ${stored.revision.toString()} as its cause, which is not before it`,
        revision,
      )
  }

  private read(
    stored: StoredEvent,
    metadata: RecordedEvent['metadata'],
    body: string | undefined,
  ): RecordedEvent | undefined {
    const decoded = decodeWith(stored, metadata, body)
    if (E.isLeft(decoded)) return this.broken('readable', decoded.left.detail, stored.revision)
    const event = decoded.right
    const id =
      event.type === 'MessageAppended'
        ? messageEventId(this.stream, event.data.messageId)
        : eventIdOf(this.stream, event.revision, event.type, body ?? stored.data)
    if (id !== stored.id) this.report('id', `has the id ${stored.id}, and what it records makes ${id}`, stored.revision)
    return event
  }

  /**
   * At the end of the stream: whether the store itself knows of more.
   * @param last its last revision by the store's own count
   */
  async end(last: bigint): Promise<void> {
    if (last < this.next - 1n)
      this.report(
        'order',
        `the store says that the stream ends at revision ${last.toString()}, and it goes on to ${(this.next - 1n).toString()}`,
        -1n,
      )
    if (last <= this.next - 1n) return
    // Somebody may have appended since; then the event is there by now.
    const [stored] = await this.log.store.readRevisions(this.stream, [last])
    if (stored === undefined)
      this.report(
        'order',
        `the store says that the stream ends at revision ${last.toString()}, and the facts from ${this.next.toString()} on are missing`,
        -1n,
      )
  }
}
