/** The streams with the events of one conversation. */
import {
  CONVERSATION_PREFIX,
  conversationOf,
  conversationStream,
  EDITION_PREFIX,
  editionOf,
} from '../../domain/values/ids.js'
import type { Log } from './load-conversation.js'

/** The streams of a conversation's editions, including dropped and never adopted ones. */
export type EditionStreams = ReadonlyMap<string, readonly string[]>

/** The streams of all editions, by conversation. */
export async function editionStreams(log: Log): Promise<EditionStreams> {
  const found = new Map<string, string[]>()
  for await (const stream of log.store.streams(EDITION_PREFIX)) {
    const edition = editionOf(stream)
    if (edition === undefined) continue
    found.set(edition.conversationId, [...(found.get(edition.conversationId) ?? []), stream])
  }
  return found
}

/** The ids of all editions of these streams. */
export const editionsOf = (streams: EditionStreams): ReadonlySet<string> =>
  new Set([...streams.values()].flat().flatMap((stream) => editionOf(stream)?.editionId ?? []))

/** Like `editionStreams`, but read once and cached. */
export function editionStreamsOnce(log: Log): () => Promise<EditionStreams> {
  let found: Promise<EditionStreams> | undefined
  return () => (found ??= editionStreams(log))
}

/** The streams with summaries of a conversation. The first is its own, which also has its messages. */
export const streamsOf = (conversationId: string, editions: EditionStreams): readonly string[] => [
  conversationStream(conversationId),
  ...(editions.get(conversationId) ?? []),
]

/** Every conversation in the log, ordered by the bytes of their ids. */
export async function* conversationsOfLog(log: Log): AsyncIterable<string> {
  for await (const stream of log.store.streams(CONVERSATION_PREFIX)) yield conversationOf(stream) ?? ''
}
