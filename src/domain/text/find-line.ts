/**
 * Whether a text contains a line that somebody copied from what the model saw: word for word, or but for white space.
 */

/** How a line was found. `spacing`: but for white space, which copying from a terminal changes. */
export type Match = 'exact' | 'spacing'

const EXCERPT_CHARACTERS = 60

const flat = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()

/** Asks texts for a line; the first text that has it word for word, else the first that has it but for white space. */
export function lineFinder(
  line: string,
): (texts: readonly string[]) => { readonly match: Match; readonly excerpt: string } | undefined {
  const wanted = line.trim()
  const flatLine = flat(line)
  const around = (text: string, at: number, length: number): string =>
    text.slice(Math.max(0, at - EXCERPT_CHARACTERS), at + length + EXCERPT_CHARACTERS)
  return (texts) => {
    if (flatLine === '') return undefined
    for (const text of texts) {
      const at = text.indexOf(wanted)
      if (at !== -1) return { match: 'exact', excerpt: around(text, at, wanted.length) }
    }
    for (const text of texts) {
      const flatText = flat(text)
      const at = flatText.indexOf(flatLine)
      if (at !== -1) return { match: 'spacing', excerpt: around(flatText, at, flatLine.length) }
    }
    return undefined
  }
}
