/** Search over the rows: brought to where the reader wants them, and what it could not look at yet. */
import { projectionStopped, type ProjectionRunner } from '../../projections/engine/runner.js'
import type { VectorFiller } from '../../projections/read-models/archive-index/vector-filler.js'
import type { EmbeddingFailure } from '../ports/embedding-model.js'
import { search, type SearchOptions, type SearchPorts } from '../application/search/search.js'
import * as calls from '../schema/calls/conversations.js'
import type { Freshness, Wait } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger, SearchResult } from './ledger.js'
import type { Lookup } from './lookup.js'
import { bad, textGiven } from './options.js'
import type { LedgerParts } from './parts.js'

export interface SearchingParts extends Pick<LedgerParts, 'ahead' | 'onProblem'> {
  readonly searchPorts: SearchPorts
  readonly runner: ProjectionRunner
  /** Undefined where no vectors are made here. */
  readonly filler: VectorFiller | undefined
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
}

/** A search with checked options. */
export type Find = (query: string, options: SearchOptions, wait?: Wait) => Promise<SearchResult>

export interface Searching {
  readonly calls: Pick<Ledger, 'search'>
  /** A search without checks, for callers that checked their input. */
  readonly find: Find
}

export function createSearching(parts: SearchingParts): Searching {
  const { searchPorts, runner, filler, gate, freshness, lookup } = parts

  /**
   * Messages that semantic search does not cover yet. Vectors are made in the background, unless the process ends
   * first.
   */
  async function vectorsMissing(
    conversationId: string | undefined,
    failure: EmbeddingFailure | undefined,
  ): Promise<Pick<SearchResult, 'vectors'>> {
    if (filler === undefined) return {}
    const { missing, isAtLeast, failure: earlier } = await filler.missing(conversationId)
    if (parts.ahead) filler.wake()
    const why = failure ?? earlier
    return missing === 0 && why === undefined
      ? {}
      : { vectors: { missing, isAtLeast, ...(why === undefined ? {} : { problem: why.detail }) } }
  }

  /** Throws if the rows of a conversation have stopped, because the result would be incomplete. */
  async function indexGoesOn(conversationId: string): Promise<void> {
    const stop = (await runner.stopped(conversationId)).find(({ projection }) => projection === 'archive-index')
    if (stop !== undefined) throw projectionStopped(stop.projection, stop)
  }

  const find: Find = async (query, options, wait = {}) => {
    if (textGiven('query', query).trim() === '') throw bad('query', 'is empty')
    const conversationId = 'conversationId' in options.within ? options.within.conversationId : undefined
    await freshness.bringRows(wait, conversationId)
    if (conversationId !== undefined) await indexGoesOn(conversationId)
    const { hits, failure } = await search(searchPorts, query, options)
    if (failure !== undefined) parts.onProblem(failure)
    if (hits.length === 0 && conversationId !== undefined) await lookup.isThere(conversationId)
    return {
      hits,
      ...(await freshness.lagOfRows(options.within)),
      ...(options.include === 'batches' ? {} : await vectorsMissing(conversationId, failure)),
    }
  }

  return {
    find,
    calls: {
      async search(query, options) {
        const { conversationId, scope, waitFor, timeout, ...given } = gate.enter(calls.search, options)
        const within = conversationId === undefined ? { scope: scope ?? null } : { conversationId }
        return await find(query, { within, ...given }, { waitFor, timeout })
      },
    },
  }
}
