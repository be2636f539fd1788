/**
 * Recognizes messages that a client cleared: an agent replaces old tool results by a short text to save context, and some
 * agents drop the arguments of old calls as well. The ledger shortens the context itself, so it keeps the recorded
 * message and treats the cleared one as equal to it.
 *
 * A cleared message has the position, the call ids and at most the size of the recorded one. Its text differs by client.
 */
import type { ProxyRequest, SourceMessage } from '../../application/model-apis/api.js'
import { clearablePart, clearableText } from './clearable-part.js'
import type { Entry, TrackedConversation } from './tracked-conversation.js'

/** The text that replaces a cleared content, without its numbers: some clients count the characters that they cleared. */
const placeholderOf = ({ input }: SourceMessage): string => clearableText({ ...input }).replaceAll(/\d+/gu, '0')

const outlineOf = ({ input }: SourceMessage): string | undefined => clearablePart({ ...input }).outline

/** Entries by outline; undefined if several have the same outline, as with models that reuse call ids. */
function entriesByOutline(entries: readonly Entry[]): ReadonlyMap<string, Entry | undefined> {
  const byOutline = new Map<string, Entry | undefined>()
  for (const entry of entries)
    if (entry.outline !== undefined) byOutline.set(entry.outline, byOutline.has(entry.outline) ? undefined : entry)
  return byOutline
}

/** The recorded results and calls whose content differs in the list, by index in the list. */
function changedMessages(entries: readonly Entry[], messages: readonly SourceMessage[]): Map<number, Entry> {
  // A result without an answer after it may be that of a repeated call.
  const end = entries.findLastIndex(({ role }) => role === 'assistant')
  const answered = entries.slice(0, Math.max(end, 0))
  const changed = new Map<number, Entry>()
  for (const [at, entry] of answered.entries()) {
    const message = messages[at]
    if (message === undefined) break
    if (entry.hash === message.hash) continue
    if (entry.id === undefined || entry.outline === undefined || entry.outline !== outlineOf(message))
      return withMovedMessages(changed, answered, messages, at)
    changed.set(at, entry)
  }
  return changed
}

/** Adds the changed messages after the index where the list differs: the client compacted it or edited a message. */
function withMovedMessages(
  changed: Map<number, Entry>,
  answered: readonly Entry[],
  messages: readonly SourceMessage[],
  from: number,
): Map<number, Entry> {
  const byOutline = entriesByOutline(answered.slice(from))
  const answers = new Set(answered.flatMap(({ hash, role }) => (role === 'assistant' ? [hash] : [])))
  let isRecordedCall = false
  for (const [offset, message] of messages.slice(from).entries()) {
    const isAnswer = message.input.role === 'assistant'
    const entry = byOutline.get(outlineOf(message) ?? '')
    if (isAnswer) isRecordedCall = answers.has(message.hash) || entry?.id !== undefined
    // Models reuse call ids: a result matches the recorded one only if its call does.
    if (isRecordedCall && entry?.id !== undefined && entry.hash !== message.hash) changed.set(from + offset, entry)
  }
  return changed
}

/**
 * Returns the request with `clearedFrom` in each cleared message. A message counts as cleared if an answer follows it and
 * its content is shorter than the recorded content. The text that replaces a result of two words is longer than the
 * result, so the content may also be equal to that of another cleared message.
 */
export function withClearedMessages(line: TrackedConversation, asked: ProxyRequest): ProxyRequest {
  const changed = changedMessages(line.entries, asked.messages)
  if (changed.size === 0) return asked
  const placeholders = new Set<string>()
  for (const [at, entry] of changed) {
    const message = asked.messages[at]
    if (message !== undefined && clearablePart({ ...message.input }).size < entry.size)
      placeholders.add(placeholderOf(message))
  }
  const messages = asked.messages.map((message, at): SourceMessage => {
    const entry = changed.get(at)
    if (entry === undefined || !placeholders.has(placeholderOf(message))) return message
    return { ...message, hash: entry.hash, isInParts: entry.isInParts ?? message.isInParts, clearedFrom: entry }
  })
  return { ...asked, messages }
}
