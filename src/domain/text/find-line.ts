/** Finds a line that a person copied from the model's context, exactly or ignoring white space. */

/** How a line was found. `spacing`: ignoring white space, which copying from a terminal changes. */
export type Match = 'exact' | 'spacing'

const EXCERPT_CHARACTERS = 60

const flat = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()

/**
 * Returns a function that searches texts for a line: the first exact match, or else the first match ignoring white
 * space.
 */
export function lineFinder(
  line: string,
): (texts: readonly string[]) => { readonly match: Match; readonly excerpt: string } | undefined {
  const exactLine = line.trim()
  const flatLine = flat(line)
  const around = (text: string, at: number, length: number): string =>
    text.slice(Math.max(0, at - EXCERPT_CHARACTERS), at + length + EXCERPT_CHARACTERS)
  return (texts) => {
    if (flatLine === '') return undefined
    for (const text of texts) {
      const at = text.indexOf(exactLine)
      if (at !== -1) return { match: 'exact', excerpt: around(text, at, exactLine.length) }
    }
    for (const text of texts) {
      const flatText = flat(text)
      const at = flatText.indexOf(flatLine)
      if (at !== -1) return { match: 'spacing', excerpt: around(flatText, at, flatLine.length) }
    }
    return undefined
  }
}
