/** Editions by their ids, of which the beginning is enough; and the conversations that an edition is asked for in. */
import { editionIds } from '../../projections/read-models/editions/queries.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { nearest } from '../domain/text/edit-distance.js'
import { editionStream } from '../domain/values/ids.js'
import type { Freshness } from './freshness.js'
import type { Lookup } from './lookup.js'
import { bad, nameGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem } from './problem.js'

export interface EditionNames {
  /** Throws if the conversation does not exist; the error suggests the nearest id. */
  readonly existing: (conversationId: string) => Promise<Conversation>
  /** The full id of an edition from its beginning. The error for an unknown one suggests the nearest id. */
  readonly editionNamed: (input: string, field?: string) => Promise<string>
  /** The same for an edition of one conversation. A full id needs no query. */
  readonly editionOf: (given: string, conversationId: string) => Promise<string>
}

export function createEditionNames({
  log,
  db,
  freshness,
  lookup,
}: Pick<LedgerParts, 'log' | 'db'> & { readonly freshness: Freshness; readonly lookup: Lookup }): EditionNames {
  async function editionNamed(name: string, field = 'editionId'): Promise<string> {
    const input = nameGiven(field, name)
    await freshness.bringRowsToHead()
    const ids = await editionIds(db)
    const found = ids.filter((editionId) => editionId.startsWith(input))
    const [only] = found
    if (only !== undefined && found.length === 1) return only
    if (found.length > 1) throw bad(field, `"${input}" is the beginning of several: ${found.join(', ')}`)
    const near = nearest(input, ids)
    throw problem({ kind: 'NoSuchEdition', editionId: input, ...(near === undefined ? {} : { nearest: near }) })
  }

  return {
    async existing(conversationId) {
      const state = await lookup.find(conversationId)
      if (state !== undefined) return state
      const near = nearest(conversationId, await lookup.all())
      throw problem({ kind: 'NoSuchConversation', conversationId, ...(near === undefined ? {} : { nearest: near }) })
    },
    editionNamed,
    async editionOf(name, conversationId) {
      const input = nameGiven('editionId', name)
      // An id with a dash would reach into another conversation's streams.
      return !input.includes('-') && (await log.store.streamRevision(editionStream(input, conversationId))) >= 0
        ? input
        : await editionNamed(input)
    },
  }
}
