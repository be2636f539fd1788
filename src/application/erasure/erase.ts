/**
 * Erases texts. The order makes an interrupted erasure continue where it was: (1) the request is noted, (2) the plan is
 * an event of each conversation, (3) keys are destroyed, (4) rows are written again, and old pages and write-ahead log
 * are removed, (5) an event with the receipt ends it. Each step can be repeated.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import type { ErasureReceipt, EventData } from '../../domain/events/index.js'
import { isErasureRefusal, type ErasureCandidate, type ErasureRefusal } from '../../domain/retention/judge-erasure.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { Clock } from '../../ports/clock.js'
import type { PendingErasure, PendingErasures } from '../../ports/pending-erasures.js'
import type { CleanStorage } from '../../ports/storage-cleaner.js'
import type { Provenance } from '../../domain/events/codec.js'
import { isSummaryUnit } from '../../domain/events/texts.js'
import { hashOf } from '../../domain/values/hash.js'
import type { CommandFailure, Conversations } from '../recording/handle-command.js'
import type { Log } from '../recording/load-conversation.js'
import { redactErasureTexts } from '../recording/redaction.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { TextKeys } from '../sealing/text-keys.js'
import { hasCopies, planConversation, type ConversationPlan, type MessageChoice } from './plan.js'
import { scanConversation } from './scan-conversation.js'
import type { KeyName } from '../sealing/keyring.js'

/** What to erase, as it is noted: without personal data. */
const recordedWith = {
  reason: z.string(),
  /** Permits erasing messages that a retention rule keeps. */
  legalBasis: z.string().optional(),
  /** True for an erasure of a retention run, which erases only texts older than its rule allows. */
  isRetention: z.literal(true).optional(),
}
const requestSchema = z.discriminatedUnion('scope', [
  z.object({ scope: z.literal('conversation'), ...recordedWith }),
  z.object({ scope: z.literal('message'), messageId: z.string(), ...recordedWith }),
  z.object({ scope: z.literal('subject'), subject: z.string(), ...recordedWith }),
  /** What a conversation has of another one, in which this erasure has erased messages. */
  z.object({ scope: z.literal('copies'), of: z.string(), originalErasure: z.string(), ...recordedWith }),
])
type NotedRequest = z.infer<typeof requestSchema>
/** What a caller may request. Copies are erased with their originals. */
export type ErasureRequest = Exclude<NotedRequest, { scope: 'copies' }>

const requestOf = ({ request }: PendingErasure): NotedRequest => requestSchema.parse(JSON.parse(request))

export interface ErasureParts {
  readonly log: Log
  readonly keys: TextKeys
  readonly conversations: Conversations
  readonly clock: Clock
  readonly pending: PendingErasures
  /** Writes all rows again; returns the names of the read models. */
  readonly rewriteRows: () => Promise<readonly string[]>
  readonly cleanStorage: CleanStorage
  /** Brings the rows that `childrenOf` reads to the end of the log. Throws if that is not possible. */
  readonly bringRowsToHead: () => Promise<void>
  /** The conversations that continue this one, or belong to its sub-agents. */
  readonly childrenOf: (conversationId: string) => Promise<readonly string[]>
  /** Whether the retention rules allow it. Called after the erasure is noted and before it is recorded. */
  readonly judge: (
    candidate: ErasureCandidate,
    request: Omit<NotedRequest, 'scope'>,
  ) => Promise<E.Either<ErasureRefusal, void>>
}

/** The erased messages, and the messages that the retention rules protect. */
export interface ErasureResult {
  readonly completed: readonly CompletedErasure[]
  readonly refused: readonly ErasureRefusal[]
}

/** An erasure of one conversation that is completed. */
export interface CompletedErasure {
  /** Id of the erasure, in its events. */
  readonly erasureId: string
  /** The conversation. */
  readonly conversationId: string
  /** The result, as recorded. */
  readonly receipt: ErasureReceipt
}

const PLAN_ATTEMPTS = 20
const COPY_ID_LENGTH = 12

/** Events that record a summary. */
const isSummaryEvent = ({ type }: { readonly type: string }): boolean =>
  ['ChunkSummarized', 'BatchArchived', 'BatchesResummarized', 'SummarySetAside', 'CompactionObserved'].includes(type)

/** A recorded plan, with the keys in use and the numbers for the receipt. */
interface Planned {
  readonly requested: EventData<'ErasureRequested'>
  readonly plan: Pick<ConversationPlan, 'used'> & { readonly messages: number; readonly summaries: number }
}

/** The keys of a conversation are removed, and its rows are not written again yet. */
interface Removed {
  readonly pending: PendingErasure
  readonly requested: EventData<'ErasureRequested'>
  readonly messages: number
  readonly summaries: number
  readonly keys: readonly string[]
}

const isRemoved = (result: Removed | CompletedErasure | undefined): result is Removed =>
  result !== undefined && 'pending' in result
const isCompleted = (progress: Planned | CompletedErasure | undefined): progress is CompletedErasure =>
  progress !== undefined && 'receipt' in progress

export interface ErasureRunOptions {
  /** Id of the erasure. Default: a new one. */
  readonly erasureId?: string
  /** Called before each step. Throws if this process may not continue. */
  readonly beforeStep?: () => Promise<void>
}

class Erasure {
  private readonly beforeStep: () => Promise<void>

  constructor(
    private readonly parts: ErasureParts,
    private readonly provenance: Provenance,
    { beforeStep = () => Promise.resolve() }: ErasureRunOptions = {},
  ) {
    this.beforeStep = beforeStep
  }

  /** Continues erasures that are noted. */
  async run(pending: readonly PendingErasure[]): Promise<E.Either<CommandFailure, ErasureResult>> {
    const removed: Removed[] = []
    const completed: CompletedErasure[] = []
    const refused: ErasureRefusal[] = []
    const queue = [...pending]
    for (const each of queue) {
      await this.beforeStep()
      const result = await this.remove(each)
      if (E.isLeft(result)) {
        if (!isErasureRefusal(result.left)) return E.left(result.left)
        refused.push(result.left)
      } else if (isRemoved(result.right)) {
        removed.push(result.right)
        queue.push(...(await this.noteCopies(each, queue)))
        continue
      } else if (result.right !== undefined) completed.push(await this.end(result.right))
      await this.parts.pending.remove(each)
    }
    if (removed.length === 0) return E.right({ completed, refused })
    await this.beforeStep()
    const rows = await this.parts.rewriteRows()
    await this.beforeStep()
    const filesCleaned = await this.parts.cleanStorage()
    await this.parts.keys.forgottenElsewhere()
    for (const each of removed) {
      await this.beforeStep()
      const result = await this.complete(each, rows, filesCleaned)
      if (E.isLeft(result)) return result
      completed.push(result.right)
    }
    return E.right({ completed, refused })
  }

  /**
   * Notes the erasure of what other conversations have of this one. They are searched after the plan is recorded: from
   * then on nothing is copied.
   */
  private async noteCopies(
    { conversationId, erasureId, request }: PendingErasure,
    noted: readonly PendingErasure[],
  ): Promise<PendingErasure[]> {
    const { conversations, childrenOf, pending } = this.parts
    const { reason, legalBasis } = requestSchema.parse(JSON.parse(request))
    const copies: PendingErasure[] = []
    for (const child of await childrenOf(conversationId)) {
      const [of, copy] = [await conversations.load(conversationId), await conversations.load(child)]
      if (copy.configuration?.scope !== of.configuration?.scope) continue
      const ofCopies: NotedRequest = {
        scope: 'copies',
        of: conversationId,
        originalErasure: erasureId,
        reason,
        ...(legalBasis === undefined ? {} : { legalBasis }),
      }
      const id = `${erasureId}-${hashOf(conversationId).slice(0, COPY_ID_LENGTH)}`
      if (noted.some((each) => each.erasureId === id && each.conversationId === child)) continue
      copies.push({ erasureId: id, conversationId: child, request: JSON.stringify(ofCopies) })
    }
    await pending.add(copies)
    return copies
  }

  /** What to erase; undefined if the erasure of the originals was refused. */
  private async choiceOf(request: NotedRequest): Promise<MessageChoice | undefined> {
    if (request.scope !== 'copies') return request
    const { of, originalErasure } = request
    const { requested } = await this.recorded(of, originalErasure)
    if (requested === undefined) return undefined
    const { messages, fingerprints = [] } = requested
    return {
      scope: 'copies',
      conversationId: of,
      messageIds: messages === undefined ? undefined : new Set(messages.map(({ messageId }) => messageId)),
      fingerprints: new Set(fingerprints),
    }
  }

  /** Undefined if there is nothing to remove: another erasure has begun to remove the whole conversation. */
  private async remove(
    pending: PendingErasure,
  ): Promise<E.Either<CommandFailure | ErasureRefusal, Removed | CompletedErasure | undefined>> {
    const { conversationId } = pending
    const { keys, conversations } = this.parts
    const isWhole = requestOf(pending).scope === 'conversation'
    // If the vault lost the key of a conversation, it can be erased as a whole.
    if (isWhole) keys.allowLost(conversationId)
    const found = await this.progressOf(pending)
    if (found === undefined && !isWhole && (await keys.isConversationErased(conversationId))) return E.right(undefined)
    const planned = found === undefined ? await this.recordPlan(pending) : E.right(found)
    if (E.isLeft(planned)) return planned
    if (planned.right === undefined) return E.right(undefined)
    if (isCompleted(planned.right)) return E.right(planned.right)
    const { requested, plan } = planned.right
    await this.beforeStep()
    const removal = {
      epoch: requested.epoch,
      units: new Set(requested.derived ?? []),
      subjects: requested.subject === undefined ? [] : [requested.subject],
    }
    const { destroyed } = isWhole
      ? await keys.removeAll(conversationId)
      : await keys.remove(conversationId, removal, plan.used)
    conversations.forget(conversationId)
    return E.right({ pending, requested, messages: plan.messages, summaries: plan.summaries, keys: destroyed })
  }

  /** The events of an erasure. */
  private async recorded(
    conversationId: string,
    erasureId: string,
  ): Promise<{
    readonly requested?: EventData<'ErasureRequested'>
    readonly receipt?: ErasureReceipt
  }> {
    const { log } = this.parts
    let receipt: ErasureReceipt | undefined
    for await (const stored of log.store.readStream(conversationStream(conversationId), { direction: 'backwards' })) {
      if (stored.type !== 'ErasureRequested' && stored.type !== 'ErasureCompleted') continue
      const event = await decodeEvent(stored, log)
      if (!isOfType(event, 'ErasureRequested', 'ErasureCompleted') || event.data.erasureId !== erasureId) continue
      if (isOfType(event, 'ErasureCompleted')) ({ receipt } = event.data)
      else return { requested: event.data, ...(receipt === undefined ? {} : { receipt }) }
    }
    return {}
  }

  /** How far an earlier process came with it: its receipt, or its plan; undefined if none is recorded. */
  private async progressOf({
    conversationId,
    erasureId,
  }: PendingErasure): Promise<Planned | CompletedErasure | undefined> {
    const { log } = this.parts
    const { requested, receipt } = await this.recorded(conversationId, erasureId)
    if (receipt !== undefined) return { erasureId, conversationId, receipt }
    if (requested === undefined) return undefined
    const used: KeyName[] = []
    let messages = 0
    let summaries = 0
    for await (const { event, keys } of scanConversation(log, conversationId)) {
      used.push(...keys)
      if (event.type === 'MessageAppended') messages += 1
      if (isSummaryEvent(event)) summaries += 1
    }
    return {
      requested,
      plan: {
        used,
        messages: requested.messages?.length ?? messages,
        summaries: requested.derived?.filter(isSummaryUnit).length ?? summaries,
      },
    }
  }

  /** Records the plan at the revision that it was made for, unless another process has recorded one meanwhile. */
  private async recordPlan(
    pending: PendingErasure,
  ): Promise<E.Either<CommandFailure | ErasureRefusal, Planned | CompletedErasure | undefined>> {
    const { keys, conversations, log } = this.parts
    const { conversationId, erasureId } = pending
    const request = requestOf(pending)
    const choice = await this.choiceOf(request)
    // A conversation without copies, or one that is erased, gets no epoch. The plan itself needs the epoch: an edition that
    // is recorded meanwhile would not be in it.
    if (choice === undefined || (await this.hasNoCopies(conversationId, choice))) return E.right(undefined)
    const isWhole = request.scope === 'conversation'
    let epoch = isWhole ? 0 : await keys.beginEpoch(conversationId)
    for (let tries = 0; ; tries += 1) {
      const plan = await planConversation(log, keys, conversationId, choice)
      const units = new Set<string>(plan.affected.units)
      // A summary of an erased message that was recorded since the epoch began needs a later one.
      if (!isWhole && tries < PLAN_ATTEMPTS && plan.used.some((used) => used.epoch >= epoch && units.has(used.unit))) {
        epoch = await keys.beginEpoch(conversationId)
        // The plan must have every text of earlier epochs.
        continue
      }
      const allowed = await this.parts.judge(plan, request)
      if (E.isLeft(allowed)) return allowed
      // Known before the keys are destroyed: a later import must not record these messages again.
      await keys.addFingerprints(plan.fingerprints)
      const requested: EventData<'ErasureRequested'> = {
        erasureId,
        scope: request.scope === 'copies' ? 'message' : request.scope,
        ...(request.scope === 'subject' ? { subject: request.subject } : {}),
        reason: request.reason,
        ...(request.legalBasis === undefined ? {} : { legalBasis: request.legalBasis }),
        ...(isWhole ? {} : { messages: [...plan.erased], derived: [...units] }),
        editions: [...plan.affected.editions],
        epoch,
        fingerprints: [...new Set(plan.fingerprints)],
      }
      const recorded = await conversations.handle(
        conversationId,
        [
          { type: 'Expect', revision: plan.revision },
          { type: 'RequestErasure', ...requested },
        ],
        this.provenance,
      )
      if (E.isRight(recorded))
        return E.right({
          requested,
          plan: { used: plan.used, messages: plan.erased.length, summaries: plan.affected.summaries },
        })
      if (recorded.left.kind !== 'ConversationMoved' || tries >= PLAN_ATTEMPTS) return recorded
      const found = await this.progressOf(pending)
      if (found !== undefined) return E.right(found)
    }
  }

  private async hasNoCopies(conversationId: string, choice: MessageChoice): Promise<boolean> {
    return (
      choice.scope === 'copies' &&
      !hasCopies(await planConversation(this.parts.log, this.parts.keys, conversationId, choice))
    )
  }

  private async complete(
    { pending, requested, messages, summaries, keys }: Removed,
    rows: readonly string[],
    filesCleaned: boolean,
  ): Promise<E.Either<CommandFailure, CompletedErasure>> {
    const { conversationId, erasureId } = pending
    const receipt: ErasureReceipt = {
      messages,
      summaries,
      editions: requested.editions.length,
      keys: [...keys],
      vault: this.parts.keys.vault.name,
      rows: [...rows],
      filesCleaned,
      ...(requested.legalBasis === undefined ? {} : { legalBasis: requested.legalBasis }),
    }
    const recorded = await this.parts.conversations.handle(
      conversationId,
      [{ type: 'CompleteErasure', erasureId, receipt }],
      this.provenance,
    )
    if (E.isLeft(recorded)) return recorded
    // Another process may have completed it meanwhile: its receipt is the only one.
    const found = recorded.right.events.length === 0 ? await this.progressOf(pending) : undefined
    const completed = await this.end(isCompleted(found) ? found : { erasureId, conversationId, receipt })
    await this.parts.pending.remove(pending)
    return E.right(completed)
  }

  /** The keys in a receipt need no destruction any more. */
  private async end(completed: CompletedErasure): Promise<CompletedErasure> {
    await this.parts.keys.forgetDestroyed(completed.conversationId, completed.receipt.keys)
    return completed
  }
}

/**
 * Notes an erasure and runs it. A person is erased in every conversation that names this person.
 * @param conversationIds for a conversation or a message; those of a person are found by the pseudonym
 */
export async function erase(
  parts: ErasureParts,
  request: ErasureRequest,
  conversationIds: readonly string[],
  provenance: Provenance,
  options: ErasureRunOptions = {},
): Promise<E.Either<CommandFailure, ErasureResult>> {
  const { erasureId = parts.clock.newId() } = options
  // Copies cannot be found without the rows. That must be known before something is destroyed.
  await parts.bringRowsToHead()
  const redacted = await redactErasureTexts(parts.log, request)
  const noted =
    redacted.scope === 'subject'
      ? await notePerson(parts, { ...redacted, erasureId })
      : await note(parts, redacted, erasureId, conversationIds)
  return await new Erasure(parts, provenance, options).run(noted)
}

async function note(
  { pending }: ErasureParts,
  request: ErasureRequest,
  erasureId: string,
  conversationIds: readonly string[],
): Promise<PendingErasure[]> {
  const noted = conversationIds.map((conversationId): PendingErasure => ({
    erasureId,
    conversationId,
    request: JSON.stringify(request),
  }))
  await pending.add(noted)
  return noted
}

type PersonRequest = Extract<ErasureRequest, { scope: 'subject' }>

/**
 * Notes the erasure of a person. It is noted before nothing about this person is recorded any more, so that it
 * continues if the process ends between the two. Meanwhile a conversation may have named the person for the first time.
 */
async function notePerson(
  parts: ErasureParts,
  { erasureId, ...request }: PersonRequest & { readonly erasureId: string },
): Promise<PendingErasure[]> {
  const { keys } = parts
  const known = await keys.conversationsOf(request.subject)
  const noted = await note(parts, request, erasureId, known)
  await keys.eraseSubject(request.subject)
  const later = (await keys.conversationsOf(request.subject)).filter((id) => !known.includes(id))
  return [...noted, ...(await note(parts, request, erasureId, later))]
}

/** Continues all erasures that were interrupted. */
export async function resumeErasures(
  parts: ErasureParts,
  provenance: Provenance,
): Promise<E.Either<CommandFailure, ErasureResult>> {
  const interrupted = await parts.pending.list()
  if (interrupted.length > 0) await parts.bringRowsToHead()
  for (const pending of interrupted) {
    const request = requestOf(pending)
    if (request.scope === 'subject' && !(await parts.keys.isSubjectErased(request.subject)))
      await notePerson(parts, { ...request, erasureId: pending.erasureId })
  }
  return await new Erasure(parts, provenance).run(await parts.pending.list())
}
