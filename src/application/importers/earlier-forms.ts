/** Earlier forms of a message: those that earlier versions recorded, and those that the program wrote before. */
import { authorOfMessage, ownContent } from '../../domain/text/authorship.js'
import { contentText, sameMessage, type ContentPart, type MessageBody } from '../../domain/values/message.js'
import { isSameExceptSecrets } from '../secrets/same-except-secrets.js'
import { contentOf } from './bodies.js'
import { contentParts, withinValues } from './content-part.js'
import { wasRounded } from './rounded.js'

/** Whether a recorded body is an earlier form of the same message. */
export const isRecordedForm = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  wasRounded(recorded, now) ||
  isSameExceptSecrets(recorded, now) ||
  wasOfUser(recorded, now) ||
  hasSameWords(recorded, now) ||
  wasData(recorded, now) ||
  wasLarge(recorded, now)

/** Up to 0.11.0 data in a content was recorded as parts of type `other`. */
function wasData(recorded: MessageBody | undefined, now: MessageBody): boolean {
  if (recorded === undefined || !Array.isArray(recorded.content)) return false
  const data = recorded.content.map((part: ContentPart) =>
    part.type === 'other' && 'value' in part ? part['value'] : part,
  )
  return sameMessage({ ...recorded, content: contentOf(contentParts(data)) }, now)
}

/** Up to 0.11.0 a message could have any number of JSON values. */
const wasLarge = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  recorded !== undefined && sameMessage(withinValues(recorded), now)

/** Up to 0.11.0 the user's words were recorded inside the tag in which Cline stores them. */
const hasSameWords = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  now.role === 'user' &&
  recorded?.role === 'user' &&
  contentText(ownContent(recorded)) === contentText(ownContent(now)) &&
  authorOfMessage(now) === 'user'

/** Up to 0.11.0 a text that a program sends with the role system was recorded with the role user, inside the program's tag. */
const wasOfUser = (recorded: MessageBody | undefined, now: MessageBody): boolean =>
  now.role === 'system' && recorded?.role === 'user' && contentText(recorded.content).includes(contentText(now.content))

/** Whether the text of a message continues an earlier form of it. */
export const isLonger = (before: MessageBody, now: MessageBody): boolean =>
  before.role === now.role &&
  typeof before.content === 'string' &&
  typeof now.content === 'string' &&
  now.content.startsWith(before.content.trimEnd())
