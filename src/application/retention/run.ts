/**
 * A run of retention: erases the conversations that are older than their rules allow. The plan is an event before
 * anything is erased, and an interrupted run is continued by the next one. Each conversation is judged again by its
 * events immediately before its erasure, so that a hold or a message that came after the plan keeps it.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../../domain/events/codec.js'
import type { RetentionReceipt } from '../../domain/events/index.js'
import type { NotRecordable } from '../../domain/events/recordable.js'
import { completeRun, isOpen, startRun } from '../../domain/retention/decide-retention.js'
import type { ErasureRefusal } from '../../domain/retention/judge-erasure.js'
import type { RetentionRun } from '../../domain/retention/retention-state.js'
import { conversationStream } from '../../domain/values/ids.js'
import { erase, type ErasureParts } from '../erasure/erase.js'
import { LedgerError } from '../../lib/ledger-error.js'
import type { Claims } from '../../ports/claims.js'
import type { AppendFailure } from '../../ports/event-store.js'
import { takeLease } from '../../ports/lease.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { retentionSentences, type RetentionBusy } from './failures.js'
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

const KEY = 'retention'
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
    /** Throws if another process has the lease. */
    private readonly beforeStep: () => Promise<void>,
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
    const retained: { conversationId: string; reason: KeptReason }[] = []
    const toErase: string[] = []
    const request = { scope: 'conversation', reason: REASON, isRetention: true } as const
    for (const { conversationId } of due) {
      if (await this.isErasedBefore(conversationId, runId)) {
        retained.push({ conversationId, reason: 'erased-before' })
        await erasure.pending.remove({ erasureId: runId, conversationId, request: JSON.stringify(request) })
      } else toErase.push(conversationId)
    }
    const { provenance, beforeStep } = this
    const result = await erase(erasure, request, toErase, provenance, { erasureId: runId, beforeStep })
    if (E.isLeft(result)) return result
    for (const { conversationId, kind } of result.right.refused)
      retained.push({ conversationId, reason: KEPT_REASONS[kind] })
    const receipt: RetentionReceipt = {
      erased: result.right.completed.map(({ conversationId, receipt: { messages, summaries } }) => ({
        conversationId,
        messages,
        summaries,
      })),
      kept: retained,
    }
    const recorded = await changeRetention(erasure.log, erasure.clock, this.provenance, (state) =>
      completeRun(state, runId, receipt),
    )
    return E.map(() => ({ runId, isResumed, receipt }))(recorded)
  }

  /** Whether another erasure has erased a conversation. Nothing is recorded after the erasure of a conversation. */
  private async isErasedBefore(conversationId: string, runId: string): Promise<boolean> {
    const { log, conversations } = this.parts.erasure
    if (!(await conversations.load(conversationId)).isErased) return false
    for await (const stored of log.store.readStream(conversationStream(conversationId), { direction: 'backwards' })) {
      if (stored.type !== 'ErasureRequested' && stored.type !== 'ErasureCompleted') break
      const event = await decodeEvent(stored, log)
      if (isOfType(event, 'ErasureRequested', 'ErasureCompleted') && event.data.erasureId === runId) return false
    }
    return true
  }
}

/**
 * Runs retention once. Only one process does so at a time: a process that lost its lease, for example because it was
 * suspended, throws `RetentionBusy` before its next step. The receipts allow no second one if it was in a step.
 */
export async function runRetention(
  parts: RetentionRunParts,
  owner: string,
  provenance: Provenance,
): Promise<E.Either<RunFailure, CompletedRun | undefined>> {
  const { claims } = parts
  const busy = async (): Promise<RetentionBusy> => {
    const holder = await claims.holder(KEY)
    return { kind: 'RetentionBusy', owner: holder?.owner ?? 'another process' }
  }
  const lease = await takeLease({ claims, key: KEY, owner, ttlMs: CLAIM_MS, pollMs: POLL_MS, patienceMs: 0 })
  if (lease === undefined) return E.left(await busy())
  const beforeStep = async (): Promise<void> => {
    if (await lease.confirm()) return
    throw new LedgerError('RetentionBusy', retentionSentences.RetentionBusy(await busy()))
  }
  try {
    return await new Run(parts, provenance, beforeStep).run()
  } finally {
    await lease.release()
  }
}
