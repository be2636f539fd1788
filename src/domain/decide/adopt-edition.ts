/** Puts an edition's batches, window and configuration into force. */
import { either as E } from 'fp-ts'
import type { PinnedTooLarge } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import type { FindWindow } from '../values/model-windows.js'
import type { BadPolicy } from '../values/policy.js'
import type { PolicySettings } from '../values/policy-settings.js'
import { applyPending, configurationOf, type Decision } from './decision.js'
import { originHashes } from './origin-hashes.js'
import {
  checkPinnedFit,
  checkReplaceable,
  configuredSince,
  replacement,
  type NewLineage,
  type NotReplaceable,
} from './replacement.js'
import { waitingChunks } from './waiting-summaries.js'

export interface AdoptEdition {
  readonly type: 'AdoptEdition'
  readonly edition: Conversation
  /** Settings of the conversation that changed since the edition started. */
  readonly configured?: PolicySettings
  /** Finds the window of the agent's model; default: the known models. */
  readonly modelWindow?: FindWindow
}

export function adoptEdition(
  state: Conversation,
  { edition, configured, modelWindow }: AdoptEdition,
): Decision<NotReplaceable | BadPolicy | PinnedTooLarge> {
  const { editionId } = edition
  if (editionId === undefined) throw new Error('what is adopted is no edition')
  if (state.lineage?.edition?.editionId === editionId) return E.right([])
  const replaceable = checkReplaceable(state, edition)
  if (E.isLeft(replaceable)) return replaceable
  const { scope } = configurationOf(state)
  const since = configuredSince(edition, configured, modelWindow)
  if (E.isLeft(since)) return since
  const { scope: _scope, ...configuration } = since.right
  const lineage: NewLineage = {
    edition: { editionId, adoptedAt: state.revision + 1 },
    configuration: { ...configuration, ...(scope === undefined ? {} : { scope }) },
  }
  const data = {
    editionId,
    editionRevision: edition.revision,
    conversationRevision: edition.conversationRevision,
    ...replacement(state, edition, lineage),
  }
  const stateAfter = applyPending(state, [{ type: 'EditionAdopted', data }])
  const fit = checkPinnedFit(stateAfter)
  if (E.isLeft(fit)) return fit
  return E.right([
    { type: 'EditionAdopted', data: { ...data, ...originHashes(stateAfter) } },
    ...waitingChunks(edition),
  ])
}
