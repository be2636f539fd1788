/** What a search found, as it is shown. */
import type { SearchHit, SearchResult } from '../../library/ledger.js'
import { brief, colours, line, many, note, noteColours, printable, tellBehind, typed } from '../output.js'

/** A hit as the documents have it. */
function hitDocument({
  conversationId,
  batchId,
  messageIds,
  firstRevision,
  lastRevision,
  startTime,
  endTime,
  score,
  text,
}: SearchHit): unknown {
  return { conversationId, batchId, messageIds, firstRevision, lastRevision, startTime, endTime, score, text }
}

/** A result as the documents have it. */
export const resultDocument = ({ hits, ...more }: SearchResult): unknown => ({ hits: hits.map(hitDocument), ...more })

/** "m1", "m1 to m9, 5 messages". */
function messagesOf({ messageIds }: SearchHit): string {
  const [first = '', last = first] = [messageIds[0], messageIds.at(-1)]
  return printable(messageIds.length < 2 ? first : `${first} to ${last}, ${many(messageIds.length, 'message')}`)
}

/** Where a hit comes from, in words. */
export function provenance(hit: SearchHit): string {
  const revisions =
    hit.firstRevision === hit.lastRevision
      ? `revision ${hit.firstRevision.toString()}`
      : `revisions ${hit.firstRevision.toString()} to ${hit.lastRevision.toString()}`
  const times = hit.startTime === hit.endTime ? hit.startTime : `${hit.startTime} to ${hit.endTime}`
  return `${hit.batchId === null ? 'live' : hit.batchId} · ${messagesOf(hit)} · ${revisions} · ${times}`
}

/** Shows what was found, and what may be missing. */
export async function showHits({ hits, behind, vectors }: SearchResult): Promise<void> {
  if (hits.length === 0) await line('nothing found')
  for (const [at, hit] of hits.entries()) {
    await line(`${colours.bold(`${String(at + 1)}. ${printable(hit.conversationId)}`)} ${colours.dim(provenance(hit))}`)
    await line(`   ${brief(hit.text, 400)}\n`)
  }
  tellBehind(behind)
  if (vectors?.problem !== undefined)
    note(
      `${noteColours.yellow('note:')} the search by meaning failed in part or as a whole, and words alone found these: ${vectors.problem}`,
    )
  if (vectors !== undefined && vectors.missing > 0)
    note(
      `${noteColours.yellow('note:')} ${vectors.isAtLeast ? 'at least ' : ''}${many(vectors.missing, 'message')} without a vector: only words find them. \`context-ledger projections vectors\` makes the vectors`,
    )
  const archived = hits.find(({ batchId }) => batchId !== null)
  if (archived !== undefined)
    await line(
      colours.dim(
        `where a summary comes from: context-ledger explain ${typed(archived.conversationId)} --batch ${archived.batchId ?? ''}`,
      ),
    )
}
