/** Shortens texts at the end of a sentence or of a word. */
import { cleanText } from '../../domain/text/clean-text.js'

const SENTENCE_END = /^[^]*(?:[.!?;:](?=\s)|[。！？；])/u
/** A sentence that ends earlier leaves most of the room empty. */
const LEAST_SHARE = 0.5

/** A text in one line with at most so many characters: whole sentences if possible, and never half a word. */
export function shortened(text: string, most: number): string {
  const line = cleanText(text).replaceAll(/\s+/gu, ' ').trim()
  if (line.length <= most) return line
  const head = line.slice(0, most - 2)
  const sentences = SENTENCE_END.exec(head)?.[0].trim() ?? ''
  if (sentences.length >= most * LEAST_SHARE) return `${sentences} …`
  const words = /^[^]*(?=\s)/u.exec(line.slice(0, most - 1))?.[0].trim() ?? ''
  return `${words.length >= most * LEAST_SHARE ? words : head.toWellFormed().replace(/\uFFFD$/u, '')} …`
}
