/**
 * The streams that projections read: conversations and their editions. An edition's events belong to its conversation,
 * so both are read in one order and are in one partition.
 */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { CONVERSATION_PREFIX, conversationOf, EDITION_PREFIX, editionOf } from '../../src/domain/values/ids.js'
import type { RowChange } from './projection.js'

export const PROJECTED_PREFIXES = [CONVERSATION_PREFIX, EDITION_PREFIX] as const

/** The conversation or edition whose events a stream has. */
export interface Subject {
  readonly conversationId: string
  /** Undefined if the stream is the conversation itself. */
  readonly editionId: string | undefined
}

export type EditionSubject = Subject & { readonly editionId: string }

/** The subject of a stream; undefined if it belongs to neither a conversation nor an edition. */
export function subjectOf(stream: string): Subject | undefined {
  const conversationId = conversationOf(stream)
  return conversationId === undefined ? editionOf(stream) : { conversationId, editionId: undefined }
}

/**
 * The id under which a stop is recorded if an event of this stream cannot be applied: the conversation, or the stream's
 * name if it belongs to none. NUL and lone surrogates are replaced, since a database cannot store them.
 */
export const stoppedAt = (stream: string): string =>
  (subjectOf(stream)?.conversationId ?? stream).toWellFormed().replaceAll('\0', '\ufffd')

/** The subject of an event; throws if the event's stream has none. */
export function subjectOfEvent(event: Pick<RecordedEvent, 'stream'>): Subject {
  const subject = subjectOf(event.stream)
  if (subject === undefined) throw new Error(`Stream ${event.stream} belongs to no conversation.`)
  return subject
}

/**
 * A handler for events in a conversation's own stream only. Events of an edition change nothing until it is adopted.
 */
export function inConversation<Event extends RecordedEvent>(
  handler: (event: Event) => readonly RowChange[],
): (event: Event) => readonly RowChange[] {
  return (event) => (subjectOfEvent(event).editionId === undefined ? handler(event) : [])
}

/** A handler for events in an edition's stream only. */
export function inEdition<Event extends RecordedEvent>(
  handler: (event: Event, edition: EditionSubject) => readonly RowChange[],
): (event: Event) => readonly RowChange[] {
  return (event) => {
    const { conversationId, editionId } = subjectOfEvent(event)
    return editionId === undefined ? [] : handler(event, { conversationId, editionId })
  }
}
