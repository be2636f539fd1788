/** Explains the view: the trees of all its batches, oldest first. */
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Log } from '../recording/load-conversation.js'
import { treeOf } from './batch-tree.js'
import { CompactionArchive } from './compaction-archive.js'
import type { BatchOrigin, Explanation } from './explanation.js'
import { promptsOf } from './prompt-texts.js'

/**
 * @param of the conversation at the revision of the view; the states of its batches are the current ones, from `state`
 */
export async function explainView(
  log: Log,
  state: Conversation,
  open: boolean,
  of = state,
): Promise<Extract<Explanation, { kind: 'view' }>> {
  const { conversationId, revision } = state
  const archive = new CompactionArchive(log, conversationId)
  const first = of.visibleBatches[0]
  const last = of.visibleBatches.reduce((most, batch) => (batch.revision > most ? batch.revision : most), -1)
  if (first !== undefined)
    await archive.readAround({
      firstRevision: of.visibleBatches.reduce(
        (least, batch) => (batch.firstRevision < least ? batch.firstRevision : least),
        first.firstRevision,
      ),
      revision: last,
    })
  const batches: BatchOrigin[] = []
  for (const { batchId } of of.visibleBatches) {
    const tree = await treeOf(log, state, archive, batchId, open)
    if (tree !== undefined) batches.push(tree)
  }
  const liveMessages = of.leading.length + of.retained.length + of.window.length
  return {
    kind: 'view',
    conversationId,
    revision,
    cycles: of.cycles,
    liveMessages,
    batches,
    prompts: await promptsOf(log, batches),
  }
}
