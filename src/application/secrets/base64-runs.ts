/** Finds Base64 text by hand: a regular expression overflows its stack on a run of many megabytes. */

/** A shorter run cannot contain an encoded secret. */
const SHORTEST_RUN = 24
/** A shorter continuation is a word on the next line. */
const SHORTEST_LINE = 4

const IS_BASE64 = new Uint8Array(128)
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
  IS_BASE64[character.charCodeAt(0)] = 1

/** The end of the Base64 characters from `at` on. */
function endOfRun(text: string, at: number): number {
  let end = at
  while (end < text.length && IS_BASE64[text.charCodeAt(end)] === 1) end += 1
  return end
}

/** The length of a line break at `at`, also of an escaped one; 0 if there is none. */
const lineBreakLength = (text: string, at: number): number =>
  text.startsWith('\n', at) ? 1 : text.startsWith('\r\n', at) || text.startsWith(String.raw`\n`, at) ? 2 : 0

/** The end of a run with its further lines and its padding. */
function endOfLines(text: string, endOfFirst: number): number {
  let end = endOfFirst
  for (;;) {
    const lineBreak = lineBreakLength(text, end)
    const next = lineBreak === 0 ? end : endOfRun(text, end + lineBreak)
    if (next - end - lineBreak < SHORTEST_LINE) break
    end = next
  }
  for (let padding = 0; padding < 2 && text.startsWith('=', end); padding += 1) end += 1
  return end
}

/** Replaces each run of Base64 text, in lines or not. */
export function replaceBase64(text: string, replace: (encoded: string) => string): string {
  if (text.length < SHORTEST_RUN) return text
  let replaced = ''
  let copied = 0
  for (let at = 0; at < text.length; at += 1) {
    // The two digits of a percent encoding are no part of the run.
    if (text[at - 1] === '%') at += 2
    const endOfFirst = endOfRun(text, at)
    if (endOfFirst - at < SHORTEST_RUN) {
      at = endOfFirst
      continue
    }
    const end = endOfLines(text, endOfFirst)
    const encoded = text.slice(at, end)
    const replacement = replace(encoded)
    if (replacement !== encoded) {
      replaced += text.slice(copied, at) + replacement
      copied = end
    }
    at = end
  }
  return copied === 0 ? text : replaced + text.slice(copied)
}
