/**
 * A run of retention: erases the conversations that are older than their rules allow. The plan is an event before
 * anything is erased, and an interrupted run is continued by the next one. Each conversation is judged again by its
 * events immediately before its erasure, so that a hold or a message that came after the plan keeps it.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../domain/events/codec.js'
import type { RetentionReceipt } from '../domain/events/index.js'
import type { NotRecordable } from '../domain/events/recordable.js'
import { completeRun, isOpen, startRun } from '../domain/retention/decide-retention.js'
import type { ErasureRefusal } from '../domain/retention/judge-erasure.js'
import type { RetentionRun } from '../domain/retention/retention-state.js'
import { conversationStream } from '../domain/values/ids.js'
import { erase, type CompletedErasure, type ErasureParts } from '../erasure/erase.js'
import type { Claims } from '../ports/claims.js'
import type { AppendFailure } from '../ports/event-store.js'
import { takeLease } from '../ports/lease.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { RetentionBusy } from './failures.js'
import { findDue, type ListedConversation } from './due.js'
import { changeRetention, readRetention } from './retention-stream.js'

export interface RetentionRunParts {
  readonly erasure: ErasureParts
  readonly claims: Claims
  /** All conversations, as the list has them. */
  readonly listed: () => Promise<Iterable<ListedConversation>>
}

/** A completed run. */
export interface CompletedRun {
  /** Id of the run, in its events. */
  readonly runId: string
  /** True if an earlier process started the run and was interrupted. */
  readonly isResumed: boolean
  /** The result, as recorded. */
  readonly receipt: RetentionReceipt
}

type RunFailure = CommandFailure | NotRecordable | AppendFailure | RetentionBusy
type KeptReason = RetentionReceipt['kept'][number]['reason']

const CLAIM_MS = 15_000
const POLL_MS = 250
const REASON = 'retention'
const KEPT_REASONS: Readonly<Record<ErasureRefusal['kind'], KeptReason>> = {
  OnHold: 'hold',
  TooYoung: 'too-young',
  NotDue: 'not-due',
}

class Run {
  constructor(
    private readonly parts: RetentionRunParts,
    private readonly provenance: Provenance,
  ) {}

  /** Continues the interrupted run, or starts one; undefined if nothing is due. */
  async run(): Promise<E.Either<RunFailure, CompletedRun | undefined>> {
    const { log } = this.parts.erasure
    const { lastRun } = await readRetention(log)
    const started = isOpen(lastRun) ? E.right(lastRun) : await this.start()
    if (E.isLeft(started)) return started
    if (started.right === undefined) return E.right(undefined)
    return await this.eraseDue(started.right, isOpen(lastRun))
  }

  private async start(): Promise<E.Either<RunFailure, RetentionRun | undefined>> {
    const { log, clock, conversations } = this.parts.erasure
    const { due } = await findDue(await readRetention(log), await this.parts.listed(), clock.now(), conversations)
    const runId = clock.newId()
    const changed = await changeRetention(log, clock, this.provenance, (state) => startRun(state, runId, due))
    return E.map((state: Awaited<ReturnType<typeof readRetention>>) =>
      isOpen(state.lastRun) ? state.lastRun : undefined,
    )(changed)
  }

  private async eraseDue(
    { runId, due }: RetentionRun,
    isResumed: boolean,
  ): Promise<E.Either<RunFailure, CompletedRun>> {
    const { erasure } = this.parts
    const completed: CompletedErasure[] = []
    const kept: { conversationId: string; reason: KeptReason }[] = []
    const toErase: string[] = []
    for (const { conversationId } of due) {
      const progress = await this.progressOf(conversationId, runId)
      if (progress === 'erase') toErase.push(conversationId)
      else if (progress === 'erased-before') kept.push({ conversationId, reason: progress })
      else completed.push(progress)
    }
    const request = { scope: 'conversation', reason: REASON, isRetention: true } as const
    const result = await erase(erasure, request, toErase, this.provenance, runId)
    if (E.isLeft(result)) return result
    completed.push(...result.right.completed)
    for (const { conversationId, kind } of result.right.refused)
      kept.push({ conversationId, reason: KEPT_REASONS[kind] })
    const receipt: RetentionReceipt = {
      erased: completed.map(({ conversationId, receipt: { messages, summaries } }) => ({
        conversationId,
        messages,
        summaries,
      })),
      kept,
    }
    const recorded = await changeRetention(erasure.log, erasure.clock, this.provenance, (state) =>
      completeRun(state, runId, receipt),
    )
    return E.map(() => ({ runId, isResumed, receipt }))(recorded)
  }

  /** How far an interrupted run came with a conversation. Nothing is recorded after the erasure of a conversation. */
  private async progressOf(
    conversationId: string,
    runId: string,
  ): Promise<'erase' | 'erased-before' | CompletedErasure> {
    const { log, conversations } = this.parts.erasure
    if (!(await conversations.load(conversationId)).isErased) return 'erase'
    for await (const stored of log.store.readStream(conversationStream(conversationId), { direction: 'backwards' })) {
      if (stored.type !== 'ErasureRequested' && stored.type !== 'ErasureCompleted') break
      const event = await decodeEvent(stored, log)
      if (!isOfType(event, 'ErasureRequested', 'ErasureCompleted') || event.data.erasureId !== runId) continue
      return event.type === 'ErasureRequested'
        ? 'erase'
        : { erasureId: runId, conversationId, receipt: event.data.receipt }
    }
    return 'erased-before'
  }
}

/** Runs retention once. Only one process does so at a time. */
export async function runRetention(
  parts: RetentionRunParts,
  owner: string,
  provenance: Provenance,
): Promise<E.Either<RunFailure, CompletedRun | undefined>> {
  const key = 'retention'
  const lease = await takeLease({ claims: parts.claims, key, owner, ttlMs: CLAIM_MS, pollMs: POLL_MS, patienceMs: 0 })
  if (lease === undefined) {
    const holder = await parts.claims.holder(key)
    return E.left({ kind: 'RetentionBusy', owner: holder?.owner ?? 'another process' })
  }
  try {
    return await new Run(parts, provenance).run()
  } finally {
    await lease.release()
  }
}
