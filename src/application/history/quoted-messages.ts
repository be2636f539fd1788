/** Finds the messages that an extractive summary quotes verbatim. */
import { sentencesOf } from '../../domain/text/sentences.js'
import { contentText } from '../../domain/values/message.js'
import type { Log } from '../recording/load-conversation.js'
import { chunksOf, summarizersOf } from './batch-tree.js'
import type { BatchOrigin, OriginalMessage } from './explanation.js'
import { originals, PAGE } from './original-messages.js'

/**
 * The strategy that selects sentences verbatim. It puts the speaker before them, and a mark between two that are not
 * adjacent.
 */
const EXTRACTIVE = 'extractive'
const SPEAKER = /^[^\s:]{1,40}(?: [^\s:]{1,40}){0,3}: /u
const LEFT_OUT = ' … '
/** A shorter piece occurs in many messages. */
const MIN_QUOTE_CHARACTERS = 8

/**
 * The sentences of a line of an extractive summary, as they may occur in messages, with and without a possible speaker.
 */
function sentencesQuoted(line: string): Set<string> {
  const pieces = line
    .split('\n')
    .flatMap((part) => [part, part.replace(SPEAKER, '')])
    .flatMap((part) => part.split(LEFT_OUT))
    .flatMap((part) => sentencesOf(part).map(({ text }) => text))
  return new Set(pieces.filter((piece) => piece.length >= MIN_QUOTE_CHARACTERS))
}

/** A message and the sentences of the line that it contains. */
interface Quoted {
  readonly original: OriginalMessage
  readonly says: readonly string[]
}

/**
 * The smallest set of messages, chosen greedily, that contains every sentence: a sentence that occurs often does not
 * list every message.
 */
function fewestSources(pieces: ReadonlySet<string>, quoted: readonly Quoted[]): OriginalMessage[] {
  const sources: OriginalMessage[] = []
  const uncovered = new Set(pieces)
  while (uncovered.size > 0) {
    const counted = quoted.map(({ original, says }) => ({
      original,
      says,
      tells: says.filter((piece) => uncovered.has(piece)).length,
    }))
    const best = counted.reduce(
      (most, each) => (each.tells > most.tells ? each : most),
      counted[0] ?? { original: undefined, says: [], tells: 0 },
    )
    if (best.original === undefined || best.tells === 0) break
    sources.push(best.original)
    for (const piece of best.says) uncovered.delete(piece)
  }
  return sources
}

/** The messages of an extractive batch that contain a line of its summary, or its sentences, verbatim; in order. */
export async function findQuoted(
  log: Log,
  conversationId: string,
  batch: BatchOrigin,
  line: string,
): Promise<readonly OriginalMessage[]> {
  if ([...summarizersOf(batch)].some(({ strategy }) => strategy !== EXTRACTIVE)) return []
  const pieces = sentencesQuoted(line)
  const messageIds = [...chunksOf(batch)].flatMap((chunk) => chunk.messageIds)
  const quoted: Quoted[] = []
  for (let from = 0; from < messageIds.length && pieces.size > 0; from += PAGE) {
    for (const original of await originals(log, conversationId, messageIds.slice(from, from + PAGE))) {
      const text = contentText(original.message.content)
      const sentences = new Set(sentencesOf(text).map((sentence) => sentence.text))
      const quotedPieces = [...pieces].filter((piece) => sentences.has(piece) || text.includes(piece))
      if (quotedPieces.length > 0) quoted.push({ original, says: quotedPieces })
    }
  }
  return fewestSources(pieces, quoted).toSorted((a, b) => (a.recorded.revision < b.recorded.revision ? -1 : 1))
}
