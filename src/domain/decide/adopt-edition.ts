/** An edition's batches, window and configuration come into force. */
import { either as E } from 'fp-ts'
import type { PinnedTooLarge } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import type { FindWindow } from '../values/model-windows.js'
import type { BadPolicy, PolicySettings } from '../values/policy.js'
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
  /** What the conversation was configured with since the edition parted from it. */
  readonly configured?: PolicySettings
  /** Who knows the window of the agent's model; left out, what everybody knows. */
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
    edition: { editionId, adoptedAt: state.revision + 1n },
    configuration: { ...configuration, ...(scope === undefined ? {} : { scope }) },
  }
  const data = {
    editionId,
    editionRevision: edition.revision,
    conversationRevision: edition.conversationRevision,
    ...replacement(state, edition, lineage),
  }
  const seen = applyPending(state, [{ type: 'EditionAdopted', data }])
  const fit = checkPinnedFit(seen)
  if (E.isLeft(fit)) return fit
  return E.right([{ type: 'EditionAdopted', data: { ...data, ...originHashes(seen) } }, ...waitingChunks(edition)])
}
