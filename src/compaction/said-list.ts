/**
 * What a conversation says, message by message: all that was appended and not withdrawn, compacted or not, in the order
 * in which a whole list of it stands. A host's list is held against it. It is read from the log once, and from then on
 * what came since.
 */
import { LRUCache } from 'lru-cache'
import { derivedMessageId, conversationStream } from '../domain/values/ids.js'
import { hashOf } from '../domain/values/hash.js'
import { isInstruction, messageHash, toChatMessage, type MessageBody } from '../domain/values/message.js'
import type { EventData } from '../domain/events/index.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'

/** A message that is said: enough to recognize it, and not its text. */
export interface Said {
  readonly messageId: string
  /** The id that its host knows it by; undefined where it came without one. */
  readonly ownId: string | undefined
  readonly revision: bigint
  readonly messageHash: string
  readonly chatHash: string
  /** What its calls and results are found by. */
  readonly body: Pick<MessageBody, 'role' | 'content' | 'toolCalls' | 'toolCallId'>
}

export interface SaidList {
  /** The last fact that it knows. */
  readonly revision: bigint
  /** All messages that were ever appended. */
  readonly appended: number
  /** The ids of all of them. */
  readonly ids: ReadonlySet<string>
  readonly leading: readonly Said[]
  readonly rest: readonly Said[]
}

const NOTHING: SaidList = { revision: -1n, appended: 0, ids: new Set(), leading: [], rest: [] }
/** How far the place of an id may have moved on because another message had it. */
const PLACES = 4
/** Messages that the lists in memory may have together. */
const CACHED_MESSAGES = 1_000_000

const isDerived = (conversationId: string, messageId: string, place: number): boolean =>
  Array.from({ length: PLACES }, (_none, moved) => derivedMessageId(conversationId, place + moved)).includes(messageId)

function said(conversationId: string, data: EventData<'MessageAppended'>, revision: bigint, place: number): Said {
  const { messageId, givenId, role, toolCalls, toolCallId } = data
  const ownId = givenId ?? (isDerived(conversationId, messageId, place) ? undefined : messageId)
  return {
    messageId,
    ownId,
    revision,
    messageHash: messageHash(data),
    chatHash: hashOf(toChatMessage(data)),
    body: { role, content: null, toolCalls: toolCalls?.map(({ id, type }) => ({ id, type })), toolCallId },
  }
}

/** Gives the list as of a revision, and remembers it. */
export function createSaidLists(log: Log): (conversationId: string, revision: bigint) => Promise<SaidList> {
  const known = new LRUCache<string, SaidList>({
    maxSize: CACHED_MESSAGES,
    sizeCalculation: (list) => list.ids.size + 1,
  })
  return async (conversationId, until) => {
    const cached = known.get(conversationId)
    const from = cached === undefined || cached.revision > until ? NOTHING : cached
    if (from.revision === until) return from
    const ids = new Set(from.ids)
    let [leading, rest, appended] = [[...from.leading], [...from.rest], from.appended]
    for await (const stored of log.store.readStream(conversationStream(conversationId), {
      from: from.revision + 1n,
      limit: Number(until - from.revision),
    })) {
      if (stored.type !== 'MessageAppended' && stored.type !== 'MessagesWithdrawn') continue
      const event = await decodeEvent(stored, log.bodies)
      if (isOfType(event, 'MessageAppended')) {
        const leads = event.data.leads === true || (isInstruction(event.data) && appended === leading.length)
        const message = said(conversationId, event.data, event.revision, appended)
        if (leads) leading.push(message)
        else rest.push(message)
        ids.add(message.messageId)
        appended += 1
      } else if (isOfType(event, 'MessagesWithdrawn')) {
        const gone = new Set(event.data.messages.map(({ messageId }) => messageId))
        leading = leading.filter(({ messageId }) => !gone.has(messageId))
        rest = rest.filter(({ messageId }) => !gone.has(messageId))
      }
    }
    const list: SaidList = { revision: until, appended, ids, leading, rest }
    known.set(conversationId, list)
    return list
  }
}
