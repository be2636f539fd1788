/**
 * Compares an edition with the active batches, or with another edition: the same messages, both as of the last event of
 * the conversation that the edition has seen. The result is recorded in the edition's stream, once for each state of
 * it.
 */
import { either as E } from 'fp-ts'
import { encodeData, type Provenance } from '../../domain/events/codec.js'
import { contextOf } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { observedParts } from '../../domain/conversation/observed.js'
import { lossKinds, type EventData, type RecordedEvent, type SummarizerRecord } from '../../domain/events/index.js'
import { canonicalJson } from '../../domain/values/hash.js'
import { contentText } from '../../domain/values/message.js'
import { conversationStream, EDITION_PREFIX, editionOf, editionStream } from '../../domain/values/ids.js'
import { createLossReport, sideOf, textOf } from '../../domain/reports/loss-report.js'
import type { Claims } from '../../ports/claims.js'
import type { Clock } from '../../ports/clock.js'
import { textChanges, type TextChange } from '../history/difference.js'
import { holdEdition } from './edition-claim.js'
import { createEditionConversation } from './edition-conversations.js'
import { evidenceReach, type EvidenceMessage, type LabelledQuestion } from './evidence-reach.js'
import { decodeEvent, isOfType, isUnreadableEvent } from '../recording/read-event.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { loadConversation, loadEdition, seeUntil, type Log } from '../recording/load-conversation.js'
import { isDropped } from './replay-conversation.js'
import type { SearchPorts } from '../search/search.js'

export type { LabelledQuestion } from './evidence-reach.js'

/** A recorded comparison. */
export type EditionReport = EventData<'EditionCompared'>
export type Figures = EditionReport['figures']['edition']
type BothSides<T> = { readonly against: T; readonly edition: T }

/** The comparison of one conversation. */
export interface EditionComparison {
  /** The conversation. */
  readonly conversationId: string
  /** The content that the edition keeps, shows and loses. */
  readonly report: EditionReport
  /** The text changes from the view of the other side to the edition's. */
  readonly view: readonly TextChange[]
  /** False if the same comparison was recorded before. */
  readonly recorded: boolean
}

type LevelCounts = EditionReport['losses'][number]['edition']

/** The totals of all conversations. */
export interface ComparisonTotals {
  /** Conversations that were compared. */
  readonly conversations: number
  /** Sums, except `depth`, which is the maximum. */
  readonly figures: BothSides<Figures>
  /** Counts of kept, shown, lost and gained items, by kind. */
  readonly losses: readonly ({
    readonly kind: EditionReport['losses'][number]['kind']
    readonly total: number
    readonly lost: LevelCounts
    readonly gained: LevelCounts
  } & BothSides<LevelCounts>)[]
  /** The same for the evidence of labelled questions; absent without questions. */
  readonly evidence?: {
    readonly questions: number
    readonly total: number
    readonly lost: number
    readonly gained: number
  } & BothSides<number>
}

/**
 * Why a conversation with the edition was skipped when all were requested: the edition was dropped there, the other
 * edition does not exist in it, or an event cannot be read.
 */
export type SkippedConversation = {
  /** The conversation. */
  readonly conversationId: string
} & (
  | {
      /** The reason. */
      readonly kind: 'EditionIsDropped' | 'NoSuchEdition'
      /** The edition that is missing or dropped. */
      readonly editionId: string
    }
  | {
      readonly kind: 'UnreadableLog'
      /** The event and the error. */
      readonly detail: string
    }
)

/** The comparisons of an edition, by conversation and in total. */
export interface EditionComparisons {
  /** The edition. */
  readonly editionId: string
  /** The other side: an edition's id, or `in-force`. */
  readonly against: string
  /** Each compared conversation. */
  readonly conversations: readonly EditionComparison[]
  /** Skipped conversations, if all were requested. A conversation that is named is compared or rejected. */
  readonly skipped: readonly SkippedConversation[]
  /** The totals. */
  readonly totals: ComparisonTotals
}

export type CompareFailure =
  | CommandFailure
  /** In no conversation. */
  | { readonly kind: 'NoSuchEdition'; readonly editionId: string; readonly conversationId?: undefined }
  | SkippedConversation
  /** Another process is building it. */
  | { readonly kind: 'EditionBusy'; readonly editionId: string; readonly conversationId: string }

export interface CompareDependencies {
  readonly log: Log
  readonly clock: Clock
  readonly claims: Claims
  readonly search: SearchPorts
  readonly actor: string
}

/** The other side if no edition is named. */
export const IN_FORCE = 'in-force'

export interface CompareRequest {
  /**
   * Default: every conversation with the edition, except those in which it was dropped or the other edition does not
   * exist.
   */
  readonly conversationIds?: readonly string[] | undefined
  readonly editionId: string
  /**
   * Another edition, or (the default) the active batches as of the last event of the conversation that the edition has
   * seen.
   */
  readonly against?: string | undefined
  /** Questions without evidence in the conversations are ignored. */
  readonly questions?: readonly LabelledQuestion[] | undefined
  /** False: only returns the result. Default true. */
  readonly record?: boolean | undefined
  readonly onConversation?: ((done: number, of: number) => void) | undefined
}

interface TokensBought {
  calls: number
  tokens: number
}

/** The number of requests of a summary: those with rejected answers, and the one that brought it if it is another. */
function requestsOf({
  requestHash,
  answeredRequestHash = requestHash,
  rejectedAnswers = [],
}: SummarizerRecord): number {
  const isShortened = rejectedAnswers.some((answer) => answer.requestHash === answeredRequestHash)
  return rejectedAnswers.length + (isShortened ? 0 : 1)
}

/** Adds the cost of an event. A reused summary costs nothing. */
function addBought(bought: TokensBought, event: RecordedEvent): void {
  const add = (calls: number, usages: readonly SummarizerRecord['usage'][]): void => {
    bought.calls += calls
    for (const usage of usages) bought.tokens += (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0)
  }
  if (isOfType(event, 'CompactionFailed')) {
    const { rejectedAnswers = [] } = event.data
    add(
      rejectedAnswers.length,
      rejectedAnswers.map(({ usage }) => usage),
    )
  } else if (isOfType(event, 'ChunkSummarized', 'BatchesResummarized')) {
    const { summarizer } = event.data
    if (summarizer.reused !== true && summarizer.fallback !== true) add(requestsOf(summarizer), [summarizer.usage])
  }
}

/** The summaries in the context: the view, or the messages that another program inserted as its summary. */
function shownSummaries(state: Conversation): { readonly text: string | undefined; readonly tokens: number } {
  if (state.observed === undefined) return { text: state.view?.text, tokens: state.view?.tokens ?? 0 }
  const summaries = observedParts(state).filter(({ isSummary }) => isSummary === true)
  return {
    text: summaries.length === 0 ? undefined : summaries.map(({ body }) => contentText(body.content)).join('\n'),
    tokens: summaries.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

/** The sizes of a state in tokens and counts, with the calls and tokens of its summaries. */
export function figuresOf(state: Conversation, { calls, tokens }: TokensBought): Figures {
  const context = contextOf(state)
  return {
    contextTokens: E.isRight(context) ? context.right.tokens : state.tokens,
    viewTokens: shownSummaries(state).tokens,
    batches: state.batches.length,
    depth: state.batches.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
    cycles: state.cycles,
    messagesCompressed: state.messagesCompressed,
    calls,
    tokensBought: tokens,
  }
}

const linesOf = (view: readonly TextChange[], kind: TextChange['kind']): number =>
  view
    .filter((change) => change.kind === kind)
    .reduce((sum, { text }) => sum + text.replace(/\n$/u, '').split('\n').length, 0)

/** An edition as its stream has it. */
interface StoredEdition {
  readonly state: Conversation
  /** Revision of its last event, apart from comparisons. */
  readonly revision: number
  readonly bought: TokensBought
  readonly dropped: boolean
  /** The comparisons of its current state. */
  readonly compared: readonly EditionReport[]
}

/** Reads an edition of one conversation; undefined if it does not exist. */
export async function storedEdition(
  log: Log,
  conversationId: string,
  editionId: string,
): Promise<StoredEdition | undefined> {
  const state = await loadEdition(log, conversationId, editionId)
  if (state.configuration === undefined) return undefined
  const bought: TokensBought = { calls: 0, tokens: 0 }
  let compared: EditionReport[] = []
  let last: RecordedEvent | undefined
  for await (const stored of log.store.readStream(editionStream(editionId, conversationId), {
    limit: state.revision + 1,
  })) {
    const event = await decodeEvent(stored, log)
    addBought(bought, event)
    if (isOfType(event, 'EditionCompared')) compared.push(event.data)
    else {
      compared = []
      last = event
    }
  }
  return {
    state,
    revision: last?.revision ?? state.revision,
    bought,
    dropped: last?.type === 'EditionDropped',
    compared,
  }
}

/** The ids of the conversations that have an edition. */
async function conversationsOfEdition(log: Log, editionId: string): Promise<string[]> {
  const ids: string[] = []
  for await (const stream of log.store.streams(`${EDITION_PREFIX}${editionId}-`)) {
    const edition = editionOf(stream)
    if (edition !== undefined) ids.push(edition.conversationId)
  }
  return ids
}

const isSkipped = (failure: CompareFailure): failure is SkippedConversation =>
  failure.kind === 'EditionIsDropped' ||
  failure.kind === 'UnreadableLog' ||
  (failure.kind === 'NoSuchEdition' && failure.conversationId !== undefined)

const pinnedIn = ({ retained, window }: Conversation): string[] =>
  [...retained, ...window].flatMap(({ messageId, pinned }) => (pinned ? [messageId] : []))

/** Turns an unreadable event into a failure of this conversation, so that the others are still compared. */
async function readable<A>(
  conversationId: string,
  work: Promise<E.Either<CompareFailure, A>>,
): Promise<E.Either<CompareFailure, A>> {
  try {
    return await work
  } catch (error) {
    if (!isUnreadableEvent(error)) throw error
    return E.left({ kind: 'UnreadableLog', conversationId, detail: error.message })
  }
}

/** How often a comparison is repeated if the edition changed meanwhile. */
const ATTEMPTS = 5

class Comparing {
  constructor(private readonly deps: CompareDependencies) {}

  async run(request: CompareRequest): Promise<E.Either<CompareFailure, EditionComparisons>> {
    const { editionId, against = IN_FORCE } = request
    const conversationIds = request.conversationIds ?? (await conversationsOfEdition(this.deps.log, editionId))
    if (conversationIds.length === 0) return E.left({ kind: 'NoSuchEdition', editionId })
    // A named conversation that cannot be compared is reported before anything is recorded for the others.
    for (const conversationId of request.conversationIds ?? []) {
      const refusal = await this.refusalOf(conversationId, request)
      if (refusal !== undefined) return E.left(refusal)
    }
    const conversations: EditionComparison[] = []
    const skipped: SkippedConversation[] = []
    for (const conversationId of conversationIds) {
      const compared = await readable(conversationId, this.compareAndRecord(conversationId, request))
      if (E.isRight(compared)) conversations.push(compared.right)
      else if (request.conversationIds === undefined && isSkipped(compared.left)) skipped.push(compared.left)
      else return compared
      request.onConversation?.(conversations.length + skipped.length, conversationIds.length)
    }
    const [first] = skipped
    if (conversations.length === 0 && first !== undefined) return E.left(first)
    return E.right({
      editionId,
      against,
      conversations,
      skipped,
      totals: totalsOf(conversations.map(({ report }) => report)),
    })
  }

  /** Why a conversation cannot be compared, determined without comparing it. */
  private async refusalOf(
    conversationId: string,
    { editionId, against = IN_FORCE }: CompareRequest,
  ): Promise<SkippedConversation | undefined> {
    for (const id of against === IN_FORCE ? [editionId] : [editionId, against]) {
      if ((await this.deps.log.store.streamRevision(editionStream(id, conversationId))) < 0)
        return { kind: 'NoSuchEdition', editionId: id, conversationId }
    }
    return (await isDropped(this.deps.log, conversationId, editionId))
      ? { kind: 'EditionIsDropped', editionId, conversationId }
      : undefined
  }

  /** The other side as of the edition's conversation revision, with its recorded cost. */
  private async otherSide(
    conversationId: string,
    against: string,
    edition: Conversation,
  ): Promise<
    E.Either<CompareFailure, { state: Conversation; bought: TokensBought; editionRevision: number | undefined }>
  > {
    if (against !== IN_FORCE) {
      const otherEdition = await storedEdition(this.deps.log, conversationId, against)
      if (otherEdition === undefined) return E.left({ kind: 'NoSuchEdition', editionId: against, conversationId })
      // Messages that it has not seen yet are live in it, as in the context of an agent that uses it.
      return E.right({
        state: await seeUntil(this.deps.log, otherEdition.state, edition.conversationRevision),
        bought: otherEdition.bought,
        editionRevision: otherEdition.revision,
      })
    }
    const state = await loadConversation(this.deps.log, conversationId, edition.conversationRevision)
    const adopted =
      state.lineage?.edition === undefined
        ? undefined
        : await storedEdition(this.deps.log, conversationId, state.lineage.edition.editionId)
    return E.right({ state, bought: { ...(adopted?.bought ?? { calls: 0, tokens: 0 }) }, editionRevision: undefined })
  }

  private async compareOne(
    conversationId: string,
    { editionId, against = IN_FORCE, questions }: CompareRequest,
  ): Promise<E.Either<CompareFailure, EditionComparison & { readonly stored: StoredEdition }>> {
    const stored = await storedEdition(this.deps.log, conversationId, editionId)
    if (stored === undefined) return E.left({ kind: 'NoSuchEdition', editionId, conversationId })
    if (stored.dropped) return E.left({ kind: 'EditionIsDropped', editionId, conversationId })
    const found = await this.otherSide(conversationId, against, stored.state)
    if (E.isLeft(found)) return found
    const { state: other, bought, editionRevision } = found.right
    // Of two editions, the one that lags is advanced to the revision of the other.
    const edition = await seeUntil(this.deps.log, stored.state, other.conversationRevision)
    const sides = { against: sideOf(other), edition: sideOf(edition) }
    const losses = createLossReport(sides.against, sides.edition, new Set([...pinnedIn(other), ...pinnedIn(edition)]))
    const messages: EvidenceMessage[] = []
    for await (const storedEvent of this.deps.log.store.readStream(conversationStream(conversationId), {
      limit: edition.conversationRevision + 1,
    })) {
      const event = await decodeEvent(storedEvent, this.deps.log)
      if (against === IN_FORCE) addBought(bought, event)
      if (!isOfType(event, 'MessageAppended')) continue
      losses.add(event.data)
      if (questions !== undefined)
        messages.push({ messageId: event.data.messageId, revision: event.revision, text: textOf(event.data) })
    }
    const evidence =
      questions === undefined
        ? undefined
        : await evidenceReach(
            this.deps.search,
            { against: { state: other, side: sides.against }, edition: { state: edition, side: sides.edition } },
            questions,
            messages,
          )
    const view = textChanges(shownSummaries(other).text, shownSummaries(edition).text)
    const report: EditionReport = {
      editionId,
      editionRevision: stored.revision,
      ...(editionRevision === undefined ? {} : { against: { editionId: against, editionRevision } }),
      conversationRevision: edition.conversationRevision,
      figures: { against: figuresOf(other, bought), edition: figuresOf(edition, stored.bought) },
      viewLines: { same: linesOf(view, 'same'), removed: linesOf(view, 'removed'), added: linesOf(view, 'added') },
      losses: losses.result(),
      ...(evidence === undefined ? {} : { evidence }),
    }
    return E.right({ conversationId, report, view, recorded: false, stored })
  }

  /** Compares and records the result; repeats both if the edition changed meanwhile. */
  private async compareAndRecord(
    conversationId: string,
    request: CompareRequest,
  ): Promise<E.Either<CompareFailure, EditionComparison>> {
    const { editionId } = request
    const correlationId = this.deps.clock.newId()
    const provenance: Provenance = { actor: this.deps.actor, correlationId, causationId: correlationId }
    for (let tries = 1; ; tries += 1) {
      const compared = await this.compareOne(conversationId, request)
      if (E.isLeft(compared)) return compared
      const { stored, ...comparison } = compared.right
      if (request.record === false) return E.right(comparison)
      const known = (report: EditionReport): string =>
        canonicalJson(JSON.parse(encodeData({ type: 'EditionCompared', data: report })))
      if (stored.compared.some((before) => known(before) === known(comparison.report))) return E.right(comparison)
      // A process that builds an edition holds its lease: an event of ours in between would stop it.
      const lease = await holdEdition(this.deps.claims, editionId, conversationId, correlationId)
      if (lease === undefined) return E.left({ kind: 'EditionBusy', editionId, conversationId })
      try {
        const stream = createEditionConversation(
          { log: this.deps.log, clock: this.deps.clock, recording: true },
          stored.state,
          stored.state.conversationRevision,
        )
        const recorded = await stream.handle(
          conversationId,
          [{ type: 'RecordComparison', report: comparison.report }],
          provenance,
        )
        if (E.isRight(recorded)) return E.right({ ...comparison, recorded: true })
        if (recorded.left.kind !== 'RevisionConflict' || tries === ATTEMPTS) return recorded
      } finally {
        await lease.release()
      }
    }
  }
}

export const createCompareEditions =
  (deps: CompareDependencies) =>
  async (request: CompareRequest): Promise<E.Either<CompareFailure, EditionComparisons>> =>
    await new Comparing(deps).run(request)

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

/** The totals of all reports. */
export function totalsOf(reports: readonly EditionReport[]): ComparisonTotals {
  const figures = (side: 'against' | 'edition'): Figures => {
    const each = reports.map((report) => report.figures[side])
    const of = (key: keyof Figures): number => sum(each.map((one) => one[key]))
    return {
      contextTokens: of('contextTokens'),
      viewTokens: of('viewTokens'),
      batches: of('batches'),
      depth: Math.max(0, ...each.map(({ depth }) => depth)),
      cycles: of('cycles'),
      messagesCompressed: of('messagesCompressed'),
      calls: of('calls'),
      tokensBought: of('tokensBought'),
    }
  }
  const losses = lossKinds.map((kind) => {
    const each = reports.flatMap((report) => report.losses.filter((one) => one.kind === kind))
    const levels = (of: (one: EditionReport['losses'][number]) => LevelCounts): LevelCounts => ({
      kept: sum(each.map((one) => of(one).kept)),
      shown: sum(each.map((one) => of(one).shown)),
    })
    return {
      kind,
      total: sum(each.map(({ total }) => total)),
      against: levels((one) => one.against),
      edition: levels((one) => one.edition),
      lost: levels(({ lost }) => ({ kept: lost.kept.count, shown: lost.shown.count })),
      gained: levels(({ gained }) => ({ kept: gained.kept.count, shown: gained.shown.count })),
    }
  })
  const evidence = reports.flatMap((report) => report.evidence ?? [])
  return {
    conversations: reports.length,
    figures: { against: figures('against'), edition: figures('edition') },
    losses,
    ...(evidence.length === 0
      ? {}
      : {
          evidence: {
            questions: sum(evidence.map(({ questions }) => questions)),
            total: sum(evidence.map(({ total }) => total)),
            against: sum(evidence.map(({ against }) => against)),
            edition: sum(evidence.map(({ edition }) => edition)),
            lost: sum(evidence.map(({ lost }) => lost.count)),
            gained: sum(evidence.map(({ gained }) => gained.count)),
          },
        }),
  }
}
