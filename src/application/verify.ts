/**
 * The proof that nothing was lost: of every stream the order, the hash chain and the readability of its facts; coverage, archive before
 * prune, the context's hash and the hard limit at every prune; that a load from the last prune gives what folding everything gives; and
 * that the projected rows are what the facts make them.
 */
import { either as E } from 'fp-ts'
import { isDeepStrictEqual } from 'node:util'
import { decodeMetadata, eventHash, GENESIS_HASH } from '../domain/codec.js'
import { contextOf } from '../domain/context.js'
import { evolve, initialState, type Conversation } from '../domain/conversation.js'
import type { RecordedFact } from '../domain/events.js'
import { hashOf } from '../domain/hash.js'
import { CONVERSATION_PREFIX, conversationOf, conversationStream } from '../domain/ids.js'
import { hardLimit } from '../domain/policy.js'
import type { StoredEvent } from '../ports/event-store.js'
import { decodeFact, isOfType, UnreadableEventError } from './facts.js'
import { loadConversation, type Log } from './load-conversation.js'

export interface Problem {
  readonly conversationId: string
  /** Revision at which the rule breaks; -1n where it is about the whole conversation. */
  readonly revision: bigint
  readonly rule: 'order' | 'hash' | 'readable' | 'time' | 'coverage' | 'archive-before-prune' | 'context' | 'hard-limit' | 'load' | 'rows' | 'messages'
  readonly detail: string
}

export interface Verification {
  readonly ok: boolean
  readonly conversations: number
  readonly events: number
  readonly problems: readonly Problem[]
}

/** Compares the projected rows of a conversation with what its facts make; gives one sentence for each difference. */
export type CompareRows = (conversationId: string, facts: readonly RecordedFact[]) => Promise<readonly string[]>

export interface VerifyDependencies {
  readonly log: Log
  /** Every conversation of the ledger. */
  readonly conversationIds: () => AsyncIterable<string>
  readonly compareRows: CompareRows
}

/** Checks one stream, event by event. */
class StreamCheck {
  readonly problems: Problem[] = []
  readonly facts: RecordedFact[] = []
  private state: Conversation
  private events = 0n
  private previousHash = GENESIS_HASH
  private previousTime = ''
  private readonly live = new Set<string>()
  /** Message → the batch that archived it. */
  private readonly pruned = new Map<string, string>()
  private readonly chunks = new Map<string, readonly string[]>()
  /** Batch → the messages that its chain covers. */
  private readonly batches = new Map<string, readonly string[]>()
  private archivedAt = -2n

  constructor(private readonly conversationId: string, private readonly log: Log) {
    this.state = initialState(conversationId)
  }

  private report(rule: Problem['rule'], detail: string, revision = this.events): void {
    this.problems.push({ conversationId: this.conversationId, revision, rule, detail })
  }

  private envelope(stored: StoredEvent): boolean {
    if (stored.revision !== this.events) this.report('order', `revision ${stored.revision.toString()} stands where ${this.events.toString()} is expected: a fact is missing or doubled`, stored.revision)
    const decoded = decodeMetadata(stored)
    if (E.isLeft(decoded)) {
      this.report('readable', decoded.left.detail, stored.revision)
      return false
    }
    const metadata = decoded.right
    if (metadata.previousHash !== this.previousHash) this.report('hash', 'does not chain to the fact before it', stored.revision)
    if (eventHash(stored, metadata) !== metadata.hash) this.report('hash', `this ${stored.type} is not what was recorded: its hash differs`, stored.revision)
    if (metadata.recordedAt < this.previousTime) this.report('time', 'is recorded before its predecessor', stored.revision)
    this.previousHash = metadata.hash
    this.previousTime = metadata.recordedAt
    return true
  }

  private prune(fact: RecordedFact<'MessagesPruned'>): void {
    for (const { batchId, messageIds } of fact.data.pruned) {
      const covered = new Set(this.batches.get(batchId))
      if (!this.batches.has(batchId)) this.report('archive-before-prune', `prunes for batch ${batchId}, which is not archived`, fact.revision)
      for (const id of messageIds) {
        if (!this.live.delete(id)) this.report('coverage', `prunes message ${id}, which is not live`, fact.revision)
        if (!covered.has(id)) this.report('coverage', `prunes message ${id}, which batch ${batchId} does not cover`, fact.revision)
        this.pruned.set(id, batchId)
      }
    }
    if (this.archivedAt !== fact.revision - 1n) this.report('archive-before-prune', 'does not stand right behind the batches that it prunes for', fact.revision)
  }

  private remember(fact: RecordedFact): void {
    if (isOfType(fact, 'MessageAppended')) {
      if (this.live.has(fact.data.messageId) || this.pruned.has(fact.data.messageId)) this.report('messages', `message ${fact.data.messageId} is recorded twice`, fact.revision)
      this.live.add(fact.data.messageId)
    } else if (isOfType(fact, 'ChunkSummarized')) this.chunks.set(fact.data.chunkId, fact.data.messageIds)
    else if (isOfType(fact, 'BatchArchived')) {
      const covered = this.chunks.get(fact.data.chunkId)
      if (covered === undefined) this.report('coverage', `archives chunk ${fact.data.chunkId}, which has no summary`, fact.revision)
      this.batches.set(fact.data.batchId, covered ?? [])
      this.archivedAt = fact.revision
    } else if (isOfType(fact, 'BatchesResummarized')) {
      this.batches.set(fact.data.batchId, fact.data.sourceBatchIds.flatMap((id) => this.batches.get(id) ?? []))
    } else if (isOfType(fact, 'MessagesPruned')) this.prune(fact)
  }

  private laws(fact: RecordedFact): void {
    const { configuration } = this.state
    if (!isOfType(fact, 'MessagesPruned') || configuration === undefined) return
    const context = contextOf(this.state)
    if (E.isLeft(context)) return
    if (context.right.hash !== fact.data.contextHash) this.report('context', 'the context that its facts make is not the one whose hash it recorded', fact.revision)
    if (context.right.tokens > hardLimit(configuration.policy)) this.report('hard-limit', `the context has ${String(context.right.tokens)} tokens`, fact.revision)
    if (hashOf(this.state.view?.text ?? '') !== fact.data.viewHash) this.report('context', 'the view that its facts make is not the one whose hash it recorded', fact.revision)
  }

  async event(stored: StoredEvent): Promise<void> {
    if (this.envelope(stored)) {
      try {
        const fact = await decodeFact(stored, this.log.bodies)
        this.remember(fact)
        this.state = evolve(this.state, fact)
        this.laws(fact)
        this.facts.push(fact)
      } catch (error) {
        if (!(error instanceof UnreadableEventError)) throw error
        this.report('readable', error.event.detail, stored.revision)
      }
    }
    this.events = stored.revision + 1n
  }

  /** What holds at the end: each message is live, or covered by exactly one active batch; and a load gives what the fold gives. */
  async end(): Promise<void> {
    const last = this.events - 1n
    const covering = new Map<string, number>()
    for (const batch of this.state.batches) for (const id of this.batches.get(batch.batchId) ?? []) covering.set(id, (covering.get(id) ?? 0) + 1)
    for (const id of this.pruned.keys()) {
      if (covering.get(id) !== 1) this.report('coverage', `message ${id} left the live window and ${String(covering.get(id) ?? 0)} active batches cover it`, last)
    }
    const stateLive = new Set([...this.state.leading, ...this.state.kept, ...this.state.window].map((message) => message.messageId))
    for (const id of this.live) if (!stateLive.has(id)) this.report('coverage', `message ${id} is neither live nor pruned`, last)
    if (this.problems.length > 0) return
    const loaded = contextOf(await loadConversation(this.log, this.conversationId))
    if (!isDeepStrictEqual(loaded, contextOf(this.state))) this.report('load', 'a load from the last prune gives another context than all facts do', last)
  }

  get count(): number {
    return Number(this.events)
  }
}

/** Builds the use case `verify(conversationId?)`. */
export function createVerify({ log, conversationIds, compareRows }: VerifyDependencies) {
  async function* one(conversationId: string): AsyncIterable<string> {
    yield conversationId
  }

  return async (conversationId?: string, onConversation: (done: number) => void = () => undefined): Promise<Verification> => {
    const problems: Problem[] = []
    let conversations = 0
    let events = 0
    for await (const id of conversationId === undefined ? conversationIds() : one(conversationId)) {
      const check = new StreamCheck(id, log)
      for await (const stored of log.store.readStream(conversationStream(id))) await check.event(stored)
      await check.end()
      problems.push(...check.problems)
      if (check.problems.length === 0) {
        const differences = await compareRows(id, check.facts)
        problems.push(...differences.map((detail): Problem => ({ conversationId: id, revision: -1n, rule: 'rows', detail })))
      }
      conversations += 1
      events += check.count
      onConversation(conversations)
    }
    return { ok: problems.length === 0, conversations, events, problems }
  }
}

/** Every conversation that the log has, in order of its first fact. */
export async function* conversationsOfLog(log: Log): AsyncIterable<string> {
  const seen = new Set<string>()
  for await (const stored of log.store.readAll({ prefix: CONVERSATION_PREFIX })) {
    const id = conversationOf(stored.stream)
    if (id === undefined || seen.has(id)) continue
    seen.add(id)
    yield id
  }
}
