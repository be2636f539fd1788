/** An event of the log in the JSON shape of CloudEvents 1.0. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { EVENT_TYPE } from '../../schema/answers/cloud-event.js'

/** The `source` of a ledger's events. The first event identifies a log. */
export const sourceOf = (origin: { readonly id: string } | undefined): string =>
  `urn:context-ledger:${origin?.id ?? 'empty'}`

/** @param data the data of the event, or the part of it that may leave the ledger */
export function cloudEvent(
  source: string,
  event: RecordedEvent,
  conversationId: string,
  data: unknown = event.data,
): Record<string, unknown> {
  const { type, id, revision, position, metadata } = event
  return {
    specversion: '1.0',
    id,
    source,
    type: `${EVENT_TYPE}${type}.v${String(metadata.schemaVersion)}`,
    subject: conversationId,
    time: metadata.recordedAt,
    datacontenttype: 'application/json',
    sequence: String(position),
    revision: String(revision),
    actor: metadata.actor,
    correlationid: metadata.correlationId,
    causationid: metadata.causationId,
    hash: metadata.hash,
    previoushash: metadata.previousHash,
    data,
  }
}
