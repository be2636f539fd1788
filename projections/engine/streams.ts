/**
 * The streams that read models are made from: those of conversations and of their editions. An edition's facts belong
 * to its conversation, so both are met in one order and lie in one partition.
 */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { CONVERSATION_PREFIX, conversationOf, EDITION_PREFIX, editionOf } from '../../src/domain/values/ids.js'
import type { RowChange } from './projection.js'

export const PROJECTED_PREFIXES = [CONVERSATION_PREFIX, EDITION_PREFIX] as const

/** What a stream is of. */
export interface Subject {
  readonly conversationId: string
  /** Undefined where it is the conversation's own. */
  readonly editionId: string | undefined
}

/** An edition of a conversation. */
export type EditionSubject = Subject & { readonly editionId: string }

/** The conversation that a stream is of, and the edition; undefined where it is of neither. */
export function subjectOf(stream: string): Subject | undefined {
  const conversationId = conversationOf(stream)
  return conversationId === undefined ? editionOf(stream) : { conversationId, editionId: undefined }
}

/**
 * Whose rows stop where a fact of a stream cannot be applied: the conversation's; of a stream that is of none, its own
 * name. As a database can keep it.
 */
export const stoppedAt = (stream: string): string =>
  (subjectOf(stream)?.conversationId ?? stream).toWellFormed().replaceAll('\0', '\ufffd')

/** The subject of a fact; a fact of another stream here is a mistake of the one who passed it. */
export function subjectOfEvent(event: Pick<RecordedEvent, 'stream'>): Subject {
  const subject = subjectOf(event.stream)
  if (subject === undefined) throw new Error(`${event.stream} is no stream of a conversation or of its edition.`)
  return subject
}

/**
 * An answer to what happens in a conversation's own stream. What an edition does on its own changes nothing until it is
 * adopted.
 */
export function inConversation<Event extends RecordedEvent>(
  handler: (event: Event) => readonly RowChange[],
): (event: Event) => readonly RowChange[] {
  return (event) => (subjectOfEvent(event).editionId === undefined ? handler(event) : [])
}

/** An answer to what happens in an edition's stream. */
export function inEdition<Event extends RecordedEvent>(
  handler: (event: Event, edition: EditionSubject) => readonly RowChange[],
): (event: Event) => readonly RowChange[] {
  return (event) => {
    const { conversationId, editionId } = subjectOfEvent(event)
    return editionId === undefined ? [] : handler(event, { conversationId, editionId })
  }
}
