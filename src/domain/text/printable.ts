/** Recorded texts for a terminal. */

const CONTROLS = /[\p{Cc}\p{Cf}]/gu
const visible = (character: string): string =>
  character === '\n' || character === '\t' || character === '\u200d'
    ? character
    : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`

/** Makes a recorded text safe to print: replaces control characters with escapes. */
export const printable = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(CONTROLS, visible).toWellFormed()

/** A text in one line, cut to `characters`. */
export function brief(text: string, characters: number): string {
  const flat = printable(text).replaceAll(/\s+/gu, ' ').trim()
  if (flat.length <= characters) return flat
  // Do not leave half of a surrogate pair.
  return `${flat.slice(0, characters - 1).replace(/[\ud800-\udbff]$/u, '')}…`
}
