/** A message of the live conversation, built from the event that recorded it. */
import type { EventData, PlacedEvent } from '../events/index.js'
import type { MessageBody } from '../values/message.js'

export interface LiveMessage extends MessageBody {
  readonly messageId: string
  readonly revision: number
  readonly createdAt: string
  readonly tokens: number
  readonly pinned: boolean
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly answers?: EventData<'MessageAppended'>['answers']
  readonly leads?: true | undefined
  /** The id that the host uses, if it differs from the recorded one. */
  readonly givenId?: string | undefined
  /** The persons that the message is about, in an erasable ledger. */
  readonly subjects?: readonly string[] | undefined
  /** True if its texts were erased. */
  readonly erased?: true | undefined
}

/** The live message that an event records. */
export const liveMessage = (event: Pick<PlacedEvent<'MessageAppended'>, 'data' | 'revision'>): LiveMessage =>
  liveMessageFrom(event.data, event.revision)

export function liveMessageFrom(data: EventData<'MessageAppended'>, revision: number): LiveMessage {
  const {
    messageId,
    role,
    content,
    name,
    toolCalls,
    toolCallId,
    createdAt,
    tokens,
    pinned,
    attributes,
    extra,
    answers,
    leads,
    givenId,
    subjects,
    erased,
  } = data
  return {
    messageId,
    role,
    content,
    name,
    toolCalls,
    toolCallId,
    createdAt,
    tokens,
    pinned: pinned === true,
    attributes,
    extra,
    answers,
    leads,
    givenId,
    ...(subjects === undefined ? {} : { subjects }),
    ...(erased === undefined ? {} : { erased }),
    revision,
  }
}
