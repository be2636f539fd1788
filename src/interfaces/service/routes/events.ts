/** Facts as server-sent events. */
import { parseRevision } from '../../../domain/values/revision.js'
import type { Access } from '../access.js'
import type { FeedDelivery } from '../feed.js'
import { Refused } from '../problems.js'
import type { Handlers } from '../service.js'

/** The position after which a client resumes, if it sends one. */
function lastOf(headers: Readonly<Record<string, string | undefined>>): number | undefined {
  const lastEventId = headers['last-event-id']
  if (lastEventId === undefined || lastEventId === '') return undefined
  const last = parseRevision(lastEventId)
  if (last === undefined)
    throw new Refused('BadRequest', 'last-event-id is not the id of an event of this stream', {
      field: 'last-event-id',
    })
  return last
}

/** Start of the stream. The header of a reconnecting client overrides its address. */
function afterOf(headers: Readonly<Record<string, string | undefined>>, from: number | undefined): number | undefined {
  return lastOf(headers) ?? (from === undefined ? undefined : from - 1)
}

/** The position after which a stream of all conversations starts. The caller gives encoded positions. */
function positionOf(
  headers: Readonly<Record<string, string | undefined>>,
  from: number | undefined,
  { positions }: Access,
): number | undefined {
  const last = lastOf(headers)
  if (last !== undefined) return positions.decode(last)
  // `from=0` is the start of the log, for every key.
  return from === undefined || from === 0 ? afterOf(headers, from) : positions.decode(from) - 1
}

/** Events with encoded positions. */
async function* encodedFor(access: Access, events: AsyncIterable<FeedDelivery>): AsyncIterable<FeedDelivery> {
  for await (const heard of events)
    if (heard.kind === 'quiet' || access.bound === undefined) yield heard
    else {
      // The first match is the field: quotation marks inside earlier values are escaped.
      const sequence = `"sequence":"${String(access.positions.encode(heard.item.position))}"`
      yield { kind: 'fact', item: { ...heard.item, text: heard.item.text.replace(/"sequence":"\d+"/u, sequence) } }
    }
}

/** The handlers. */
export const eventHandlers = {
  async streamEvents({ bounds, feed, heartbeatMs }, { query: { from }, headers, access }) {
    const after = positionOf(headers, from, access) ?? 'now'
    let salt = 0
    /** Two equal ids would reveal that no other tenant recorded anything. */
    const quietId = (position: number): number => access.positions.encode(position, (salt += 1))
    return {
      stream: {
        read: (signal) =>
          encodedFor(
            access,
            feed.read({
              after,
              wants: ({ conversationId }) => bounds.has(access, conversationId),
              signal,
              heartbeatMs,
            }),
          ),
        idOf: (heard) =>
          heard.kind === 'fact'
            ? access.positions.encode(heard.item.position)
            : heard.position === undefined
              ? undefined
              : quietId(heard.position),
      },
    }
  },

  async streamConversationEvents(
    { ledger, feed, heartbeatMs },
    { params: { conversation: id }, query, headers, access },
  ) {
    // Report a missing conversation before the stream starts. The start position is fixed now.
    let head = -1
    for await (const { revision } of ledger.log(id, { direction: 'backwards', limit: 1 })) head = revision
    const afterRevision = afterOf(headers, query.from) ?? head
    return {
      stream: {
        read: (signal) =>
          encodedFor(
            access,
            feed.read({
              after: 'now',
              conversation: { id, afterRevision },
              wants: () => Promise.resolve(true),
              signal,
              heartbeatMs,
            }),
          ),
        idOf: (heard) => (heard.kind === 'fact' ? heard.item.revision : undefined),
      },
    }
  },
} satisfies Partial<Handlers>
