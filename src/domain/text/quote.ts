/** Shortens texts to one line. */
import { cleanText, headOf } from './clean-text.js'

const MOST_CHARACTERS = 160

/** A text in one short line, with an ellipsis if text is missing. */
export function quote(text: string, most = MOST_CHARACTERS): string {
  // Only the beginning is cleaned: a tool result may be a megabyte.
  const flat = cleanText(headOf(text, most * 8))
    .replaceAll(/\s+/gu, ' ')
    .trim()
  return flat.length <= most && text.length <= most * 8 ? flat : `${headOf(flat, most - 1).trimEnd()}…`
}
