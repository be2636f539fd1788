/** Facts as server-sent events. */
import { parseRevision } from '../../domain/values/revision.js'
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
    let head = -1
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
