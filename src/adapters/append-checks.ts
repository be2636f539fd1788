/**
 * What no store takes, checked before one is asked, so that every store refuses the same events in the same words; and
 * what a repeated append comes to.
 */
import { either as E } from 'fp-ts'
import type { Appended, AppendFailure, EventToAppend, ExpectedRevision, StoredEvent } from '../ports/event-store.js'

/**
 * A stream's name stands in two indexes of Postgres, whose entries end at about 2,700 bytes. The longest name that this
 * program makes has 512 bytes of a conversation's id and an edition's id before them.
 */
const MAX_STREAM_NAME_BYTES = 2_000

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

/**
 * Why a text cannot be kept as it is, or undefined. Postgres has no NUL in its texts, and a lone surrogate has no
 * UTF-8.
 */
function unkeepable(text: string): string | undefined {
  if (text.includes('\0')) return 'has a NUL character'
  return text.isWellFormed() ? undefined : 'has a lone surrogate'
}

const no = (detail: string): E.Either<AppendFailure, never> => E.left({ kind: 'AppendRefused', detail })

/** Right where the events may be offered to a store; Left says what is wrong with the first that may not. */
export function checkAppend(
  stream: string,
  expected: ExpectedRevision,
  events: readonly EventToAppend[],
): E.Either<AppendFailure, readonly EventToAppend[]> {
  if (stream === '') return no('the name of the stream is empty')
  const badName = unkeepable(stream)
  if (badName !== undefined) return no(`the name of the stream ${badName}`)
  if (Buffer.byteLength(stream, 'utf8') > MAX_STREAM_NAME_BYTES)
    return no(`the name of the stream is longer than ${String(MAX_STREAM_NAME_BYTES)} bytes`)
  if (typeof expected === 'bigint' && expected < -1n) return no(`${String(expected)} is no revision`)
  if (events.length === 0) return no('there is no event to append')
  const ids = new Set<string>()
  for (const event of events) {
    if (!UUID.test(event.id)) return no(`the event id ${JSON.stringify(event.id)} is no UUID in lower case`)
    if (ids.has(event.id)) return no(`the event id ${event.id} comes twice in one append`)
    ids.add(event.id)
    if (event.type === '') return no(`the type of event ${event.id} is empty`)
    for (const [field, text] of [
      ['type', event.type],
      ['data', event.data],
      ['metadata', event.metadata],
    ] as const) {
      const bad = unkeepable(text)
      if (bad !== undefined) return no(`the ${field} of event ${event.id} ${bad}`)
    }
  }
  return E.right(events)
}

/**
 * What an append comes to of which `found` are in the stream already: its first result where it is their repetition,
 * else a refusal that names them; undefined where none is.
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
    events.every((event, place) => {
      const was = known[place]
      return was?.type === event.type && was.data === event.data && was.revision === first.revision + BigInt(place)
    })
  return same
    ? E.right({ revision: last.revision, position: last.position, repeated: true })
    : E.left({ kind: 'IdsRecorded', stream, ids: known.map((event) => event.id) })
}
