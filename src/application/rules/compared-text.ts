/** A text without the characters that do not count in a comparison, and the place of each that counts. */
export interface ComparedText {
  readonly text: string
  readonly places: readonly number[]
}

const PLAIN: Readonly<Record<string, string>> = { '’': "'", '‘': "'", '“': '"', '”': '"', '„': '"', '«': '"', '»': '"' }

/** @param leftOut a pattern for one character */
export function comparedText(text: string, leftOut: RegExp): ComparedText {
  const places: number[] = []
  let compared = ''
  for (let at = 0; at < text.length; at += 1) {
    const character = PLAIN[text.charAt(at)] ?? text.charAt(at)
    if (leftOut.test(character)) continue
    compared += character
    places.push(at)
  }
  return { text: compared, places }
}
