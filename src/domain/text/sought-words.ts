/** The words and quoted phrases of a search text. */

/** Maximum number of words and phrases in one text. Each is looked for in every message. */
export const MAX_SOUGHT_WORDS = 32

/**
 * Splits a text at blanks, except within double quotes: `berth "date bug"` has the word `berth` and the phrase
 * `date bug`. A phrase without its closing quote ends with the text, so that a form can search while a
 * user types. A text of blanks and quotes only is one word.
 */
export function soughtWords(text: string): readonly string[] {
  const words = Array.from(text.matchAll(/["“”]([^"“”]*)(?:["“”]|$)|(\S+)/gu), ([, phrase, word = '']) =>
    (phrase ?? word).trim(),
  )
  const distinct = [...new Set(words.filter((word) => word !== ''))]
  return distinct.length === 0 ? [text] : distinct
}
