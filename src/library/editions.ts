/** Editions as the library offers them: parsed, handed to the use cases, and thrown where these say no. */
import {
  editionById,
  listEditions,
  type EditionOfConversation as EditionRow,
} from '../../projections/read-models/editions/queries.js'
import { parsePrices } from '../domain/reports/prices.js'
import { conversationStream } from '../domain/values/ids.js'
import { adoptEdition, dropEdition, type AdoptDependencies } from '../application/editions/adopt.js'
import { createCompareEditions, IN_FORCE } from '../application/editions/compare.js'
import { estimateReplay } from '../application/editions/estimate.js'
import { putIntoForceBy, type EditionChange } from '../application/editions/edition-change.js'
import { replay } from '../application/editions/replay.js'
import { revertEdition } from '../application/editions/undo-and-revert.js'
import type { SpendingLimits } from '../ports/spending.js'
import type { Conversations, Handled } from '../application/recording/handle-command.js'
import type { SearchPorts } from '../application/search/search.js'
import { createEditionNames } from './edition-names.js'
import { WAIT, type Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { CompareEditionsOptions, EditionsCompared } from './ledger.js'
import type {
  AdoptOptions,
  Edition,
  EditionBound,
  EditionOfConversation,
  EditionRequest,
  Editions,
  EstimateOptions,
  Price,
  ReplayOptions,
} from './ledger-editions.js'
import type { Lookup } from './lookup.js'
import {
  ACTOR,
  bad,
  conversationsGiven,
  listenerGiven,
  readFrom,
  optionsGiven,
  settingsOf,
  signalGiven,
  wholeNumberGiven,
  type Names,
} from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export const BOUND: Names<EditionBound> = { maxTokens: true, maxCost: true }
const REQUEST: Names<EditionRequest & Pick<ReplayOptions, 'signal'>> = {
  conversations: true,
  policy: true,
  price: true,
  signal: true,
}
const ESTIMATE: Names<EstimateOptions> = { ...REQUEST, editionId: true }
const REPLAY: Names<ReplayOptions> = { ...REQUEST, ...BOUND, ...ACTOR, concurrency: true, onProgress: true }
const ADOPT: Names<AdoptOptions> = { ...BOUND, ...ACTOR, policy: true, price: true, signal: true }
const COMPARE: Names<CompareEditionsOptions> = {
  ...WAIT,
  ...ACTOR,
  against: true,
  questions: true,
  record: true,
  onConversation: true,
}

/** The price of a model, checked; throws if it is wrong. */
export const priceGiven = (price: Price | undefined): Price | undefined =>
  price === undefined
    ? undefined
    : valueOf(
        readFrom('price', () => parsePrices({ price })),
        ({ field, detail }) => bad(field, detail),
      )['price']

export const MICROS = 1_000_000

/** Throws if a bound is not a number above 0. */
export function checkBound({ maxTokens, maxCost }: EditionBound): void {
  wholeNumberGiven('maxTokens', maxTokens, 1)
  if (maxCost !== undefined && !(Number.isFinite(maxCost) && maxCost > 0))
    throw bad('maxCost', 'must be a number above 0')
}

function boundOf({ maxTokens, maxCost }: EditionBound, price: Price | undefined): SpendingLimits {
  checkBound({ ...(maxTokens === undefined ? {} : { maxTokens }), ...(maxCost === undefined ? {} : { maxCost }) })
  if (maxCost !== undefined && price === undefined) throw bad('maxCost', 'needs the price of the model')
  return {
    ...(maxTokens === undefined ? {} : { tokens: maxTokens }),
    ...(maxCost === undefined || price === undefined ? {} : { cost: { micros: Math.floor(maxCost * MICROS), price } }),
  }
}

export interface EditionsParts extends Pick<LedgerParts, 'db' | 'onProblem'>, Omit<AdoptDependencies, 'conversations'> {
  readonly conversations: Conversations
  readonly searchPorts: SearchPorts
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

/** Builds the part of the ledger that is about editions. */
export function createEditions(parts: EditionsParts): Editions & EditionsCompared {
  const { log, db, conversations, spending, onProblem, searchPorts, gate, freshness, lookup, provenanceOf } = parts
  const { existing, editionNamed, editionOf } = createEditionNames(parts)

  /** The ids of conversations that are all there. */
  async function idsOf(given: EditionRequest['conversations'] | undefined): Promise<readonly string[]> {
    const request = conversationsGiven('conversations', given)
    if (request === 'all') return await lookup.all()
    for (const conversationId of request) await existing(conversationId)
    return request
  }

  /** The conversations that have an edition and did not drop it. */
  async function adoptable(editionId: string): Promise<readonly string[]> {
    return (await editionById(db, editionId))
      .filter(({ state }) => state !== 'dropped')
      .map(({ conversationId }) => conversationId)
  }

  async function withSpending(summaries: Awaited<ReturnType<typeof listEditions>>): Promise<Edition[]> {
    const editions: Edition[] = []
    for (const edition of summaries) editions.push({ ...edition, spent: await spending.spentOn(edition.editionId) })
    return editions
  }

  async function withHead(row: EditionRow): Promise<EditionOfConversation> {
    return { ...row, conversationHead: await log.store.streamRevision(conversationStream(row.conversationId)) }
  }

  async function putIntoForce(handled: Handled, editionId: string): Promise<EditionChange> {
    freshness.recordedHere(handled)
    freshness.follow()
    return await putIntoForceBy(log, handled, editionId)
  }

  return {
    async estimate(given) {
      gate.open()
      const {
        conversations: request,
        policy,
        signal,
        editionId: name,
        ...rest
      } = optionsGiven('editions.estimate', given, ESTIMATE)
      signalGiven(signal)
      const price = priceGiven(rest.price)
      const editionId = name === undefined ? undefined : await editionNamed(name)
      const conversationIds =
        editionId !== undefined && conversationsGiven('conversations', request) === 'all'
          ? await adoptable(editionId)
          : await idsOf(request)
      return await estimateReplay(parts, { conversationIds, settings: settingsOf(policy), price, signal, editionId })
    },
    async replay(given) {
      gate.writes('editions.replay')
      const {
        conversations: request,
        policy,
        concurrency,
        signal,
        onProgress,
        ...rest
      } = optionsGiven('editions.replay', given, REPLAY)
      signalGiven(signal)
      const listener = listenerGiven('onProgress', onProgress, onProblem)
      const price = priceGiven(rest.price)
      const bound = boundOf(rest, price)
      const { actor } = provenanceOf(rest)
      wholeNumberGiven('concurrency', concurrency, 1)
      return await replay(
        { ...parts, actor },
        {
          conversationIds: await idsOf(request),
          settings: settingsOf(policy),
          bound,
          price,
          concurrency,
          signal,
          onProgress: listener,
        },
      )
    },
    async list() {
      await freshness.rowsAtHead()
      return await withSpending(await listEditions(db))
    },
    async show(given) {
      const editionId = await editionNamed(given)
      await freshness.rowsAtHead()
      const [edition] = await withSpending(await listEditions(db, editionId))
      if (edition === undefined) throw problem({ kind: 'NoSuchEdition', editionId })
      const found: EditionOfConversation[] = []
      for (const row of await editionById(db, editionId)) found.push(await withHead(row))
      return { ...edition, conversations: found }
    },
    async adopt(conversationId, given, options) {
      gate.writes('editions.adopt')
      const { policy, signal, ...rest } = optionsGiven('editions.adopt', options, ADOPT)
      signalGiven(signal)
      const bound = boundOf(rest, priceGiven(rest.price))
      const provenance = provenanceOf(rest)
      await existing(conversationId)
      const editionId = await editionOf(given, conversationId)
      const request = {
        conversationId,
        editionId,
        settings: settingsOf(policy),
        bound,
        signal,
        provenance,
      }
      const deps = { ...parts, actor: provenance.actor }
      return await putIntoForce(valueOf(await adoptEdition(deps, request), problem), editionId)
    },
    async revert(conversationId, given, options) {
      const provenance = provenanceOf(optionsGiven('editions.revert', options, ACTOR))
      gate.writes('editions.revert')
      const { lineage } = await existing(conversationId)
      const inForce = lineage?.edition?.editionId
      const target = given === undefined ? inForce : await editionOf(given, conversationId)
      if (target !== undefined && inForce !== target)
        throw problem({ kind: 'EditionNotInForce', editionId: target, conversationId, inForce })
      return await putIntoForce(
        valueOf(await revertEdition({ log, conversations }, conversationId, provenance), problem),
        target ?? '',
      )
    },
    async drop(conversationId, given, options) {
      const provenance = provenanceOf(optionsGiven('editions.drop', options, ACTOR))
      gate.writes('editions.drop')
      await existing(conversationId)
      const editionId = await editionOf(given, conversationId)
      const { events } = valueOf(await dropEdition(parts, { conversationId, editionId, provenance }), problem)
      return { conversationId, editionId, changed: events.length > 0 }
    },
    async compare(conversationIds, editionId, options) {
      gate.open()
      const { waitFor, timeout, onConversation, actor, ...given } = optionsGiven('editions.compare', options, COMPARE)
      const compareEditions = createCompareEditions({
        ...parts,
        search: searchPorts,
        actor: provenanceOf({ actor }).actor,
      })
      if (given.record !== false) gate.writes('editions.compare')
      const listener = listenerGiven('onConversation', onConversation, onProblem)
      const request = conversationsGiven('conversationIds', conversationIds)
      // Messages are searched for evidence alone.
      if (given.questions !== undefined) await freshness.rows({ waitFor, timeout })
      const against =
        given.against === undefined || given.against === IN_FORCE
          ? {}
          : { against: await editionNamed(given.against, 'against') }
      const named = await editionNamed(editionId)
      for (const conversationId of request === 'all' ? [] : request)
        if ((await log.store.streamRevision(conversationStream(conversationId))) < 0)
          throw problem({ kind: 'NoSuchConversation', conversationId })
      return valueOf(
        await compareEditions({
          conversationIds: request === 'all' ? undefined : request,
          editionId: named,
          ...given,
          onConversation: listener,
          ...against,
        }),
        problem,
      )
    },
  }
}
