/** The events of a remote ledger: the log of a conversation, and the feed of all of them. */
import type { RecordedEvent } from '../domain/events/index.js'
import { eventTypes, isEventType } from '../domain/events/index.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import type { Ledger, LogOptions } from '../library/ledger.js'
import { storeError } from '../ports/store-error.js'
import type { CloudEvent } from './event-stream.js'
import { asStoreError, notSupportedRemotely, type RemoteCalls } from './remote-calls.js'

/** Events in an answer, at most. */
const PAGE = 1_000

/** The events of a conversation, page by page. */
export async function* readLog(
  remote: RemoteCalls,
  conversationId: string,
  { from, limit, direction }: LogOptions = {},
): AsyncGenerator<RecordedEvent> {
  let left = limit ?? Number.POSITIVE_INFINITY
  let cursor: string | undefined
  while (left > 0) {
    const query = withoutUndefined({
      from: cursor === undefined ? from : undefined,
      cursor,
      direction,
      limit: Math.min(PAGE, left),
    })
    const page = (await remote.answer(({ calls }) => calls.getLog({ params: { conversation: conversationId }, query })))
      .value
    for (const fact of page.facts) yield eventOf(fact)
    left -= page.facts.length
    cursor = page.next
    if (cursor === undefined) return
  }
}

/** The events of all conversations, until the signal aborts. */
export async function* followEvents(
  remote: RemoteCalls,
  { after = -1n, untilHead = false, signal }: Parameters<Ledger['follow']>[0],
): ReturnType<Ledger['follow']> {
  if (untilHead) throw notSupportedRemotely('follow with untilHead', 'read the logs of the conversations')
  const client = remote.open()
  try {
    const events = client.events({ ...(after === 'head' ? {} : { from: after + 1n }), signal })
    for await (const event of events) yield { kind: 'event', event: eventOfCloudEvent(event) }
  } catch (error) {
    throw asStoreError(error)
  }
}

const eventOfCloudEvent = ({ subject, sequence, revision, id, data, type, ...rest }: CloudEvent): RecordedEvent =>
  eventOf({
    type: nameOf(type),
    data,
    stream: `conversation-${subject}`,
    revision,
    position: sequence,
    id,
    metadata: {
      schemaVersion: Number(type.slice(type.lastIndexOf('.v') + 2)),
      correlationId: rest.correlationid,
      causationId: rest.causationid,
      actor: rest.actor,
      recordedAt: rest.time,
      hash: rest.hash,
      previousHash: rest.previoushash,
    },
  })

/** `org.context-ledger.MessageAppended.v1` → `MessageAppended` */
const nameOf = (type: string): string => type.replace(/^.*\.(?=[A-Z])/u, '').replace(/\.v\d+$/u, '')

/** An event of the service, read as one of a store is. */
function eventOf(recorded: {
  readonly type: string
  readonly data: object
  readonly revision: string
  readonly position: string
  readonly [field: string]: unknown
}): RecordedEvent {
  if (!isEventType(recorded.type))
    throw storeError(
      'StoreUnavailable',
      `the service has events of the type "${recorded.type}", which is not known here: upgrade context-ledger`,
    )
  const data = eventTypes[recorded.type].schema.parse(recorded.data)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema was chosen by the type, which the union cannot follow
  return {
    ...recorded,
    data,
    revision: BigInt(recorded.revision),
    position: BigInt(recorded.position),
  } as unknown as RecordedEvent
}
