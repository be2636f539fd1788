/**
 * The streams in which the facts of one conversation lie: the one place that knows, for whoever has to look through all
 * of them.
 */
import {
  CONVERSATION_PREFIX,
  conversationOf,
  conversationStream,
  EDITION_PREFIX,
  editionOf,
} from '../domain/values/ids.js'
import type { Log } from './load-conversation.js'

/** The streams of a conversation's editions, whether one was ever adopted or not. */
export type EditionStreams = ReadonlyMap<string, readonly string[]>

/** The streams of all editions by their conversation. */
export async function editionStreams(log: Log): Promise<EditionStreams> {
  const found = new Map<string, string[]>()
  for await (const stream of log.store.streams(EDITION_PREFIX)) {
    const edition = editionOf(stream)
    if (edition === undefined) continue
    found.set(edition.conversationId, [...(found.get(edition.conversationId) ?? []), stream])
  }
  return found
}

/** The same, looked for when it is first asked, and then never again. */
export function editionStreamsOnce(log: Log): () => Promise<EditionStreams> {
  let found: Promise<EditionStreams> | undefined
  return () => (found ??= editionStreams(log))
}

/** The streams that hold summaries of a conversation; its own, which also has its messages, is the first. */
export const streamsOf = (conversationId: string, editions: EditionStreams): readonly string[] => [
  conversationStream(conversationId),
  ...(editions.get(conversationId) ?? []),
]

/** Every conversation that the log has, in the order of their ids' bytes. */
export async function* conversationsOfLog(log: Log): AsyncIterable<string> {
  for await (const stream of log.store.streams(CONVERSATION_PREFIX)) yield conversationOf(stream) ?? ''
}
