/** A text line by line, cut if it is long; each line can be a link to its sources. */
import type { Child } from 'hono/jsx'
import { inlineOf } from './markdown.js'
import { count, cut, Marked } from './text.js'

/** Maximum lines and characters of a message in a list. */
const MAX_LINES = 40
const MAX_CHARACTERS = 4_000
const MAX_LINE_CHARACTERS = 1_500

/** The first lines of a text, and the number of omitted characters. */
function clipped(
  lines: readonly string[],
  most = MAX_LINES,
): { readonly lines: readonly string[]; readonly omitted: number } {
  const clippedLines: string[] = []
  let remaining = MAX_CHARACTERS * (most / MAX_LINES)
  let characters = 0
  for (const line of lines) {
    characters += line.length + 1
    if (clippedLines.length >= most || remaining <= 0) continue
    const part = cut(line, Math.min(MAX_LINE_CHARACTERS, Math.max(40, remaining)))
    clippedLines.push(part)
    remaining -= part.length
  }
  const clippedCharacters = clippedLines.reduce((sum, line) => sum + line.length + 1, 0)
  return { lines: clippedLines, omitted: Math.max(0, characters - clippedCharacters) }
}

/**
 * Lines of a text, each a link to its sources.
 * @param hrefOf the link of a line, by index; without it, lines are not links
 */
export function Lines({
  lines,
  words,
  hrefOf,
  more,
  changes,
  most,
  isMarkdown = false,
  isCode = false,
}: {
  lines: readonly string[]
  words?: RegExp | undefined
  hrefOf?: ((at: number) => string) | undefined
  /** Link to the full text. */
  more?: string | undefined
  /** New lines, which are highlighted. */
  changes?: ReadonlySet<string> | undefined
  /** Maximum number of lines. */
  most?: number | undefined
  /** Show emphasis, code and headings of Markdown, line by line. */
  isMarkdown?: boolean
  /** Use the font for code. */
  isCode?: boolean
}): Child {
  const { lines: clippedLines, omitted } = clipped(lines, most)
  return (
    <div class={isCode ? 'text code' : 'text'}>
      {clippedLines.map((line, at) => {
        const { isHeading, content } = isMarkdown
          ? inlineOf(line, words)
          : { isHeading: false, content: <Marked text={line} words={words} /> }
        const name = `ln${line !== '' && changes?.has(line) === true ? ' new' : ''}${isHeading ? ' heading' : ''}`
        return hrefOf === undefined || line.trim() === '' ? (
          <span class={name}>{line === '' ? '\u00a0' : content}</span>
        ) : (
          <a class={name} href={hrefOf(at)} tabindex={-1}>
            {content}
          </a>
        )
      })}
      {omitted === 0 || more === undefined ? null : (
        <a class="more" href={more}>
          {count(omitted)} more characters
        </a>
      )}
    </div>
  )
}
