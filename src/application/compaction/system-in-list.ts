/**
 * The system messages of a host's list, taken apart: a strict context joins the leading messages and the view in one
 * system message, and a host hands it back. Nothing is recognized by its words: a view is known by the hash that the
 * event that made it has recorded.
 */
import type { Conversation } from '../../domain/conversation/conversation.js'
import { joinedSystemMessage, shapedLeading } from '../../domain/conversation/shape.js'
import { originTypes } from '../../domain/events/index.js'
import { SHAPE_RULES } from '../../domain/values/context-shapes.js'
import { hashOf } from '../../domain/values/hash.js'
import { conversationStream } from '../../domain/values/ids.js'
import { bodyOf, isTextPart, toChatMessage, type MessageBody, type NewMessage } from '../../domain/values/message.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { viewMessage, type ShownContext } from './handed-out.js'
import type { SourceList } from './source-list.js'

/** A list with its joined system messages taken apart. */
export interface ListApart {
  readonly history: readonly NewMessage[]
  /** For each message of the host's list, the index of its first part in `history`. */
  readonly places: readonly number[]
  /** Indexes of `history` that hold a view, and no message. */
  readonly views: ReadonlySet<number>
  /** The conversation as it was when the first of these views was made. */
  readonly earlier: Conversation | undefined
}

/** A view may begin at the start of a text or after a blank line. At most this number of blank lines is tried. */
const MOST_PLACES = 200

/** The texts that may be a view at the end of a text, by their hashes. */
function endingsOf(text: string): Map<string, string> {
  const endings = new Map([[hashOf(text), text]])
  let at = text.indexOf('\n\n')
  for (let tries = 0; at !== -1 && tries < MOST_PLACES; tries += 1) {
    const ending = text.slice(at + 2)
    endings.set(hashOf(ending), ending)
    at = text.indexOf('\n\n', at + 1)
  }
  return endings
}

/** The event that made the view at the end of a text, by the hashes that events recorded, and the text of that view. */
async function makerOfView(
  log: Log,
  { conversationId, revision, lastOrigin, view }: Conversation,
  text: string,
): Promise<{ readonly revision: number; readonly view: string } | undefined> {
  const isWhole = view !== undefined && (text === view.text || text.endsWith(`\n\n${view.text}`))
  if (isWhole) return { revision, view: view.text }
  const endings = endingsOf(text)
  let at = lastOrigin
  while (at !== undefined) {
    const [stored] = await log.store.readRevisions(conversationStream(conversationId), [at])
    const event = stored === undefined ? undefined : await decodeEvent(stored, log)
    if (event === undefined || !isOfType(event, ...originTypes)) return undefined
    const ending = endings.get(event.data.viewHash)
    if (ending !== undefined) return { revision: at, view: ending }
    at = event.data.previous
  }
  return undefined
}

/** The text at the end of a system message: that of its last part, without the blank line before it. */
function lastText({ content }: MessageBody): string {
  if (typeof content === 'string' || content === null) return content ?? ''
  const last = content.at(-1)
  return last === undefined || !isTextPart(last) ? '' : last.text.replace(/^\n\n/u, '')
}

/** The text of a system message before the view at its end: undefined if the view is all of it. */
function beforeView(message: NewMessage, view: string): NewMessage | undefined {
  const { content } = message
  if (typeof content === 'string') {
    const text = content.slice(0, content.length - view.length).replace(/\n\n$/u, '')
    return text === '' ? undefined : { ...message, content: text }
  }
  const parts = (content ?? []).slice(0, -1)
  return parts.length === 0 ? undefined : { ...message, content: parts }
}

const chatHash = (message: MessageBody): string => hashOf(toChatMessage(message))

/** The leading messages that a text joins, or the message as it came if it does not join those that are recorded. */
function leadingIn(message: NewMessage, leading: readonly MessageBody[]): readonly NewMessage[] {
  const shaped = leading.map((each) => shapedLeading(each, SHAPE_RULES.strict))
  const joined = joinedSystemMessage(shaped, undefined)?.body
  return joined !== undefined && chatHash(joined) === chatHash(message) ? leading.map(bodyOf) : [message]
}

/**
 * Takes the joined system messages of a list apart.
 * @param handedOut the contexts that the host may have received
 */
export async function systemMessagesApart(
  log: Log,
  given: readonly NewMessage[],
  list: SourceList,
  state: Conversation,
  handedOut: readonly ShownContext[],
): Promise<ListApart> {
  const recorded = new Set([...list.leading, ...list.rest].map((said) => said.chatHash))
  const history: NewMessage[] = []
  const places: number[] = []
  const views = new Set<number>()
  let earlier: Conversation | undefined
  for (const message of given) {
    places.push(history.length)
    const hash = chatHash(message)
    if (message.role !== 'system' || recorded.has(hash)) {
      history.push(message)
      continue
    }
    const joined = handedOut.find((each) => each.joined?.hash === hash)?.joined
    const made = await makerOfView(log, state, lastText(message))
    const view = made?.view ?? joined?.view
    if (joined !== undefined) history.push(...state.leading.map(bodyOf))
    else {
      const before = view === undefined ? message : beforeView(message, view)
      if (before !== undefined) history.push(...leadingIn(before, state.leading))
    }
    if (view === undefined) continue
    if (made !== undefined) {
      views.add(history.length)
      const isNow = made.revision === state.revision
      earlier ??= isNow ? state : await loadConversation(log, state.conversationId, made.revision)
    }
    history.push(viewMessage(view))
  }
  return { history, places, views, earlier }
}
