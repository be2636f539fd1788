/** Erasure, for hosts and operators. */
import { erase, resumeErasures, type ErasureParts, type ErasureRequest } from '../erasure/erase.js'
import { planConversation, type MessageChoice } from '../erasure/plan.js'
import type { ProjectionRunner } from '../../projections/engine/runner.js'
import type { Conversations } from '../recording/handle-command.js'
import { notErasable, type TextKeys } from '../sealing/text-keys.js'
import type { Gate } from './gate.js'
import type { ErasureOptions, ErasureTarget, LedgerErasure } from './ledger-erasure.js'
import type { Lookup } from './lookup.js'
import { bad, nameOf, optionsGiven, textGiven, type Names } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

interface Parts extends Pick<
  LedgerParts,
  'log' | 'clock' | 'projections' | 'pendingErasures' | 'cleanStorage' | 'workers'
> {
  readonly conversations: Conversations
  readonly runner: ProjectionRunner
  readonly gate: Gate
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

const OPTIONS: Names<ErasureOptions> = { reason: true, actor: true }
const TARGET = { conversationId: true, messageId: true, subject: true } as const

/** What an erasure is about, checked. */
interface Chosen {
  readonly choice: MessageChoice
  readonly conversationIds: readonly string[]
}

class Erasures implements LedgerErasure {
  constructor(private readonly parts: Parts) {}

  async plan(target: ErasureTarget) {
    this.parts.gate.open()
    const { choice, conversationIds } = await this.chosen(target)
    const keys = this.keys()
    const planned = []
    for (const conversationId of conversationIds) {
      const { erased, affected } = await planConversation(this.parts.log, keys, conversationId, choice)
      planned.push({
        conversationId,
        messages: erased.map(({ messageId }) => messageId),
        summaries: affected.summaries,
        editions: affected.editions,
      })
    }
    return planned
  }

  async run(target: ErasureTarget, options: ErasureOptions) {
    this.parts.gate.writes('admin.erasure.run')
    const { reason, actor } = optionsGiven('admin.erasure.run', options, OPTIONS)
    if (typeof reason !== 'string' || reason.trim() === '') throw bad('reason', 'is missing: it is recorded')
    const { choice, conversationIds } = await this.chosen(target)
    if (choice.scope === 'subject') await this.keys().eraseSubject(choice.subject)
    // Again, because a conversation may have named the person meanwhile.
    const ids = choice.scope === 'subject' ? await this.keys().conversationsOf(choice.subject) : conversationIds
    const request: ErasureRequest = { ...choice, reason }
    const provenance = this.parts.provenanceOf(actor === undefined ? {} : { actor: nameOf('actor', actor) })
    return valueOf(await erase(this.erasureParts(), request, ids, provenance), problem)
  }

  async resume({ actor }: { readonly actor?: string } = {}) {
    this.parts.gate.writes('admin.erasure.resume')
    const provenance = this.parts.provenanceOf(actor === undefined ? {} : { actor: nameOf('actor', actor) })
    return valueOf(await resumeErasures(this.erasureParts(), provenance), problem)
  }

  private keys(): TextKeys {
    const { keys } = this.parts.log
    if (keys === undefined) throw notErasable('erase')
    return keys
  }

  private erasureParts(): ErasureParts {
    const { log, conversations, clock, pendingErasures, cleanStorage, runner, projections } = this.parts
    return {
      log,
      keys: this.keys(),
      conversations,
      clock,
      pending: pendingErasures,
      rewriteRows: async () => {
        await runner.rebuild('all', { fresh: true })
        return projections.map(({ name }) => name)
      },
      cleanStorage,
    }
  }

  private async chosen(given: ErasureTarget): Promise<Chosen> {
    const keys = this.keys()
    const target: { conversationId?: string; messageId?: string; subject?: string } = optionsGiven(
      'admin.erasure',
      given,
      TARGET,
    )
    const { conversationId, messageId, subject } = target
    if (subject !== undefined) {
      if (conversationId !== undefined || messageId !== undefined)
        throw bad('subject', 'erases everything about a person: name no conversation and no message with it')
      const pseudonym = keys.pseudonym(textGiven('subject', subject))
      return {
        choice: { scope: 'subject', subject: pseudonym },
        conversationIds: await keys.conversationsOf(pseudonym),
      }
    }
    if (conversationId === undefined)
      throw bad('conversationId', 'is missing: name what to erase, a conversation, one of its messages, or a subject')
    await this.parts.lookup.isThere(conversationId)
    if (messageId === undefined) return { choice: { scope: 'conversation' }, conversationIds: [conversationId] }
    const choice = { scope: 'message', messageId: textGiven('messageId', messageId) } as const
    const { erased } = await planConversation(this.parts.log, keys, conversationId, choice)
    if (erased.length === 0) throw problem({ kind: 'NoSuchMessage', conversationId, messageId, nearest: undefined })
    return { choice, conversationIds: [conversationId] }
  }
}

/** Creates the functions of erasure. */
export const createErasure = (parts: Parts): LedgerErasure => new Erasures(parts)
