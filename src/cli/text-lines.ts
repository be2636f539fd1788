/** The lines of a file of texts, each with its number, and with its bytes for who shows how far a file is read. */
import { byteLines } from '../ports/byte-lines.js'
import { InputError } from './errors.js'

export interface TextLine {
  readonly text: string
  readonly number: number
  /** Its end included. */
  readonly bytes: number
}

/**
 * Reads the lines; one that is no UTF-8 is named by its number, and not recorded with replacement characters.
 * @param name what the file is called in a complaint
 */
export async function* textLines(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<TextLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let number = 0
  for await (const { bytes } of byteLines(chunks)) {
    number += 1
    let text: string
    try {
      text = decoder.decode(bytes).replace(/\r$/u, '')
    } catch {
      throw new InputError('MalformedInput', `${name}:${String(number)}: is no valid UTF-8`)
    }
    yield { text, number, bytes: bytes.length + 1 }
  }
}
