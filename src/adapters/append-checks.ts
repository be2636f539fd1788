/**
 * Checks of an append that all stores share, so that every store rejects the same events with the same message; and the
 * result of a repeated append.
 */
import { isRevision } from '../domain/values/revision.js'
import { either as E } from 'fp-ts'
import type { Appended, AppendFailure, EventToAppend, ExpectedRevision, StoredEvent } from '../ports/event-store.js'

/**
 * A stream name is part of two Postgres indexes, whose entries hold about 2,700 bytes. The longest name of this program
 * has 512 bytes of a conversation id and an edition id before it.
 */
const MAX_STREAM_NAME_BYTES = 2_000

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

/**
 * The reason that a text cannot be stored unchanged, or undefined. A Postgres text cannot contain a NUL, and a lone
 * surrogate has no UTF-8 form.
 */
function unstorable(text: string): string | undefined {
  if (text.includes('\0')) return 'has a NUL character'
  return text.isWellFormed() ? undefined : 'has a lone surrogate'
}

const no = (detail: string): E.Either<AppendFailure, never> => E.left({ kind: 'AppendRefused', detail })

/** Right if a store can accept the events; Left with the problem of the first invalid one. */
export function checkAppend(
  stream: string,
  expected: ExpectedRevision,
  events: readonly EventToAppend[],
): E.Either<AppendFailure, readonly EventToAppend[]> {
  if (stream === '') return no('the stream name is empty')
  const badName = unstorable(stream)
  if (badName !== undefined) return no(`the stream name ${badName}`)
  if (Buffer.byteLength(stream, 'utf8') > MAX_STREAM_NAME_BYTES)
    return no(`the stream name is longer than ${String(MAX_STREAM_NAME_BYTES)} bytes`)
  if (typeof expected === 'number' && expected !== -1 && !isRevision(expected))
    return no(`${String(expected)} is not a valid revision`)
  if (events.length === 0) return no('there is no event to append')
  const ids = new Set<string>()
  for (const event of events) {
    if (!UUID.test(event.id)) return no(`the event id ${JSON.stringify(event.id)} is not a lower-case UUID`)
    if (ids.has(event.id)) return no(`the event id ${event.id} appears twice in one append`)
    ids.add(event.id)
    if (event.type === '') return no(`the type of event ${event.id} is empty`)
    for (const [field, text] of [
      ['type', event.type],
      ['data', event.data],
      ['metadata', event.metadata],
    ] as const) {
      const bad = unstorable(text)
      if (bad !== undefined) return no(`the ${field} of event ${event.id} ${bad}`)
    }
  }
  return E.right(events)
}

/**
 * The result of an append if some of its events (`found`) are already in the stream: the first result if the append
 * repeats them exactly, otherwise a failure with their ids. Undefined if none is found.
 */
export function repetition(
  stream: string,
  events: readonly EventToAppend[],
  found: readonly StoredEvent[],
): E.Either<AppendFailure, Appended> | undefined {
  const byId = new Map(found.toReversed().map((event) => [event.id, event]))
  const known = events.flatMap((event) => byId.get(event.id) ?? [])
  const [first] = known
  const last = known.at(-1)
  if (first === undefined || last === undefined) return undefined
  const same =
    known.length === events.length &&
    events.every((event, index) => {
      const stored = known[index]
      return stored?.type === event.type && stored.data === event.data && stored.revision === first.revision + index
    })
  return same
    ? E.right({ revision: last.revision, position: last.position, repeated: true })
    : E.left({ kind: 'IdsRecorded', stream, ids: known.map((event) => event.id) })
}
