/**
 * Texts of conversations, as the page shows them. They are data: every one goes through here or as a child of an
 * element, and is escaped. Characters that nobody sees and that turn the order of others around are shown by their
 * number, so that a line says what it seems to say.
 */
import type { Child } from 'hono/jsx'
import { contentText } from '../../domain/values/message.js'
import { count } from '../../domain/text/count.js'
import type { ChatMessage } from '../../library/ledger.js'

/** Control and format characters, but for those that scripts need to join letters, and for line ends and tabs. */
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/u
const UNSEEN_ALL = /((?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}])/gu

const named = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/** A text with what is unseen in it shown by its number. */
export function seen(text: string): Child {
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  if (!UNSEEN.test(whole)) return whole
  return (
    <>{whole.split(UNSEEN_ALL).map((part, at) => (at % 2 === 0 ? part : <span class="unseen">{named(part)}</span>))}</>
  )
}

/** The same as mere text, for names that are read out and titles. */
export const plain = (text: string): string => text.toWellFormed().replaceAll(UNSEEN_ALL, named)

/** Words of a query that are marked in a text; undefined where there are none. */
export function markedWords(query: string | undefined): RegExp | undefined {
  const words = [...new Set((query ?? '').toLowerCase().match(/[\p{L}\p{N}_]{2,40}/gu) ?? [])].slice(0, 12)
  if (words.length === 0) return undefined
  return new RegExp(`(${words.toSorted((a, b) => b.length - a.length).join('|')})`, 'giu')
}

/** A text with the words of a query marked in it. */
export function Marked({ text, words }: { text: string; words: RegExp | undefined }): Child {
  if (words === undefined) return <>{seen(text)}</>
  const parts = text.split(words)
  return <>{parts.map((part, at) => (at % 2 === 0 ? seen(part) : <mark>{seen(part)}</mark>))}</>
}

/** An id or a name within a sentence: whichever way it is written, what stands beside it stays where it is. */
export function Name({ text, most = 80 }: { text: string; most?: number }): Child {
  return <bdi title={text.length > most ? plain(text.slice(0, 600)) : undefined}>{seen(cut(text, most))}</bdi>
}

/** A text of at most so many characters, no emoji cut in half. */
export const cut = (text: string, characters: number): string =>
  text.length <= characters ? text : `${text.slice(0, characters - 1).replace(/[\ud800-\udbff]$/u, '')}…`

/** A text in one line of at most so many characters. */
export const oneLine = (text: string, characters: number): string =>
  cut(
    text
      .slice(0, characters * 4)
      .replaceAll(/\s+/gu, ' ')
      .trim(),
    characters,
  )

/** Everything that a message says, line by line: its text, and what it calls. */
export function linesOf({ content, tool_calls: calls = [] }: Pick<ChatMessage, 'content' | 'tool_calls'>): string[] {
  const text = contentText(content)
  return [
    ...(text === '' ? [] : text.split(/\r\n|\n|\r/u)),
    ...calls.flatMap((call) =>
      `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`.split(/\r\n|\n|\r/u),
    ),
  ]
}

/** Lines and characters that a list shows of one message. */
const MOST_LINES = 40
const MOST_CHARACTERS = 4_000
const MOST_OF_A_LINE = 1_500

/** So many lines of a text, and how much is left out. */
function clipped(
  lines: readonly string[],
  most = MOST_LINES,
): { readonly shown: readonly string[]; readonly left: number } {
  const shown: string[] = []
  let room = MOST_CHARACTERS * (most / MOST_LINES)
  let characters = 0
  for (const line of lines) {
    characters += line.length + 1
    if (shown.length >= most || room <= 0) continue
    const part = cut(line, Math.min(MOST_OF_A_LINE, Math.max(40, room)))
    shown.push(part)
    room -= part.length
  }
  const told = shown.reduce((sum, line) => sum + line.length + 1, 0)
  return { shown, left: Math.max(0, characters - told) }
}

/**
 * Lines of a text, each a link to where it comes from.
 * @param hrefOf the address that explains a line, by its place; none where lines lead nowhere
 */
export function Lines({
  lines,
  words,
  hrefOf,
  more,
  changes,
  most,
}: {
  lines: readonly string[]
  words?: RegExp | undefined
  hrefOf?: ((at: number) => string) | undefined
  /** Where the whole text is. */
  more?: string | undefined
  /** Lines that are new. */
  changes?: ReadonlySet<string> | undefined
  /** Lines at most. */
  most?: number | undefined
}): Child {
  const { shown, left } = clipped(lines, most)
  return (
    <div class="text">
      {shown.map((line, at) => {
        const name = line !== '' && changes?.has(line) === true ? 'ln new' : 'ln'
        return hrefOf === undefined || line.trim() === '' ? (
          <span class={name}>{line === '' ? '\u00a0' : <Marked text={line} words={words} />}</span>
        ) : (
          <a class={name} href={hrefOf(at)} tabindex={-1}>
            <Marked text={line} words={words} />
          </a>
        )
      })}
      {left === 0 || more === undefined ? null : (
        <a class="more" href={more}>
          {count(left)} more characters
        </a>
      )}
    </div>
  )
}

/** Whole numbers, times and the like, as people read them. */
export { count }

/** "1 message", "2 messages". */
export const many = (value: number, one: string, several = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : several}`

/** An instant as it is shown: to the second, in UTC. */
export function Time({ at }: { at: string | undefined }): Child {
  if (at === undefined || at === '') return null
  const shown = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/u.test(at) ? `${at.slice(0, 10)} ${at.slice(11, 19)}` : at
  return <time datetime={at}>{seen(shown)}</time>
}
