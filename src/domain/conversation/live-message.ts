/** A message of the live conversation, built from the event that recorded it. */
import type { PlacedEvent } from '../events/index.js'
import { messageFieldNames, type RecordedMessage } from '../values/message.js'

/** `givenId` is the id that the host uses, if it differs from the recorded one. */
export interface LiveMessage extends Omit<RecordedMessage, 'pinned'> {
  readonly pinned: boolean
  readonly revision: number
}

/** The live message that an event records. */
export const liveMessage = (event: Pick<PlacedEvent<'MessageAppended'>, 'data' | 'revision'>): LiveMessage =>
  liveMessageFrom(event.data, event.revision)

/** All fields, absent. Each live message has all of them, in this order. */
const ABSENT = Object.fromEntries(messageFieldNames.map((field) => [field, undefined]))

export const liveMessageFrom = (data: RecordedMessage, revision: number): LiveMessage => ({
  ...ABSENT,
  ...data,
  pinned: data.pinned === true,
  revision,
})
