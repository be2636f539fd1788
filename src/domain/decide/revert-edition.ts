/** Restores the state that an edition had replaced, with all messages since then. */
import { either as E } from 'fp-ts'
import type { PinnedTooLarge } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import type { FindWindow } from '../values/model-windows.js'
import type { BadPolicy } from '../values/policy.js'
import type { PolicySettings } from '../values/policy-settings.js'
import { applyPending, type Decision } from './decision.js'
import { originHashes } from './origin-hashes.js'
import { checkPinnedFit, checkReplaceable, configuredSince, replacement, type NotReplaceable } from './replacement.js'
import { chunksFromLateSummaries, waitingChunks, type LateSummary } from './waiting-summaries.js'

export interface RevertEdition {
  readonly type: 'RevertEdition'
  /** The state before the edition was adopted, with all events since then. */
  readonly before: Conversation
  /** Settings of the conversation that changed since then. */
  readonly configured?: PolicySettings
  /** Finds the window of the agent's model; default: the known models. */
  readonly modelWindow?: FindWindow
  /** The late summaries since then. */
  readonly lateSummaries: readonly LateSummary[]
}

export type NoEditionInForce = { readonly kind: 'NoEditionInForce' }

export function revertEdition(
  state: Conversation,
  { before, configured, modelWindow, lateSummaries }: RevertEdition,
): Decision<NoEditionInForce | NotReplaceable | BadPolicy | PinnedTooLarge> {
  const edition = state.lineage?.edition
  if (edition === undefined) return E.left({ kind: 'NoEditionInForce' })
  const replaceable = checkReplaceable(state, before)
  if (E.isLeft(replaceable)) return replaceable
  const configuration = configuredSince(before, configured, modelWindow)
  if (E.isLeft(configuration)) return configuration
  const restored = before.lineage?.edition
  const data = {
    editionId: edition.editionId,
    ...(restored === undefined ? {} : { restores: restored.editionId }),
    adoptedAt: edition.adoptedAt,
    ...replacement(state, before, {
      edition: restored,
      configuration: configuration.right,
      observed: before.observed,
    }),
  }
  const stateAfter = applyPending(state, [{ type: 'EditionReverted', data }])
  const fit = checkPinnedFit(stateAfter)
  if (E.isLeft(fit)) return fit
  return E.right([
    { type: 'EditionReverted', data: { ...data, ...originHashes(stateAfter) } },
    ...waitingChunks(before),
    ...chunksFromLateSummaries(state, before, lateSummaries),
  ])
}
