/**
 * The source of a context: the messages of a conversation in the order of the host's list, all that were appended and not
 * withdrawn, compacted or not. A host's list is compared with them. They are read from the log once; later calls read only
 * new events, and all again if an erasure was recorded, since a list has hashes of texts.
 */
import { LRUCache } from 'lru-cache'
import { derivedMessageId, conversationStream } from '../../domain/values/ids.js'
import { hashOf } from '../../domain/values/hash.js'
import { isInstruction, messageHash, toChatMessage, type MessageBody } from '../../domain/values/message.js'
import { shapedLeading, shapedMessage } from '../../domain/conversation/shape.js'
import { SHAPE_RULES } from '../../domain/values/context-shapes.js'
import type { EventData, RecordedEvent } from '../../domain/events/index.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import type { Redactor } from '../secrets/redact.js'

/** A recorded message: enough to recognize it, without its text. */
export interface SourceMessage {
  readonly messageId: string
  /** The id of the message in the host's list, without secrets; undefined if it came without one. */
  readonly hostId: string | undefined
  readonly revision: number
  /** Hash of the message with all fields that identify it. */
  readonly messageHash: string
  /** Hash of what a model receives of it. */
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
  /** Ids of all messages, also of withdrawn ones. */
  readonly ids: ReadonlySet<string>
  readonly leading: readonly SourceMessage[]
  readonly rest: readonly SourceMessage[]
}

/** A list, and the redactor with which its texts were compared. */
interface CachedList extends SourceList {
  readonly redactor: Redactor | undefined
  /** Erasures that were recorded and are not completed: their texts may still be in the list. */
  readonly openErasures: ReadonlySet<string>
}

const NOTHING: CachedList = {
  revision: -1,
  appended: 0,
  ids: new Set(),
  leading: [],
  rest: [],
  redactor: undefined,
  openErasures: new Set(),
}
/**
 * A message without an id gets one derived from its index. If that id is taken, later indexes are tried. An id counts as
 * derived if it is that of the message's index or of one of the next three.
 */
const DERIVED_IDS = 4
/** The events that change a list. */
const READ_TYPES: ReadonlySet<string> = new Set([
  'MessageAppended',
  'MessagesWithdrawn',
  'ErasureRequested',
  'ErasureCompleted',
])
/** The maximum number of messages in all cached lists. */
const CACHED_MESSAGES = 1_000_000

const isDerived = (conversationId: string, messageId: string, index: number): boolean =>
  Array.from({ length: DERIVED_IDS }, (_none, moved) => derivedMessageId(conversationId, index + moved)).includes(
    messageId,
  )

/** @param data as the host's list has it: with redacted texts and ids */
function sourceMessage(
  conversationId: string,
  { data: { messageId }, revision }: RecordedEvent<'MessageAppended'>,
  data: EventData<'MessageAppended'>,
  index: number,
): SourceMessage {
  const { role, toolCalls, toolCallId } = data
  const ownId = data.givenId ?? (isDerived(conversationId, messageId, index) ? undefined : data.messageId)
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
  const cache = new LRUCache<string, CachedList>({
    maxSize: CACHED_MESSAGES,
    sizeCalculation: (list) => list.ids.size + 1,
  })
  return async (conversationId, until, redactor) => {
    const cached = cache.get(conversationId)
    const isUsable =
      cached !== undefined && cached.revision <= until && cached.redactor === redactor && cached.openErasures.size === 0
    if (isUsable && cached.revision === until) return cached
    const continued = isUsable ? await readOn(log, conversationId, cached, until, redactor) : undefined
    const list = continued ?? (await readOn(log, conversationId, NOTHING, until, redactor)) ?? NOTHING
    cache.set(conversationId, list)
    return list
  }
}

/** Reads the events after a list. Undefined if one of them erases texts that the list may have. */
async function readOn(
  log: Log,
  conversationId: string,
  from: CachedList,
  until: number,
  redactor: Redactor | undefined,
): Promise<CachedList | undefined> {
  const ids = new Set(from.ids)
  const openErasures = new Set<string>()
  let [leading, rest, appended] = [[...from.leading], [...from.rest], from.appended]
  for await (const stored of log.store.readStream(conversationStream(conversationId), {
    from: from.revision + 1,
    limit: until - from.revision,
  })) {
    if (!READ_TYPES.has(stored.type)) continue
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'MessageAppended')) {
      const leads = event.data.leads === true || (isInstruction(event.data) && appended === leading.length)
      const data = redactor === undefined ? event.data : redactor.json(event.data).value
      const message = sourceMessage(conversationId, event, data, appended)
      if (leads) leading.push(message)
      else rest.push(message)
      ids.add(message.messageId)
      appended += 1
    } else if (isOfType(event, 'MessagesWithdrawn')) {
      const withdrawnIds = new Set(event.data.messages.map(({ messageId }) => messageId))
      leading = leading.filter(({ messageId }) => !withdrawnIds.has(messageId))
      rest = rest.filter(({ messageId }) => !withdrawnIds.has(messageId))
    } else if (from !== NOTHING) return undefined
    else if (isOfType(event, 'ErasureRequested')) openErasures.add(event.data.erasureId)
    else if (isOfType(event, 'ErasureCompleted')) openErasures.delete(event.data.erasureId)
  }
  return { revision: until, appended, ids, leading, rest, redactor, openErasures }
}
