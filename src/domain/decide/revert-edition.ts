/** What an edition had replaced comes into force again, with all messages that came since. */
import { either as E } from 'fp-ts'
import type { PinnedTooLarge } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import type { FindWindow } from '../values/model-windows.js'
import type { BadPolicy, PolicySettings } from '../values/policy.js'
import { applyPending, type Decision } from './decision.js'
import { originHashes } from './origin-hashes.js'
import { checkPinnedFit, checkReplaceable, configuredSince, replacement, type NotReplaceable } from './replacement.js'
import { chunksSetAside, waitingChunks, type SetAside } from './waiting-summaries.js'

export interface RevertEdition {
  readonly type: 'RevertEdition'
  /** The state before the edition was adopted, with what came since. */
  readonly before: Conversation
  /** What the conversation was configured with since then. */
  readonly configured?: PolicySettings
  /** Who knows the window of the agent's model; left out, what everybody knows. */
  readonly modelWindow?: FindWindow
  /** The summaries that were set aside since then. */
  readonly aside?: readonly SetAside[]
}

export type NoEditionInForce = { readonly kind: 'NoEditionInForce' }

export function revertEdition(
  state: Conversation,
  { before, configured, modelWindow, aside = [] }: RevertEdition,
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
  const seen = applyPending(state, [{ type: 'EditionReverted', data }])
  const fit = checkPinnedFit(seen)
  if (E.isLeft(fit)) return fit
  return E.right([
    { type: 'EditionReverted', data: { ...data, ...originHashes(seen) } },
    ...waitingChunks(before),
    ...chunksSetAside(state, before, aside),
  ])
}
