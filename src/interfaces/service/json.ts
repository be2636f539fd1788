/** Bodies as they came over the wire: valid UTF-8, and JSON that is recorded as it was meant. */
import { either as E } from 'fp-ts'
import { isRecord } from '../../lib/is-record.js'
import {
  countValues,
  hasMoreValues,
  MOST_MESSAGE_VALUES,
  MOST_VALUES,
  parsedJson,
  recordingProblem,
} from '../../lib/json.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
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

/**
 * The work for a body grows with its JSON values, so their limit follows that of its bytes. With 16 MiB, ten thousand
 * messages may have 26 values each. Other requests are answered between two messages, so one has a limit of its own.
 */
const BYTES_PER_VALUE = 64

const tooManyValues = (part: string, most: number, remedy: string): Refused =>
  new Refused('TooManyValues', `${part} has more than ${String(most)} JSON values: ${remedy}`, { limit: most })

const LIST_OF_MESSAGES = 'messages'

/** Rejects a body of which one part has too many values: an item of one of its lists, or everything else. */
function checkParts(body: unknown): void {
  const fields = isRecord(body) ? Object.entries(body) : [['', body] as const]
  let rest = 0
  for (const [name, value] of fields) {
    if (!Array.isArray(value)) rest += countValues(value, MOST_VALUES)
    else {
      const most = name === LIST_OF_MESSAGES ? MOST_MESSAGE_VALUES : MOST_VALUES
      for (const [at, item] of value.entries())
        if (countValues(item, most) > most)
          throw tooManyValues(`${name}[${String(at)}]`, most, 'send its large values as texts')
    }
  }
  if (rest > MOST_VALUES) throw tooManyValues('the body', MOST_VALUES, 'send less at once')
}

/** What a text says as JSON. Other requests are answered between the steps for a long one. */
export async function jsonOf(text: string, mostBytes: number): Promise<unknown> {
  if (text.trim() === '') throw new Refused('MalformedJson', 'the body is empty, and JSON is wanted')
  const most = Math.max(MOST_VALUES, Math.floor(mostBytes / BYTES_PER_VALUE))
  if (hasMoreValues(text, most)) throw tooManyValues('the body', most, 'send less at once, or raise --max-body')
  if (isPauseDue(text.length)) await pause()
  const parsed = parsedJson(text)
  if (isPauseDue(text.length)) await pause()
  const problem = E.isLeft(parsed) ? parsed.left : recordingProblem(text)
  if (problem !== undefined) {
    const { kind, detail, field } = problem
    throw new Refused(kind, `the body ${detail}`, field === undefined ? {} : { field })
  }
  if (hasMoreValues(text, MOST_MESSAGE_VALUES)) checkParts(E.toUnion(parsed))
  if (isPauseDue(text.length)) await pause()
  return E.toUnion(parsed)
}
