/** The lines of a text file, each with its number and its size in bytes for progress displays. */
import { LedgerError } from '../../lib/ledger-error.js'
import { byteLines } from '../../lib/byte-lines.js'

export interface TextLine {
  readonly text: string
  readonly number: number
  /** Including the line break. */
  readonly bytes: number
}

/**
 * Reads the lines. A line that is not valid UTF-8 is an error, instead of text with replacement characters. @param name
 * the name of the file in error messages
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
      throw new LedgerError('MalformedInput', `${name}:${String(number)}: is not valid UTF-8`)
    }
    yield { text, number, bytes: bytes.length + 1 }
  }
}
