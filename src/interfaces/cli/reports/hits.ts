/** Prints search results. */
import type { SearchHit, SearchResult } from '../../../library/ledger.js'
import type { Titles } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { brief, colours, line, many, note, noteColours, printable, noteLag, typed } from '../output.js'

/** A hit as JSON. */
const hitDocument = ({ kind: _kind, ...hit }: SearchHit): unknown => hit

/** A search result as JSON. */
export const resultDocument = ({ hits, ...more }: SearchResult): unknown => ({ hits: hits.map(hitDocument), ...more })

/** "m1", "m1 to m9, 5 messages". */
function messagesOf({ messageIds }: SearchHit): string {
  const [first = '', last = first] = [messageIds[0], messageIds.at(-1)]
  return printable(messageIds.length < 2 ? first : `${first} to ${last}, ${many(messageIds.length, 'message')}`)
}

/** The source of a hit, in words. */
export function provenance(hit: SearchHit): string {
  const revisions =
    hit.firstRevision === hit.lastRevision
      ? `revision ${hit.firstRevision.toString()}`
      : `revisions ${hit.firstRevision.toString()} to ${hit.lastRevision.toString()}`
  const times = hit.startTime === hit.endTime ? hit.startTime : `${hit.startTime} to ${hit.endTime}`
  return `${hit.role ?? 'summary'} · ${hit.batchId ?? 'live'} · ${messagesOf(hit)} · ${revisions} · ${times}`
}

/** Prints the hits, and notes about results that may be missing. */
export async function showHits({ hits, behind, vectors }: SearchResult, titles: Titles): Promise<void> {
  if (hits.length === 0) await line('nothing found')
  for (const [at, hit] of hits.entries()) {
    await line(`${String(at + 1)}. ${idWithTitle(hit.conversationId, titles)} ${colours.dim(provenance(hit))}`)
    await line(`   ${brief(hit.text, 400)}\n`)
  }
  noteLag(behind)
  if (vectors?.problem !== undefined)
    note(
      `${noteColours.yellow('note:')} the search by meaning failed, in part or completely, so these hits are by words: ${vectors.problem}`,
    )
  if (vectors !== undefined && vectors.missing > 0)
    note(
      `${noteColours.yellow('note:')} ${vectors.isAtLeast ? 'at least ' : ''}${many(vectors.missing, 'message')} without a vector, found by words only; \`context-ledger projections vectors\` computes the vectors`,
    )
  const archived = hits.find(({ batchId }) => batchId !== null)
  if (archived !== undefined)
    await line(
      colours.dim(
        `sources of a summary: context-ledger explain ${typed(archived.conversationId)} --batch ${archived.batchId ?? ''}`,
      ),
    )
}
