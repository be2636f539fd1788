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
  /** A conversation that is there; a misspelt id is told with the one that may have been meant. */
  readonly existing: (conversationId: string) => Promise<Conversation>
  /** The whole id of an edition, from its beginning; a misspelt one is told with the one that may have been meant. */
  readonly editionNamed: (given: string, field?: string) => Promise<string>
  /** The same for an edition of one conversation: where the id is whole, the rows are not asked. */
  readonly editionOf: (given: string, conversationId: string) => Promise<string>
}

export function createEditionNames({
  log,
  db,
  freshness,
  lookup,
}: Pick<LedgerParts, 'log' | 'db'> & { readonly freshness: Freshness; readonly lookup: Lookup }): EditionNames {
  async function editionNamed(name: string, field = 'editionId'): Promise<string> {
    const given = nameGiven(field, name)
    await freshness.rowsAtHead()
    const ids = await editionIds(db)
    const found = ids.filter((editionId) => editionId.startsWith(given))
    const [only] = found
    if (only !== undefined && found.length === 1) return only
    if (found.length > 1) throw bad(field, `"${given}" is the beginning of several: ${found.join(', ')}`)
    const near = nearest(given, ids)
    throw problem({ kind: 'NoSuchEdition', editionId: given, ...(near === undefined ? {} : { nearest: near }) })
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
      const given = nameGiven('editionId', name)
      // An id with a dash would reach into another conversation's streams.
      return !given.includes('-') && (await log.store.streamRevision(editionStream(given, conversationId))) >= 0n
        ? given
        : await editionNamed(given)
    },
  }
}
