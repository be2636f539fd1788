/** Bodies as they came over the wire: valid UTF-8, and JSON that is recorded as it was meant. */
import { either as E } from 'fp-ts'
import { strictJson } from '../lib/json.js'
import { Refused } from './problems.js'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** The text of a body. */
export function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Refused('NotUtf8', 'the body is not UTF-8: nothing was recorded')
  }
}

/** The work for a body grows with its JSON values. Ten thousand messages with five fields each are fewer. */
const MOST_VALUES = 65_536

/** What a text says as JSON. */
export function jsonOf(text: string): unknown {
  if (text.trim() === '') throw new Refused('MalformedJson', 'the body is empty, and JSON is wanted')
  const read = strictJson(text, MOST_VALUES)
  if (E.isRight(read)) return read.right
  const { kind, detail, field } = read.left
  throw new Refused(kind, `the body ${detail}`, field === undefined ? {} : { field })
}
