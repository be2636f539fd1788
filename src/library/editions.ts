/** Editions as the library offers them: parsed, handed to the use cases, and thrown where these say no. */
import {
  editionById,
  listEditions,
  type EditionOfConversation as EditionRow,
} from '../../projections/read-models/editions/queries.js'
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
import { createEditionNames, type EditionNames } from './edition-names.js'
import * as calls from '../schema/calls/editions.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { EditionsCompared } from './ledger.js'
import type {
  Edition,
  EditionBound,
  EditionOfConversation,
  EditionRequest,
  Editions,
  Price,
} from './ledger-editions.js'
import type { Lookup } from './lookup.js'
import { conversationsGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export const MICROS = 1_000_000

function boundOf({ maxTokens, maxCost, price }: EditionBound & { readonly price?: Price }): SpendingLimits {
  return {
    ...(maxTokens === undefined ? {} : { tokens: maxTokens }),
    ...(maxCost === undefined || price === undefined ? {} : { cost: { micros: Math.floor(maxCost * MICROS), price } }),
  }
}

export interface EditionsParts extends Pick<LedgerParts, 'db'>, Omit<AdoptDependencies, 'conversations'> {
  readonly conversations: Conversations
  readonly searchPorts: SearchPorts
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

/** The functions that read or change editions. */
export function createEditions(parts: EditionsParts): Editions & EditionsCompared {
  const names = createEditionNames(parts)
  return {
    ...replayCalls(parts, names),
    ...readingCalls(parts, names),
    ...forceCalls(parts, names),
    ...comparison(parts, names),
  }
}

/** Makes editions, and estimates what that costs. */
function replayCalls(parts: EditionsParts, { existing, editionNamed }: EditionNames) {
  const { db, gate, lookup, provenanceOf } = parts

  /** The ids of conversations that are all there. */
  async function idsOf(request: EditionRequest['conversations']): Promise<readonly string[]> {
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

  return {
    async estimate(given) {
      const { conversations: request, policy, price, signal, editionId: name } = gate.enter(calls.estimate, given)
      const editionId = name === undefined ? undefined : await editionNamed(name)
      const conversationIds =
        editionId !== undefined && request === 'all' ? await adoptable(editionId) : await idsOf(request)
      return await estimateReplay(parts, { conversationIds, settings: policy, price, signal, editionId })
    },
    async replay(given) {
      const {
        conversations: request,
        policy,
        concurrency,
        signal,
        onProgress,
        ...rest
      } = gate.enter(calls.replay, given)
      const { actor } = provenanceOf(rest)
      return await replay(
        { ...parts, actor },
        {
          conversationIds: await idsOf(request),
          settings: policy,
          bound: boundOf(rest),
          price: rest.price,
          concurrency,
          signal,
          onProgress,
        },
      )
    },
  } satisfies Partial<Editions>
}

/** Lists and shows editions. */
function readingCalls({ log, db, spending, freshness }: EditionsParts, { editionNamed }: EditionNames) {
  async function withSpending(summaries: Awaited<ReturnType<typeof listEditions>>): Promise<Edition[]> {
    const editions: Edition[] = []
    for (const edition of summaries) editions.push({ ...edition, spent: await spending.spentOn(edition.editionId) })
    return editions
  }

  async function withHead(row: EditionRow): Promise<EditionOfConversation> {
    return { ...row, conversationHead: await log.store.streamRevision(conversationStream(row.conversationId)) }
  }

  return {
    async list() {
      await freshness.bringRowsToHead()
      return await withSpending(await listEditions(db))
    },
    async show(given) {
      const editionId = await editionNamed(given)
      await freshness.bringRowsToHead()
      const [edition] = await withSpending(await listEditions(db, editionId))
      if (edition === undefined) throw problem({ kind: 'NoSuchEdition', editionId })
      const found: EditionOfConversation[] = []
      for (const row of await editionById(db, editionId)) found.push(await withHead(row))
      return { ...edition, conversations: found }
    },
  } satisfies Partial<Editions>
}

/** Puts editions into force, takes them out of it, and drops them. */
function forceCalls(parts: EditionsParts, { existing, editionOf }: EditionNames) {
  const { log, conversations, gate, freshness, provenanceOf } = parts

  async function putIntoForce(handled: Handled, editionId: string): Promise<EditionChange> {
    freshness.noteRecorded(handled)
    freshness.follow()
    return await putIntoForceBy(log, handled, editionId)
  }

  return {
    async adopt(conversationId, given, options) {
      const { policy, signal, ...rest } = gate.enter(calls.adopt, options)
      const provenance = provenanceOf(rest)
      await existing(conversationId)
      const editionId = await editionOf(given, conversationId)
      const request = {
        conversationId,
        editionId,
        settings: policy,
        bound: boundOf(rest),
        signal,
        provenance,
      }
      const deps = { ...parts, actor: provenance.actor }
      return await putIntoForce(valueOf(await adoptEdition(deps, request), problem), editionId)
    },
    async revert(conversationId, given, options) {
      const provenance = provenanceOf(gate.enter(calls.revert, options))
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
      const provenance = provenanceOf(gate.enter(calls.drop, options))
      await existing(conversationId)
      const editionId = await editionOf(given, conversationId)
      const { events } = valueOf(await dropEdition(parts, { conversationId, editionId, provenance }), problem)
      return { conversationId, editionId, changed: events.length > 0 }
    },
  } satisfies Partial<Editions>
}

/** Compares editions. */
function comparison(parts: EditionsParts, { editionNamed }: EditionNames) {
  const { log, searchPorts, gate, freshness, provenanceOf } = parts
  return {
    async compare(conversationIds, editionId, options) {
      const { waitFor, timeout, actor, ...given } = gate.enter(calls.compare, options)
      const compareEditions = createCompareEditions({
        ...parts,
        search: searchPorts,
        actor: provenanceOf({ actor }).actor,
      })
      if (given.record !== false) gate.writes('editions.compare')
      const request = conversationsGiven('conversationIds', conversationIds)
      // Messages are searched for evidence alone.
      if (given.questions !== undefined) await freshness.bringRows({ waitFor, timeout })
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
          ...against,
        }),
        problem,
      )
    },
  } satisfies EditionsCompared
}
