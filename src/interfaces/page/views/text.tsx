/**
 * Renders texts of conversations. They are untrusted data: every text passes through this module or is a JSX child, so
 * it is escaped. Invisible characters and characters that change the text direction are shown as code points, so that
 * no line is misleading.
 */
import type { Child } from 'hono/jsx'
import { contentText } from '../../../domain/values/message.js'
import { count, many, percent } from '../../../domain/text/count.js'
import type { ChatMessage } from '../../../library/ledger.js'

/** Control and format characters, except joiners, line breaks and tabs. */
const INVISIBLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/u
export const INVISIBLE_ALL = /((?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}])/gu

export const codePointName = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/** A text with invisible characters shown as code points. */
export function visible(text: string): Child {
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  if (!INVISIBLE.test(whole)) return whole
  return (
    <>
      {whole
        .split(INVISIBLE_ALL)
        .map((part, at) => (at % 2 === 0 ? part : <span class="unseen">{codePointName(part)}</span>))}
    </>
  )
}

/** The same as plain text, for titles and labels. */
export const plain = (text: string): string => text.toWellFormed().replaceAll(INVISIBLE_ALL, codePointName)

/** A pattern for the words of a query; undefined if the query has no words. */
export function markedWords(query: string | undefined): RegExp | undefined {
  const words = [...new Set((query ?? '').toLowerCase().match(/[\p{L}\p{N}_]{2,40}/gu) ?? [])].slice(0, 12)
  if (words.length === 0) return undefined
  return new RegExp(`(${words.toSorted((a, b) => b.length - a.length).join('|')})`, 'giu')
}

/** A text with the words of a query highlighted. */
export function Marked({ text, words }: { text: string; words: RegExp | undefined }): Child {
  if (words === undefined) return <>{visible(text)}</>
  const parts = text.split(words)
  return <>{parts.map((part, at) => (at % 2 === 0 ? visible(part) : <mark>{visible(part)}</mark>))}</>
}

/** An id or a name. `bdi` isolates its text direction from the text around it. */
export function Name({ text, most = 80 }: { text: string; most?: number }): Child {
  return <bdi title={text.length > most ? plain(text.slice(0, 600)) : undefined}>{visible(cut(text, most))}</bdi>
}

/** Cuts a text to `characters` without splitting a surrogate pair. */
export const cut = (text: string, characters: number): string =>
  text.length <= characters ? text : `${text.slice(0, characters - 1).replace(/[\ud800-\udbff]$/u, '')}…`

/** A text in one line, cut to `characters`. */
export const oneLine = (text: string, characters: number): string =>
  cut(
    text
      .slice(0, characters * 4)
      .replaceAll(/\s+/gu, ' ')
      .trim(),
    characters,
  )

/** Characters of an excerpt that may be before the first match. */
const MAX_LEAD = 120

/** A text in one line, cut to `characters`, so that the first of the words is in it. */
export function excerpt(text: string, words: RegExp | undefined, characters: number): string {
  const found = words === undefined ? 0 : text.search(words)
  if (found <= MAX_LEAD) return oneLine(text, characters)
  return `…${oneLine(text.slice(text.slice(0, found - MAX_LEAD / 2).search(/\S*$/u)), characters)}`
}

/** The lines of a message: its text and its tool calls. */
export function linesOf({ content, tool_calls: calls = [] }: Pick<ChatMessage, 'content' | 'tool_calls'>): string[] {
  const text = contentText(content)
  return [
    ...(text === '' ? [] : text.split(/\r\n|\n|\r/u)),
    ...calls.flatMap((call) =>
      `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`.split(/\r\n|\n|\r/u),
    ),
  ]
}

export { count, many, percent }

/** A time in UTC, to the second; to the minute if `isShort`. */
export function Time({ at, isShort = false }: { at: string | undefined; isShort?: boolean }): Child {
  if (at === undefined || at === '') return null
  const text = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/u.test(at)
    ? `${at.slice(0, 10)} ${at.slice(11, isShort ? 16 : 19)}`
    : at
  return <time datetime={at}>{visible(text)}</time>
}
