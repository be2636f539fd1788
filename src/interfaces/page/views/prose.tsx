/** A text of a conversation as Markdown: cut if it is very long, or folded after its beginning. */
import type { Child } from 'hono/jsx'
import { Markdown } from './markdown.js'
import { count, cut, many } from './text.js'

/** Longer messages are cut; a summary is nearly always shown in full. */
const MAX_CHARACTERS = 6_000
const MAX_SUMMARY_CHARACTERS = 40_000

/** The first characters of a text, up to the end of a line. */
function headOf(text: string, most: number): { readonly head: string; readonly omitted: number } {
  if (text.length <= most) return { head: text, omitted: 0 }
  const end = text.lastIndexOf('\n', most)
  const head = end > most / 2 ? text.slice(0, end) : cut(text, most)
  return { head, omitted: text.length - head.length }
}

/** A text as Markdown, with a link to the rest of it. */
export function Prose({
  text,
  words,
  more,
  most = MAX_CHARACTERS,
}: {
  text: string
  words?: RegExp | undefined
  /** The address of the full text; undefined in a report file. */
  more: string | undefined
  /** Maximum characters. */
  most?: number
}): Child {
  const { head, omitted } = headOf(text, most)
  return (
    <>
      {head.trim() === '' ? null : <Markdown text={head} words={words} />}
      {omitted === 0 ? null : more === undefined ? (
        <p class="muted">{count(omitted)} more characters in the ledger</p>
      ) : (
        <a class="more" href={more}>
          {count(omitted)} more characters
        </a>
      )}
    </>
  )
}

/** Rows of a text that are not folded, and characters of a row. */
const ROWS = 14
const ROW_CHARACTERS = 90
/** A shorter rest is not folded. */
const MIN_FOLDED = 4
const FENCE = /^\s*(?:```|~~~)/u

/**
 * The number of lines before the fold: about `ROWS` rows, up to a blank line if there is one, and not inside a code
 * block.
 */
function linesBeforeFold(lines: readonly string[]): number {
  let rows = 0
  let isCode = false
  let blank = 0
  let outside = 0
  for (const [at, line] of lines.entries()) {
    rows += Math.max(1, Math.ceil(line.length / ROW_CHARACTERS))
    if (rows > ROWS && at > 0 && !isCode) {
      const fold = blank >= at / 2 ? blank : outside
      return lines.length - fold < MIN_FOLDED ? lines.length : fold
    }
    if (FENCE.test(line)) isCode = !isCode
    if (isCode) continue
    outside = at + 1
    if (line.trim() === '') blank = at + 1
  }
  return lines.length
}

/** A text as Markdown, of which the rest is folded if it is long. */
export function FoldedProse({ text, more }: { text: string; more: string | undefined }): Child {
  const lines = text.split(/\r\n|\n|\r/u)
  const fold = linesBeforeFold(lines)
  const rest = lines.slice(fold)
  return (
    <>
      <Prose text={lines.slice(0, fold).join('\n')} more={more} />
      {rest.length === 0 ? null : (
        <details class="fold">
          <summary>Show all: {many(rest.length, 'more line')}</summary>
          <Prose text={rest.join('\n')} more={more} most={MAX_SUMMARY_CHARACTERS} />
        </details>
      )}
    </>
  )
}
