/** Checks what to erase and whether rules allow it, then calls `application/erasure/erase.ts`. */
import { either as E } from 'fp-ts'
import { planWithCopies, type PlannedConversation } from '../application/erasure/copies.js'
import { erase, resumeErasures, type ErasureParts, type ErasureRequest } from '../application/erasure/erase.js'
import { recordedErasures } from '../application/erasure/recorded-erasures.js'
import { planConversation, type MessageChoice } from '../application/erasure/plan.js'
import type { ErasureCandidate, ErasureRefusal } from '../domain/retention/judge-erasure.js'
import { createJudge } from '../application/retention/judge.js'
import { readRetention } from '../application/retention/retention-stream.js'
import { childrenOf } from '../../projections/read-models/live-messages/queries.js'
import { removeUnusedVectors } from '../../projections/read-models/archive-index/vectors.js'
import type { ProjectionRunner } from '../../projections/engine/runner.js'
import type { Conversations } from '../application/recording/handle-command.js'
import { notErasable, type TextKeys } from '../application/sealing/text-keys.js'
import * as calls from '../schema/calls/operating.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type {
  CompletedErasure,
  ErasureOptions,
  ErasureTarget,
  LedgerErasure,
  PlannedErasure,
} from './ledger-erasure.js'
import type { Lookup } from './lookup.js'
import type { ActorOptions } from './ledger-options.js'
import type { LedgerParts } from './parts.js'
import { LedgerError } from '../lib/ledger-error.js'
import { isSummaryUnit } from '../domain/events/texts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export interface ErasingParts extends Pick<
  LedgerParts,
  'log' | 'clock' | 'db' | 'projections' | 'pendingErasures' | 'cleanStorage' | 'onProblem'
> {
  readonly conversations: Conversations
  readonly runner: ProjectionRunner
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

/** What an erasure is about, checked. */
interface Chosen {
  readonly choice: Exclude<MessageChoice, { scope: 'copies' }>
  readonly conversationIds: readonly string[]
}

/** The dependencies of an erasure. */
export const erasurePartsOf = (
  {
    log,
    conversations,
    clock,
    pendingErasures,
    cleanStorage,
    runner,
    freshness,
    projections,
    db,
  }: Pick<
    ErasingParts,
    | 'log'
    | 'conversations'
    | 'clock'
    | 'pendingErasures'
    | 'cleanStorage'
    | 'runner'
    | 'freshness'
    | 'projections'
    | 'db'
  >,
  keys: TextKeys,
): ErasureParts => ({
  log,
  keys,
  conversations,
  clock,
  pending: pendingErasures,
  rewriteRows: async () => {
    await runner.rebuild('all', { fresh: true })
    await removeUnusedVectors(db)
    return projections.map(({ name }) => name)
  },
  cleanStorage,
  bringRowsToHead: () => freshness.bringRowsToHead(),
  childrenOf: async (conversationId) => {
    await freshness.bringRowsToHead()
    return await childrenOf(db, conversationId)
  },
  judge: createJudge(log, clock),
})

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]

/** A refusal in one conversation, with the conversations that this call has erased before it. */
function withErased({ kind, message, details }: LedgerError, completed: readonly CompletedErasure[]): LedgerError {
  const erased = distinct(completed.map(({ conversationId }) => conversationId))
  return erased.length === 0
    ? new LedgerError(kind, message, { details })
    : new LedgerError(kind, `${message} Erased before it: ${erased.map((id) => `"${id}"`).join(', ')}.`, {
        details: { ...details, erased },
      })
}

class Erasures implements LedgerErasure {
  constructor(private readonly parts: ErasingParts) {}

  async plan(target: ErasureTarget) {
    this.parts.gate.open()
    const { choice, conversationIds } = await this.chosen(target)
    // A conversation that names a person and has copies of another one's messages has several plans.
    const byConversation = new Map<string, PlannedConversation[]>()
    for (const each of await this.planned(choice, conversationIds)) {
      const { conversationId } = each.plan
      byConversation.set(conversationId, [...(byConversation.get(conversationId) ?? []), each])
    }
    const result: PlannedErasure[] = []
    for (const [conversationId, planned] of byConversation) {
      const plans = planned.map(({ plan }) => plan)
      const [copyOf] = planned.map((each) => each.copyOf)
      const [source] = plans.map((plan) => plan.source)
      const notAllowed = await this.firstRefusal(plans)
      result.push({
        conversationId,
        messages: distinct(plans.flatMap(({ erased }) => erased.map(({ messageId }) => messageId))),
        summaries: distinct(plans.flatMap(({ affected }) => affected.units.filter(isSummaryUnit))).length,
        editions: distinct(plans.flatMap(({ affected }) => affected.editions)),
        ...(copyOf === undefined ? {} : { copyOf }),
        ...(source === undefined ? {} : { source }),
        ...(notAllowed === undefined ? {} : { notAllowed: problem(notAllowed).message }),
      })
    }
    return result
  }

  private async firstRefusal(candidates: readonly ErasureCandidate[]): Promise<ErasureRefusal | undefined> {
    for (const candidate of candidates) {
      const allowed = await this.judged(candidate, {})
      if (E.isLeft(allowed)) return allowed.left
    }
    return undefined
  }

  /** The plans of these conversations and of those with copies. */
  private async planned(
    choice: MessageChoice,
    conversationIds: readonly string[],
  ): Promise<readonly PlannedConversation[]> {
    const erasing = erasurePartsOf(this.parts, this.keys())
    return await planWithCopies(this.parts.log, this.keys(), conversationIds, choice, erasing.childrenOf)
  }

  async run(target: ErasureTarget, options: ErasureOptions) {
    const { actor, ...recordedWith } = this.parts.gate.enter(calls.erase, options)
    const { choice, conversationIds } = await this.chosen(target)
    await this.checkAllowed(choice, conversationIds, recordedWith)
    const request: ErasureRequest = { ...choice, ...recordedWith }
    const provenance = this.parts.provenanceOf({ actor })
    const { completed, refused } = valueOf(
      await erase(erasurePartsOf(this.parts, this.keys()), request, conversationIds, provenance),
      problem,
    )
    // A hold that was placed, or a rule that was set, after the check.
    for (const refusal of refused) throw withErased(problem(refusal), completed)
    return completed
  }

  async receipts(conversationId: string) {
    await this.parts.lookup.isThere(conversationId)
    return await recordedErasures(this.parts.log, conversationId)
  }

  async resume(options: ActorOptions | undefined) {
    const provenance = this.parts.provenanceOf(this.parts.gate.enter(calls.resumeErasures, options))
    const { completed, refused } = valueOf(
      await resumeErasures(erasurePartsOf(this.parts, this.keys()), provenance),
      problem,
    )
    for (const refusal of refused) this.parts.onProblem(refusal)
    return completed
  }

  private async judged(
    plan: ErasureCandidate,
    given: Partial<Pick<ErasureOptions, 'reason' | 'legalBasis'>>,
  ): Promise<E.Either<ErasureRefusal, void>> {
    const { log, clock } = this.parts
    return await createJudge(log, clock)(plan, { reason: '', ...given })
  }

  /** Throws if the rules do not allow an erasure in one of the conversations: then it begins in none. */
  private async checkAllowed(
    choice: MessageChoice,
    conversationIds: readonly string[],
    given: Pick<ErasureOptions, 'reason' | 'legalBasis'>,
  ): Promise<void> {
    const { rules, holds } = await readRetention(this.parts.log)
    if (rules.size === 0 && holds.length === 0) return
    for (const { plan } of await this.planned(choice, conversationIds)) valueOf(await this.judged(plan, given), problem)
  }

  private keys(): TextKeys {
    const { keys } = this.parts.log
    if (keys === undefined) throw notErasable('erase')
    return keys
  }

  /** Without the conversations that are erased as a whole. */
  private async notErased(conversationIds: readonly string[]): Promise<string[]> {
    const remaining: string[] = []
    for (const id of conversationIds) if (!(await this.keys().isConversationErased(id))) remaining.push(id)
    return remaining
  }

  private async chosen(given: ErasureTarget): Promise<Chosen> {
    const keys = this.keys()
    const { conversationId = '', messageId, subject } = this.parts.gate.enter(calls.erasureTarget, given)
    if (subject !== undefined) {
      const pseudonym = keys.pseudonym(subject)
      return {
        choice: { scope: 'subject', subject: pseudonym },
        conversationIds: await this.notErased(await keys.conversationsOf(pseudonym)),
      }
    }
    await this.parts.lookup.isThere(conversationId)
    if (messageId === undefined) return { choice: { scope: 'conversation' }, conversationIds: [conversationId] }
    const choice = { scope: 'message', messageId } as const
    const { erased } = await planConversation(this.parts.log, keys, conversationId, choice)
    if (erased.length === 0) throw problem({ kind: 'NoSuchMessage', conversationId, messageId, nearest: undefined })
    return { choice, conversationIds: [conversationId] }
  }
}

/** Creates the functions of erasure. */
export function createErasure(parts: ErasingParts): LedgerErasure {
  const erasures = new Erasures(parts)
  return {
    plan: (target) => erasures.plan(target),
    run: (target, options) => erasures.run(target, options),
    receipts: (conversationId) => erasures.receipts(conversationId),
    resume: (options) => erasures.resume(options),
  }
}
