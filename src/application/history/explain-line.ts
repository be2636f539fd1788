/** Explains a line that the model saw: the batch or message that contains it, or the view. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { conversationStream } from '../../domain/values/ids.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { batchNamed, type ExplainDependencies } from './explain-batch.js'
import { explainView } from './explain-view.js'
import type { AsOf, ExplainFailure, Explanation, LineFound } from './explanation.js'
import { originals } from './original-messages.js'
import { promptsOf } from './prompt-texts.js'
import { findQuoted } from './quoted-messages.js'
import { recordedTime } from './time-travel.js'
import { traceLine, type LineSource, type Trace } from './trace-line.js'

type Explained = E.Either<ExplainFailure, Explanation>
type OfKind<Kind extends Trace['kind']> = Extract<Trace, { readonly kind: Kind }>

/** An event and its time. */
async function asOf(log: Log, conversationId: string, revision: number): Promise<AsOf> {
  const [stored] = await log.store.readRevisions(conversationStream(conversationId), [revision])
  return { revision, recordedAt: stored === undefined ? '' : recordedTime(stored) }
}

/** A generated line of the view: the batches of that view. */
async function explainLineOfView(
  log: Log,
  state: Conversation,
  line: string,
  { at, match }: OfKind<'view'>,
  open: boolean,
): Promise<Explained> {
  const { conversationId, revision } = state
  const of = at === revision ? state : await loadConversation(log, conversationId, at)
  return E.right({
    ...(await explainView(log, state, open, of)),
    found: { line, match },
    asOf: await asOf(log, conversationId, of.lastOrigin ?? of.revision),
  })
}

async function explainShownOnly(
  log: Log,
  conversationId: string,
  { what, excerpt, at }: OfKind<'shown-only'>,
): Promise<Explained> {
  return E.right({ kind: 'shown-only', conversationId, what, text: excerpt, asOf: await asOf(log, conversationId, at) })
}

/** A line of a summary: the tree of its batch and, if it is extractive, the quoted messages. */
async function explainLineOfBatch(
  deps: ExplainDependencies,
  state: Conversation,
  found: LineFound,
  { batchId }: Extract<LineSource, { readonly kind: 'batch' }>,
  open: boolean,
): Promise<Explained> {
  const { log } = deps
  const { conversationId, revision } = state
  const batch = await batchNamed(deps, state, batchId, open)
  if (E.isLeft(batch)) return batch
  const quotedMessages = await findQuoted(log, conversationId, batch.right, found.line)
  return E.right({
    kind: 'batch',
    conversationId,
    revision,
    batch: batch.right,
    found,
    ...(quotedMessages.length === 0 ? {} : { said: quotedMessages }),
    prompts: await promptsOf(log, [batch.right]),
  })
}

/** A line of a message: the message, and the tree of its batch if it was compacted. */
async function explainLineOfMessage(
  deps: ExplainDependencies,
  state: Conversation,
  found: LineFound,
  { messageId, batchId, withdrawn }: Extract<LineSource, { readonly kind: 'message' }>,
  open: boolean,
): Promise<Explained> {
  const { log } = deps
  const { conversationId, revision } = state
  const batch = batchId === undefined ? undefined : await batchNamed(deps, state, batchId, open)
  if (batch !== undefined && E.isLeft(batch)) return batch
  const [message] = await originals(log, conversationId, [messageId])
  if (message === undefined) return E.left({ kind: 'NoSuchLine', conversationId })
  return E.right({
    kind: 'message',
    conversationId,
    revision,
    message,
    found,
    prompts: await promptsOf(log, batch === undefined ? [] : [batch.right]),
    ...(batch === undefined ? {} : { batch: batch.right }),
    ...(withdrawn === undefined ? {} : { withdrawn }),
  })
}

/** A line in recorded texts. If there are several, they are listed for a choice. */
async function explainSources(
  deps: ExplainDependencies,
  state: Conversation,
  found: LineFound,
  sources: readonly LineSource[],
  open: boolean,
): Promise<Explained> {
  const [source] = sources
  if (source === undefined || sources.length > 1)
    return E.right({
      kind: 'several',
      conversationId: state.conversationId,
      found,
      sources: sources.toSorted((a, b) => Number(a.kind === 'batch') - Number(b.kind === 'batch')),
    })
  return source.kind === 'batch'
    ? await explainLineOfBatch(deps, state, found, source, open)
    : await explainLineOfMessage(deps, state, found, source, open)
}

export async function explainLine(
  deps: ExplainDependencies,
  state: Conversation,
  line: string,
  open: boolean,
): Promise<Explained> {
  const { log } = deps
  const { conversationId } = state
  const trace = await traceLine(log, state, line)
  switch (trace?.kind) {
    case undefined:
      return E.left({ kind: 'NoSuchLine', conversationId })
    case 'view':
      return await explainLineOfView(log, state, line, trace, open)
    case 'shown-only':
      return await explainShownOnly(log, conversationId, trace)
    case 'sources':
      return await explainSources(deps, state, { line, match: trace.match }, trace.sources, open)
  }
}
