/** Explains a batch: its tree, found by id or by the beginning of an id. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { nearest } from '../../domain/text/edit-distance.js'
import type { Log } from '../recording/load-conversation.js'
import { treeOf } from './batch-tree.js'
import { CompactionArchive } from './compaction-archive.js'
import type { BatchOrigin, ExplainFailure, Explanation } from './explanation.js'
import { promptsOf } from './prompt-texts.js'

export interface ExplainDependencies {
  readonly log: Log
  /** The position of a batch according to the read model, if known. It may lag or be wrong. */
  readonly placeOf: (
    conversationId: string,
    batchId: string,
  ) => Promise<{ readonly firstRevision: number; readonly revision: number } | undefined>
}

export async function batchNamed(
  { log, placeOf }: ExplainDependencies,
  state: Conversation,
  batchId: string,
  open: boolean,
): Promise<E.Either<ExplainFailure, BatchOrigin>> {
  const { conversationId } = state
  const archive = new CompactionArchive(log, conversationId)
  // The last prune carried the revisions of active batches; the read model may know those of others.
  const position = state.batches.find((batch) => batch.batchId === batchId) ?? (await placeOf(conversationId, batchId))
  if (position !== undefined) await archive.readAround(position)
  const tree = await treeOf(log, state, archive, batchId, open)
  if (tree !== undefined) return E.right(tree)
  const batchIds = archive.found.startingWith(batchId)
  const [only] = batchIds
  const completed =
    batchIds.length === 1 && only !== undefined ? await treeOf(log, state, archive, only, open) : undefined
  if (completed !== undefined) return E.right(completed)
  return E.left(
    batchIds.length > 1
      ? { kind: 'SeveralBatches', conversationId, batchId, batchIds }
      : { kind: 'NoSuchBatch', conversationId, batchId, nearest: nearest(batchId, archive.found.batches.keys()) },
  )
}

export async function explainBatch(
  deps: ExplainDependencies,
  state: Conversation,
  batchId: string,
  open: boolean,
): Promise<E.Either<ExplainFailure, Explanation>> {
  const tree = await batchNamed(deps, state, batchId, open)
  if (E.isLeft(tree)) return tree
  const { conversationId, revision } = state
  const prompts = await promptsOf(deps.log, [tree.right])
  return E.right({ kind: 'batch', conversationId, revision, batch: tree.right, prompts })
}
