/** The events of a service as recorded events. */
import { eventTypes, isEventType, type RecordedEvent } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { Followed, FollowOptions, LogOptions } from '../../library/ledger.js'
import { storeError } from '../../ports/store-error.js'
import type { CloudEvent } from './event-stream.js'
import { notSupportedRemotely, type Remote } from './remote.js'

/** Most events of a page. */
const PAGE = 1_000

/** The events of a conversation, page by page. */
export async function* readLog(
  remote: Remote,
  conversation: string,
  { from, limit = Number.POSITIVE_INFINITY, direction }: LogOptions = {},
): AsyncGenerator<RecordedEvent> {
  let missing = limit
  let cursor: string | undefined
  while (missing > 0) {
    const { facts, next } = await remote.value('getLog', {
      params: { conversation },
      query: { ...(cursor === undefined ? { from } : { cursor }), direction, limit: Math.min(PAGE, missing) },
    })
    for (const event of facts) yield recordedEvent(event)
    missing -= facts.length
    cursor = next
    if (cursor === undefined) return
  }
}

/** New events of all conversations. */
export async function* followEvents(
  remote: Remote,
  { after = -1, untilHead = false, signal }: FollowOptions,
): AsyncGenerator<Followed> {
  if (untilHead) throw notSupportedRemotely('follow with untilHead', 'read the logs of the conversations')
  // A key with a bound receives encoded positions, so `after + 1` is not the next one.
  const start = after === 'head' ? {} : after < 0 ? { from: 0 } : { after }
  for await (const event of remote.events({ ...start, signal }))
    yield { kind: 'event', event: recordedEvent(fromCloudEvent(event)) }
}

/** `org.context-ledger.MessageAppended.v1`: the name of the event and its version. */
const TYPE = /(?<name>[A-Z]\w*)\.v(?<version>\d+)$/u

function fromCloudEvent({ type, subject, sequence, revision, id, data, ...about }: CloudEvent): ReceivedEvent {
  const { name = type, version } = TYPE.exec(type)?.groups ?? {}
  return {
    type: name,
    data,
    stream: conversationStream(subject),
    revision,
    position: sequence,
    id,
    metadata: {
      schemaVersion: Number(version),
      correlationId: about.correlationid,
      causationId: about.causationid,
      actor: about.actor,
      recordedAt: about.time,
      hash: about.hash,
      previousHash: about.previoushash,
    },
  }
}

type ReceivedEvent = Omit<RecordedEvent, 'type' | 'data'> & { readonly type: string; readonly data: object }

/** An event of the service, with its data by the schema of its type. */
export function recordedEvent(event: ReceivedEvent): RecordedEvent {
  if (!isEventType(event.type))
    throw storeError(
      'StoreUnavailable',
      `the service has facts of the type "${event.type}", which is not known here: a newer version reads them`,
    )
  const data = eventTypes[event.type].schema.parse(event.data)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema was chosen by the type, which the union cannot follow
  return { ...event, data } as RecordedEvent
}
