/**
 * Determines which evidence of labelled questions the agent can still reach: messages that are live in the context,
 * messages with their words in the view, and messages among the first ten hits of the agent's search. The search uses
 * the batches of a given state, active or not, so the read model is queried for messages only.
 */
import { summaryOf } from '../../domain/conversation/batch.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { EventData } from '../../domain/events/index.js'
import { createTextIndex, listOf, type LossItem, type ComparedSide } from '../../domain/reports/loss-report.js'
import { sentencesOf } from '../../domain/text/sentences.js'
import { termCounts } from '../../domain/text/terms.js'
import type { ArchiveIndex, BatchCandidate, BatchRow } from '../../ports/archive-index.js'
import { search, type SearchPorts } from '../search/search.js'

/** A question, and the messages that contain its answer. */
export interface LabelledQuestion {
  /** The question. */
  readonly question: string
  /** Ids of the messages that answer it. */
  readonly evidence: readonly string[]
}

/** The data of a message that evidence needs. */
export interface EvidenceMessage {
  readonly messageId: string
  readonly revision: number
  readonly text: string
}

/** One side: its state and its texts. */
export interface ReachSide {
  readonly state: Conversation
  readonly side: ComparedSide
}

type Evidence = NonNullable<EventData<'EditionCompared'>['evidence']>

/** The number of distinct messages that count as found, best first, as in the scoring of the labels. */
const MOST_HITS = 10
/** The share of a message's sentences that must be in the view. */
const SHARE_OF_SENTENCES = 0.5

function candidatesOf({ conversationId, batches }: Conversation): BatchCandidate[] {
  return batches.map((batch) => {
    const { counts, length } = termCounts(summaryOf(batch))
    // The read model distinguishes only once and more than once, and so does this.
    return {
      conversationId,
      batchId: batch.batchId,
      firstRevision: batch.firstRevision,
      lastRevision: batch.lastRevision,
      length,
      count: (term) => Math.min(2, counts.get(term) ?? 0),
    }
  })
}

/** The index, with the batches of this state instead of the active ones. */
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
        firstRevision: firstRevision,
        lastRevision: lastRevision,
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

/** The first ten messages that the search returns for a question, without those that the context shows. */
async function found(ports: SearchPorts, { state, side }: ReachSide, question: string): Promise<ReadonlySet<string>> {
  const shownBatches = new Set(state.view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : [])))
  const { hits } = await search(ports, question, {
    within: { conversationId: state.conversationId },
    limit: MOST_HITS + side.shownIds.size + shownBatches.size,
  })
  const unseen = hits.filter(
    (hit) =>
      hit.lastRevision <= state.conversationRevision &&
      (hit.kind === 'batch'
        ? !shownBatches.has(hit.batchId ?? '')
        : !hit.messageIds.every((id) => side.shownIds.has(id))),
  )
  return new Set([...new Set(unseen.flatMap(({ messageIds }) => messageIds))].slice(0, MOST_HITS))
}

/** How the agent finds a message: in its context, or in the results of one search. */
type Way = 'context' | 'search'

/** How this side finds each pair of a question and a message. */
async function reached(
  ports: SearchPorts,
  one: ReachSide,
  questions: readonly LabelledQuestion[],
  messages: readonly EvidenceMessage[],
): Promise<ReadonlyMap<string, Way>> {
  const over = { ...ports, index: indexOver(ports.index, one, messages) }
  const view = createTextIndex(one.state.view?.parts.map((part) => part.text) ?? [])
  const texts = new Map(messages.map(({ messageId, text }) => [messageId, text]))
  const isInView = (messageId: string): boolean => {
    const sentences = sentencesOf(texts.get(messageId) ?? '')
    return (
      sentences.length > 0 &&
      sentences.filter(({ text }) => view.sentence(text)).length >= sentences.length * SHARE_OF_SENTENCES
    )
  }
  const pairs = new Map<string, Way>()
  for (const { question, evidence } of questions) {
    const hits = question.trim() === '' ? new Set<string>() : await found(over, one, question)
    for (const messageId of evidence)
      if (one.side.shownIds.has(messageId) || isInView(messageId)) pairs.set(pairOf(question, messageId), 'context')
      else if (hits.has(messageId)) pairs.set(pairOf(question, messageId), 'search')
  }
  return pairs
}

const pairOf = (question: string, messageId: string): string => JSON.stringify([question, messageId])

/** The questions with evidence in these messages, reduced to that evidence. */
function questionsWithin(
  questions: readonly LabelledQuestion[],
  messages: readonly EvidenceMessage[],
): LabelledQuestion[] {
  const known = new Set(messages.map(({ messageId }) => messageId))
  return questions
    .map(({ question, evidence }) => ({ question, evidence: [...new Set(evidence)].filter((id) => known.has(id)) }))
    .filter(({ evidence }) => evidence.length > 0)
}

/** How much of the labelled evidence one context has. Each level includes the one before it. */
export interface EvidenceCounts {
  /** Questions with evidence in the conversations. */
  readonly questions: number
  /** Questions with their whole evidence in the context. */
  readonly inContext: number
  /** Questions with their whole evidence in the context or among the first ten results of one search. */
  readonly withinReach: number
  /** The same for pairs of a question and one message of its evidence. */
  readonly messages: { readonly total: number; readonly inContext: number; readonly withinReach: number }
}

/** How much of the evidence in this conversation one side can reach; undefined without any. */
export async function evidenceOf(
  ports: SearchPorts,
  one: ReachSide,
  questions: readonly LabelledQuestion[],
  messages: readonly EvidenceMessage[],
): Promise<EvidenceCounts | undefined> {
  const labelled = questionsWithin(questions, messages)
  if (labelled.length === 0) return undefined
  const ways = await reached(ports, one, labelled, messages)
  const waysOf = labelled.map(({ question, evidence }) =>
    evidence.map((messageId) => ways.get(pairOf(question, messageId))),
  )
  const pairs = waysOf.flat()
  return {
    questions: labelled.length,
    inContext: waysOf.filter((each) => each.every((way) => way === 'context')).length,
    withinReach: waysOf.filter((each) => each.every((way) => way !== undefined)).length,
    messages: {
      total: pairs.length,
      inContext: pairs.filter((way) => way === 'context').length,
      withinReach: pairs.filter((way) => way !== undefined).length,
    },
  }
}

/** The evidence in this conversation that each side can reach; undefined without any. */
export async function evidenceReach(
  ports: SearchPorts,
  sides: { readonly against: ReachSide; readonly edition: ReachSide },
  questions: readonly LabelledQuestion[],
  messages: readonly EvidenceMessage[],
): Promise<Evidence | undefined> {
  const relevantQuestions = questionsWithin(questions, messages)
  if (relevantQuestions.length === 0) return undefined
  const before = await reached(ports, sides.against, relevantQuestions, messages)
  const after = await reached(ports, sides.edition, relevantQuestions, messages)
  const items = [
    ...new Map(
      relevantQuestions.flatMap(({ question, evidence }) =>
        evidence.map((messageId): [string, LossItem] => [
          pairOf(question, messageId),
          { text: question, messageId, mentions: 1 },
        ]),
      ),
    ),
  ]
  const only = (these: ReadonlyMap<string, Way>, those: ReadonlyMap<string, Way>): Evidence['lost'] =>
    listOf(items.flatMap(([key, item]) => (these.has(key) && !those.has(key) ? [item] : [])))
  return {
    questions: relevantQuestions.length,
    total: items.length,
    against: before.size,
    edition: after.size,
    lost: only(before, after),
    gained: only(after, before),
  }
}
