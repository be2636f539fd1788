/**
 * The messages of a conversation in the order of the host's list: all that were appended and not withdrawn, compacted
 * or not. A host's list is compared with them. They are read from the log once; later calls read only new events.
 */
import { LRUCache } from 'lru-cache'
import { derivedMessageId, conversationStream } from '../../domain/values/ids.js'
import { hashOf } from '../../domain/values/hash.js'
import { isInstruction, messageHash, toChatMessage, type MessageBody } from '../../domain/values/message.js'
import { shapedLeading, shapedMessage } from '../../domain/conversation/shape.js'
import { SHAPE_RULES } from '../../domain/values/context-shapes.js'
import type { EventData } from '../../domain/events/index.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import type { Redactor } from '../secrets/redact.js'

/** A recorded message: enough to recognize it, without its text. */
export interface SourceMessage {
  readonly messageId: string
  /** The host's id of the message; undefined if it came without one. */
  readonly hostId: string | undefined
  readonly revision: number
  readonly messageHash: string
  readonly chatHash: string
  /** True if the text was erased: the hashes are those of its placeholder. */
  readonly isErased: boolean
  /** Hashes of other forms in which strict contexts show it: completed, or as a user message. */
  readonly shownHashes: readonly string[]
  /** The fields by which calls and results are matched. */
  readonly body: Pick<MessageBody, 'role' | 'content' | 'toolCalls' | 'toolCallId'>
}

export interface SourceList {
  /** Revision of the last event that was read. */
  readonly revision: number
  /** The number of all messages that were ever appended. */
  readonly appended: number
  readonly ids: ReadonlySet<string>
  readonly leading: readonly SourceMessage[]
  readonly rest: readonly SourceMessage[]
}

const NOTHING: SourceList = { revision: -1, appended: 0, ids: new Set(), leading: [], rest: [] }
/** By how many indexes a derived id may be shifted because another message had it. */
const MOST_SHIFTS = 4
/** The maximum number of messages in all cached lists. */
const CACHED_MESSAGES = 1_000_000

const isDerived = (conversationId: string, messageId: string, index: number): boolean =>
  Array.from({ length: MOST_SHIFTS }, (_none, moved) => derivedMessageId(conversationId, index + moved)).includes(
    messageId,
  )

function sourceMessage(
  conversationId: string,
  data: EventData<'MessageAppended'>,
  revision: number,
  index: number,
): SourceMessage {
  const { messageId, givenId, role, toolCalls, toolCallId } = data
  const ownId = givenId ?? (isDerived(conversationId, messageId, index) ? undefined : messageId)
  return {
    messageId,
    hostId: ownId,
    revision,
    messageHash: messageHash(data),
    chatHash: hashOf(toChatMessage(data)),
    isErased: data.erased === true,
    shownHashes: [shapedMessage(data, SHAPE_RULES.strict), shapedLeading(data, SHAPE_RULES.strict)].flatMap((body) =>
      body === data ? [] : [hashOf(toChatMessage(body))],
    ),
    body: { role, content: null, toolCalls: toolCalls?.map(({ id, type }) => ({ id, type })), toolCallId },
  }
}

/**
 * Returns the list as of a revision, and caches it.
 * @param redactor redacts the recorded messages too: an older event may have the text of a secret, and the host's list
 * is redacted before it is compared
 */
type SourceLists = (conversationId: string, until: number, redactor?: Redactor) => Promise<SourceList>

export function createSourceLists(log: Log): SourceLists {
  const known = new LRUCache<string, SourceList & { readonly redactor: Redactor | undefined }>({
    maxSize: CACHED_MESSAGES,
    sizeCalculation: (list) => list.ids.size + 1,
  })
  return async (conversationId, until, redactor) => {
    const cached = known.get(conversationId)
    const from = cached === undefined || cached.revision > until || cached.redactor !== redactor ? NOTHING : cached
    if (from.revision === until) return from
    const ids = new Set(from.ids)
    let [leading, rest, appended] = [[...from.leading], [...from.rest], from.appended]
    for await (const stored of log.store.readStream(conversationStream(conversationId), {
      from: from.revision + 1,
      limit: until - from.revision,
    })) {
      if (stored.type !== 'MessageAppended' && stored.type !== 'MessagesWithdrawn') continue
      const event = await decodeEvent(stored, log)
      if (isOfType(event, 'MessageAppended')) {
        const leads = event.data.leads === true || (isInstruction(event.data) && appended === leading.length)
        const data = redactor === undefined ? event.data : redactor.json(event.data).value
        const message = sourceMessage(conversationId, data, event.revision, appended)
        if (leads) leading.push(message)
        else rest.push(message)
        ids.add(message.messageId)
        appended += 1
      } else if (isOfType(event, 'MessagesWithdrawn')) {
        const withdrawnIds = new Set(event.data.messages.map(({ messageId }) => messageId))
        leading = leading.filter(({ messageId }) => !withdrawnIds.has(messageId))
        rest = rest.filter(({ messageId }) => !withdrawnIds.has(messageId))
      }
    }
    const list: SourceList = { revision: until, appended, ids, leading, rest }
    known.set(conversationId, { ...list, redactor })
    return list
  }
}
