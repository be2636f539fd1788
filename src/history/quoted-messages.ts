/** Who said what an extractive summary quotes, word for word. */
import { sentencesOf } from '../domain/text/sentences.js'
import { contentText } from '../domain/values/message.js'
import type { Log } from '../recording/load-conversation.js'
import { chunksOf, summarizersOf } from './batch-tree.js'
import type { BatchOrigin, OriginalMessage } from './explanation.js'
import { originals, PAGE } from './original-messages.js'

/**
 * The strategy that picks sentences word for word; puts who says them in front, and a mark between two that did not
 * stand together.
 */
const EXTRACTIVE = 'extractive'
const SPEAKER = /^[^\s:]{1,40}(?: [^\s:]{1,40}){0,3}: /u
const LEFT_OUT = ' … '
/** A shorter piece of a line stands in many messages. */
const MIN_QUOTE_CHARACTERS = 8

/**
 * The sentences of a line of an extractive summary, as they may stand in messages; with and without what looks like a
 * speaker.
 */
function sentencesQuoted(line: string): Set<string> {
  const pieces = line
    .split('\n')
    .flatMap((part) => [part, part.replace(SPEAKER, '')])
    .flatMap((part) => part.split(LEFT_OUT))
    .flatMap((part) => sentencesOf(part).map(({ text }) => text))
  return new Set(pieces.filter((piece) => piece.length >= MIN_QUOTE_CHARACTERS))
}

/** A message, and the sentences of the line that it says. */
interface Quoted {
  readonly original: OriginalMessage
  readonly says: readonly string[]
}

/**
 * The messages to name: two sentences of one line stood in one message, and what is said often is no reason to name
 * everybody who said it.
 */
function fewestThatSay(pieces: ReadonlySet<string>, quoted: readonly Quoted[]): OriginalMessage[] {
  const said: OriginalMessage[] = []
  const left = new Set(pieces)
  while (left.size > 0) {
    const counted = quoted.map(({ original, says }) => ({
      original,
      says,
      tells: says.filter((piece) => left.has(piece)).length,
    }))
    const best = counted.reduce(
      (most, each) => (each.tells > most.tells ? each : most),
      counted[0] ?? { original: undefined, says: [], tells: 0 },
    )
    if (best.original === undefined || best.tells === 0) break
    said.push(best.original)
    for (const piece of best.says) left.delete(piece)
  }
  return said
}

/**
 * The messages of an extractive batch that say a line of its summary, or the sentences that it is made of, word for
 * word; in their order.
 */
export async function saidIn(
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
      const says = [...pieces].filter((piece) => sentences.has(piece) || text.includes(piece))
      if (says.length > 0) quoted.push({ original, says })
    }
  }
  return fewestThatSay(pieces, quoted).toSorted((a, b) => (a.recorded.revision < b.recorded.revision ? -1 : 1))
}
