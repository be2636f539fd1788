/**
 * The evidence of what a model saw at a moment, for people without access to the ledger: the context, the events that
 * it was made of, and proofs that these are in the log of a signed checkpoint. `docs/reference/evidence.md` describes
 * the format, from which `examples/verify-evidence.py` was made.
 *
 * Each hashed text is in the evidence as the exact text, so that a verifier need not write JSON.
 */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type NoContext } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { claimOf } from '../../domain/events/codec.js'
import { originTypes, type RecordedEvent } from '../../domain/events/index.js'
import { inclusionRanges } from '../../domain/proof/merkle.js'
import { canonicalJson } from '../../domain/values/hash.js'
import { conversationStream, promptStream } from '../../domain/values/ids.js'
import type { BatchOrigin } from '../history/explanation.js'
import { explainView } from '../history/explain-view.js'
import type { StoredEvent } from '../../ports/event-store.js'
import type { ProofStore } from '../../ports/proof-store.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { checkedRoot, listCheckpoints } from './checkpoints.js'
import type { Evidence, EvidenceEvent, EvidencePlace, EvidenceSummary, RecordedCheckpoint } from './types.js'
import { proofError } from './failures.js'
import { leafOfEvent, type Leaf } from './single-proofs.js'
import { TreeReader } from './tree.js'

/** Name and version of the format. */
const EVIDENCE_FORMAT = 'context-ledger-evidence'
const EVIDENCE_VERSION = 1

/** What to prove. */
export interface EvidenceRequest {
  readonly conversationId: string
  /** The moment. Default: the context that the newest answer names, or else the newest compaction, or else now. */
  readonly revision?: number | undefined
  /** The size of the checkpoint. Default: the first one that covers all events of the evidence. */
  readonly size?: number | undefined
}

/** A log with the stored data of its proofs. */
export interface EvidenceLog extends Log {
  readonly proofs: ProofStore
}

interface Read {
  readonly stored: StoredEvent
  readonly event: RecordedEvent
}

async function readEvents(log: Log, stream: string): Promise<Read[]> {
  const events: Read[] = []
  for await (const stored of log.store.readStream(stream))
    events.push({ stored, event: await decodeEvent(stored, log) })
  return events
}

/** The revision of the context that an event states the hash of. */
function statedRevision(event: RecordedEvent): number | undefined {
  if (isOfType(event, 'MessageAppended'))
    return event.data.answers === undefined ? undefined : Number(event.data.answers.revision)
  return isOfType(event, ...originTypes) ? event.revision : undefined
}

/** The moment of the evidence, and the event that states the hash of its context. */
function momentOf(
  events: readonly Read[],
  requested: number | undefined,
): { readonly revision: number; readonly statedBy: RecordedEvent | undefined } {
  const all = events.map(({ event }) => event)
  const head = all.at(-1)?.revision ?? -1
  const at = requested ?? newestStated(all)?.revision ?? head
  const event = all.find((each) => each.revision === at)
  const stated = event === undefined ? undefined : statedRevision(event)
  // The moment of an answer is the context that the model saw when it wrote the answer.
  if (stated !== undefined) return { revision: stated, statedBy: event }
  return { revision: at, statedBy: all.find((each) => each.revision > at && statedRevision(each) === at) }
}

const newestStated = (events: readonly RecordedEvent[]): RecordedEvent | undefined =>
  events.findLast((event) => isOfType(event, 'MessageAppended') && event.data.answers !== undefined) ??
  events.findLast((event) => statedRevision(event) !== undefined)

const placeOf = ({ stream, revision }: Pick<StoredEvent, 'stream' | 'revision'>): EvidencePlace => ({
  stream,
  revision: revision.toString(),
})

const summaryOf = ({ batchId, recorded, chunk, observed, sources }: BatchOrigin): EvidenceSummary => ({
  batchId,
  recorded: placeOf(recorded),
  ...(chunk === undefined ? {} : { chunk: placeOf(chunk.recorded) }),
  ...(observed === undefined ? {} : { observed: placeOf(observed.recorded) }),
  sources: sources.map(summaryOf),
})

function* placesOf({ recorded, chunk, observed, sources }: EvidenceSummary): Generator<EvidencePlace> {
  yield recorded
  if (chunk !== undefined) yield chunk
  if (observed !== undefined) yield observed
  for (const source of sources) yield* placesOf(source)
}

/** The events outside the conversation's stream that its summaries refer to: prompts, and events of editions. */
async function referredEvents(
  { store }: Log,
  stream: string,
  summaries: readonly EvidenceSummary[],
  promptHashes: readonly string[],
): Promise<StoredEvent[]> {
  const revisionsByStream = new Map<string, Set<number>>(promptHashes.map((hash) => [promptStream(hash), new Set([0])]))
  for (const sourcePlace of summaries.flatMap((summary) => [...placesOf(summary)])) {
    if (sourcePlace.stream === stream) continue
    const revisions = revisionsByStream.get(sourcePlace.stream) ?? new Set()
    revisionsByStream.set(sourcePlace.stream, revisions.add(Number(sourcePlace.revision)))
  }
  const found: StoredEvent[] = []
  for (const [name, revisions] of revisionsByStream) found.push(...(await store.readRevisions(name, [...revisions])))
  return found
}

/** The checkpoint for a number of leaves. Throws if the stored tree has another root. */
async function checkpointFor(
  log: EvidenceLog,
  reader: TreeReader,
  leaves: number,
  size: number | undefined,
): Promise<RecordedCheckpoint> {
  const checkpoints = await listCheckpoints(log)
  const found = checkpoints.find((each) => (size === undefined ? each.size >= leaves : each.size === size))
  if (found === undefined || found.size < leaves)
    throw proofError(
      'NoSuchCheckpoint',
      size === undefined
        ? 'no checkpoint covers this moment: create one with `checkpoint create`'
        : `the ledger has no checkpoint of ${String(size)} events that covers this moment: \`checkpoint list\` shows them`,
    )
  await checkedRoot(reader, found)
  return found
}

/** Hashes that proofs share, each once. */
class NodeList {
  readonly nodes: string[] = []
  private readonly indexes = new Map<string, number>()

  indexOf(hash: Buffer): number {
    const text = hash.toString('base64')
    const known = this.indexes.get(text)
    if (known !== undefined) return known
    this.indexes.set(text, this.nodes.length)
    return this.nodes.push(text) - 1
  }
}

async function evidenceEvents(
  log: EvidenceLog,
  reader: TreeReader,
  leaves: readonly Leaf[],
  size: number,
): Promise<Pick<Evidence, 'nodes' | 'events'>> {
  const list = new NodeList()
  const events: EvidenceEvent[] = []
  for (const { stored, record, leaf } of leaves) {
    const claim = claimOf(stored)
    const body = claim === undefined ? undefined : await log.bodies.get(claim)
    const proof: number[] = []
    for (const range of inclusionRanges(leaf, size)) proof.push(list.indexOf(await reader.hashOf(range)))
    events.push({ leaf, record, ...(body === undefined ? {} : { body }), proof })
  }
  return { nodes: list.nodes, events }
}

function contextPart(
  { revision, messages, messageIds, adapted = [], viewAt }: Context,
  statedBy: RecordedEvent | undefined,
): Evidence['context'] {
  return {
    revision: revision.toString(),
    text: canonicalJson(messages),
    messageIds: messageIds.map((id) => id ?? null),
    adapted: [...new Set([...adapted, ...(viewAt === undefined ? [] : [viewAt])])].toSorted((a, b) => a - b),
    ...(statedBy === undefined ? {} : { statedBy: placeOf(statedBy) }),
  }
}

/** Summaries in the context of a state, and the hashes of the prompts that they were made with. */
async function summariesOf(
  log: Log,
  state: Conversation,
): Promise<{ readonly summaries: EvidenceSummary[]; readonly promptHashes: string[] }> {
  const { batches, prompts } = await explainView(log, state, false)
  return {
    summaries: batches.map(summaryOf),
    promptHashes: prompts.flatMap(({ sha256, text }) => (text === undefined ? [] : [sha256])),
  }
}

/** Gathers the evidence of a moment of an existing conversation. The Left is a state without a context. */
export async function gatherEvidence(
  log: EvidenceLog,
  { conversationId, revision: requested, size }: EvidenceRequest,
): Promise<E.Either<NoContext, Evidence>> {
  const stream = conversationStream(conversationId)
  const all = await readEvents(log, stream)
  const { revision, statedBy } = momentOf(all, requested)
  const state = await loadConversation(log, conversationId, revision)
  const context = contextOf(state)
  if (E.isLeft(context)) return context
  const last = statedBy === undefined || statedBy.revision < revision ? revision : statedBy.revision
  const included = all.filter(({ event }) => event.revision <= last).map(({ stored }) => stored)
  const { summaries, promptHashes } = await summariesOf(log, state)
  const reader = new TreeReader(log.proofs)
  const leaves: Leaf[] = []
  for (const stored of [...included, ...(await referredEvents(log, stream, summaries, promptHashes))])
    leaves.push(await leafOfEvent(reader, stored))
  const covered = leaves.reduce((most, { leaf }) => Math.max(most, leaf + 1), 0)
  const checkpoint = await checkpointFor(log, reader, covered, size)
  const { note, verifierKeys, timeStamp, createdAt } = checkpoint
  return E.right({
    format: EVIDENCE_FORMAT,
    version: EVIDENCE_VERSION,
    conversationId,
    checkpoint: {
      note,
      verifierKeys,
      ...(timeStamp === undefined ? {} : { timeStamp: Buffer.from(timeStamp).toString('base64') }),
    },
    ...(await evidenceEvents(log, reader, leaves, checkpoint.size)),
    context: contextPart(context.right, statedBy),
    summaries,
    unsigned: { signedAt: createdAt },
  })
}
