/**
 * Explains what the model saw: batch → source batches → chunk → messages, each summary with its prompt, model,
 * parameters, usage and cycle. The log is the source of truth; the read model only gives positions.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { explainBatch, type ExplainDependencies } from './explain-batch.js'
import { explainLine } from './explain-line.js'
import { explainView } from './explain-view.js'
import type { ExplainFailure, ExplainOptions, Explanation } from './explanation.js'

/** Explains a batch, a line, or the whole view of an existing conversation with its current state. */
export async function explain(
  deps: ExplainDependencies,
  state: Conversation,
  { batchId, line, open = false }: ExplainOptions,
): Promise<E.Either<ExplainFailure, Explanation>> {
  if (line !== undefined) return await explainLine(deps, state, line, open)
  if (batchId !== undefined) return await explainBatch(deps, state, batchId, open)
  return E.right(await explainView(deps.log, state, open))
}
