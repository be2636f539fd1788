/**
 * Which of the messages that labelled questions ask for the agent can still reach. It reaches a message that is live in
 * the context, whose words stand in the view, or that is among the first ten hits of its own search. The batches
 * searched are those of a given state, in force or not, so the read model is asked for messages only.
 */
import { summaryOf } from '../domain/conversation/batch.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { EventData } from '../domain/events/index.js'
import { createSaid, listOf, type LossItem, type ComparedSide } from '../domain/reports/loss-report.js'
import { sentencesOf } from '../domain/text/sentences.js'
import { termCounts } from '../domain/text-search/terms.js'
import type { ArchiveIndex, BatchCandidate, BatchRow } from '../ports/archive-index.js'
import { search, type SearchPorts } from '../search/search.js'

/** A question, and the messages that its answer stands in. */
export interface LabelledQuestion {
  /** The question. */
  readonly question: string
  /** Ids of the messages that answer it. */
  readonly evidence: readonly string[]
}

/** A message of the conversation, as far as evidence is concerned. */
export interface EvidenceMessage {
  readonly messageId: string
  readonly revision: bigint
  readonly text: string
}

/** One side: its state, and what it says. */
export interface ReachSide {
  readonly state: Conversation
  readonly side: ComparedSide
}

type Evidence = NonNullable<EventData<'EditionCompared'>['evidence']>

/** As the labels are scored: so many distinct messages, best first. */
const PLACES = 10
/** Of a message's sentences so many have to stand in the view. */
const SHARE_OF_SENTENCES = 0.5

function candidatesOf({ conversationId, batches }: Conversation): BatchCandidate[] {
  return batches.map((batch) => {
    const { counts, length } = termCounts(summaryOf(batch))
    // The read model tells once from more than once, and so does this.
    return {
      conversationId,
      batchId: batch.batchId,
      firstRevision: Number(batch.firstRevision),
      lastRevision: Number(batch.lastRevision),
      length,
      count: (term) => Math.min(2, counts.get(term) ?? 0),
    }
  })
}

/** The index, as if the batches of this state were the ones in force. */
function indexOver(
  index: ArchiveIndex,
  { state, side }: ReachSide,
  messages: readonly EvidenceMessage[],
): ArchiveIndex {
  const candidates = candidatesOf(state)
  const known = new Map(state.batches.map((batch) => [batch.batchId, batch]))
  const rowOf = (batchId: string): BatchRow[] => {
    const batch = known.get(batchId)
    if (batch === undefined) return []
    const { firstRevision, lastRevision, startTime, endTime } = batch
    const covered = messages.filter(
      ({ messageId, revision }) =>
        revision >= firstRevision && revision <= lastRevision && !side.liveIds.has(messageId),
    )
    return [
      {
        conversationId: state.conversationId,
        batchId,
        messageIds: covered.map(({ messageId }) => messageId),
        firstRevision: Number(firstRevision),
        lastRevision: Number(lastRevision),
        startTime,
        endTime,
        text: summaryOf(batch),
      },
    ]
  }
  return {
    read: (work) =>
      index.read((reads) =>
        work({
          ...reads,
          batches: () => Promise.resolve(candidates),
          batchRows: (refs) => Promise.resolve(refs.flatMap(({ batchId }) => rowOf(batchId))),
        }),
      ),
  }
}

/** The first ten messages that the search gives for a question, beside what the agent sees anyway. */
async function found(ports: SearchPorts, { state, side }: ReachSide, question: string): Promise<ReadonlySet<string>> {
  const shownBatches = new Set(state.view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : [])))
  const { hits } = await search(ports, question, {
    within: { conversationId: state.conversationId },
    limit: PLACES + side.shownIds.size + shownBatches.size,
  })
  const unseen = hits.filter(
    (hit) =>
      hit.lastRevision <= state.conversationRevision &&
      (hit.kind === 'batch'
        ? !shownBatches.has(hit.batchId ?? '')
        : !hit.messageIds.every((id) => side.shownIds.has(id))),
  )
  return new Set([...new Set(unseen.flatMap(({ messageIds }) => messageIds))].slice(0, PLACES))
}

/** For each pair of a question and a message: whether this side comes by it. */
async function reached(
  ports: SearchPorts,
  one: ReachSide,
  asked: readonly LabelledQuestion[],
  messages: readonly EvidenceMessage[],
): Promise<ReadonlySet<string>> {
  const over = { ...ports, index: indexOver(ports.index, one, messages) }
  const view = createSaid(one.state.view?.parts.map((part) => part.text) ?? [])
  const texts = new Map(messages.map(({ messageId, text }) => [messageId, text]))
  const stands = (messageId: string): boolean => {
    const sentences = sentencesOf(texts.get(messageId) ?? '')
    return (
      sentences.length > 0 &&
      sentences.filter(({ text }) => view.sentence(text)).length >= sentences.length * SHARE_OF_SENTENCES
    )
  }
  const pairs = new Set<string>()
  for (const { question, evidence } of asked) {
    const hits = question.trim() === '' ? new Set<string>() : await found(over, one, question)
    for (const messageId of evidence)
      if (one.side.shownIds.has(messageId) || hits.has(messageId) || stands(messageId))
        pairs.add(pairOf(question, messageId))
  }
  return pairs
}

const pairOf = (question: string, messageId: string): string => JSON.stringify([question, messageId])

/** What each side comes by of the evidence that lies in this conversation; undefined where none does. */
export async function evidenceReach(
  ports: SearchPorts,
  sides: { readonly against: ReachSide; readonly edition: ReachSide },
  questions: readonly LabelledQuestion[],
  messages: readonly EvidenceMessage[],
): Promise<Evidence | undefined> {
  const known = new Set(messages.map(({ messageId }) => messageId))
  const asked = questions
    .map(({ question, evidence }) => ({ question, evidence: [...new Set(evidence)].filter((id) => known.has(id)) }))
    .filter(({ evidence }) => evidence.length > 0)
  if (asked.length === 0) return undefined
  const before = await reached(ports, sides.against, asked, messages)
  const after = await reached(ports, sides.edition, asked, messages)
  const items = [
    ...new Map(
      asked.flatMap(({ question, evidence }) =>
        evidence.map((messageId): [string, LossItem] => [
          pairOf(question, messageId),
          { text: question, messageId, mentions: 1 },
        ]),
      ),
    ),
  ]
  const only = (these: ReadonlySet<string>, those: ReadonlySet<string>): Evidence['lost'] =>
    listOf(items.flatMap(([key, item]) => (these.has(key) && !those.has(key) ? [item] : [])))
  return {
    questions: asked.length,
    total: items.length,
    against: before.size,
    edition: after.size,
    lost: only(before, after),
    gained: only(after, before),
  }
}
