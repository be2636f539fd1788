/** Events for people. */
import { definitionOf, isEventType, type RecordedEvent } from './index.js'

/** Describes an event in one line, with its ids and places. `log` prints revision, time and type before it. */
export const describeEvent = ({ type, data }: RecordedEvent): string => definitionOf(type).describe(data)

/** Describes what happened, without ids and places. */
export function describeShortly({ type, data }: RecordedEvent): string {
  const definition = definitionOf(type)
  return definition.describeShortly?.(data) ?? definition.describe(data)
}

/** A label of an event; for a type without one, its name as words: "Edition adopted". */
export function eventLabel(type: string): string {
  const words = type.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, ' ').toLowerCase()
  const label = isEventType(type) ? definitionOf(type).label : undefined
  return label ?? `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

/** The actor of each event of a log, in order; undefined if it is that of the event before. */
export function actorChanges(): (event: RecordedEvent) => string | undefined {
  let before: string | undefined
  return ({ metadata: { actor } }) => {
    const changed = actor === before ? undefined : actor
    before = actor
    return changed
  }
}
