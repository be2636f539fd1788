/**
 * The last check before an event is appended: it is recorded only if every reader can read it again. The data must
 * satisfy the schema when it is read back, and names from outside must fit in every store, table and index. These
 * limits apply only to new events; older events are permanent and are read more leniently.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import type { Provenance } from './codec.js'
import { definitionOf, type Event, type EventType } from './index.js'
import { checkId } from '../values/ids.js'
import { issueSentence } from '../values/issue-sentence.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { MAX_TOKENS } from '../values/tokens.js'

/**
 * The event was not recorded because a reader could not read it or a table could not store it. Names the field and the
 * reason.
 */
export type NotRecordable = {
  readonly kind: 'NotRecordable'
  readonly event: EventType
  readonly field: string
  readonly detail: string
}

const timeSchema = z.iso.datetime()

/**
 * The event as a reader will see it.
 * @param dataText the text of its data, as it will be stored
 */
export function recordable(
  event: Event,
  dataText: string,
  provenance: Provenance & { readonly recordedAt: string },
): E.Either<NotRecordable, Event> {
  const no = (field: string, detail: string): E.Either<NotRecordable, never> =>
    E.left({ kind: 'NotRecordable', event: event.type, field, detail })
  for (const field of ['actor', 'correlationId', 'causationId'] as const) {
    const name = checkId(field, provenance[field])
    if (E.isLeft(name)) return no(field, name.left.detail)
  }
  if (!timeSchema.safeParse(provenance.recordedAt).success)
    return no('clock', `says that it is ${provenance.recordedAt}, which is no time between the years 0 and 9999`)
  const parsed: unknown = JSON.parse(dataText)
  // The event itself adds a few levels to the caller's data.
  if (isTooDeep(parsed, MAX_LEVELS + 8)) return no('data', `is nested deeper than ${String(MAX_LEVELS)} levels`)
  const definition = definitionOf(event.type)
  const read = definition.schema.safeParse(parsed)
  if (!read.success) {
    const [issue] = read.error.issues
    return no(issue?.path.join('.') || 'data', issueSentence(issue))
  }
  for (const [field, value] of Object.entries(definition.namesFromOutside?.(event.data) ?? {})) {
    const name = value === undefined ? E.right('') : checkId(field, value)
    if (E.isLeft(name)) return no(field, name.left.detail)
  }
  for (const [field, value] of Object.entries(definition.tokensFromOutside?.(event.data) ?? {})) {
    if (typeof value === 'number' && value > MAX_TOKENS)
      return no(field, `is ${String(value)}, and may be ${String(MAX_TOKENS)} at most`)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema was chosen by the type, which the union cannot follow
  return E.right({ type: event.type, data: read.data } as Event)
}
