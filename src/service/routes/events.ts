/** Facts as server-sent events. */
import { Refused } from '../problems.js'
import type { Handlers } from '../service.js'

/** The position after which a client resumes, if it sends one. */
function lastOf(headers: Readonly<Record<string, string | undefined>>): bigint | undefined {
  const lastEventId = headers['last-event-id']
  if (lastEventId === undefined || lastEventId === '') return undefined
  if (!/^\d{1,18}$/u.test(lastEventId))
    throw new Refused('BadRequest', 'last-event-id is not the id of an event of this stream', {
      field: 'last-event-id',
    })
  return BigInt(lastEventId)
}

/** Start of the stream. The header of a reconnecting client overrides its address. */
function afterOf(headers: Readonly<Record<string, string | undefined>>, from: bigint | undefined): bigint | undefined {
  return lastOf(headers) ?? (from === undefined ? undefined : from - 1n)
}

/** The handlers. */
export const eventHandlers = {
  async streamEvents({ bounds, feed, heartbeatMs }, { query: { from }, headers, access }) {
    const after = afterOf(headers, from) ?? 'now'
    return {
      stream: {
        read: (signal) =>
          feed.read({
            after,
            wants: ({ conversationId }) => bounds.has(access, conversationId),
            signal,
            heartbeatMs,
          }),
        idOf: (heard) => (heard.kind === 'fact' ? heard.item.position : heard.position),
      },
    }
  },

  async streamConversationEvents({ ledger, feed, heartbeatMs }, { params: { conversation: id }, query, headers }) {
    // Report a missing conversation before the stream starts. The start position is fixed now.
    let head = -1n
    for await (const { revision } of ledger.log(id, { direction: 'backwards', limit: 1 })) head = revision
    const afterRevision = afterOf(headers, query.from) ?? head
    return {
      stream: {
        read: (signal) =>
          feed.read({
            after: 'now',
            conversation: { id, afterRevision },
            wants: () => Promise.resolve(true),
            signal,
            heartbeatMs,
          }),
        idOf: (heard) => (heard.kind === 'fact' ? heard.item.revision : undefined),
      },
    }
  },
} satisfies Partial<Handlers>
