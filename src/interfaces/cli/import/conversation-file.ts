/**
 * Reads the input formats of `import`: JSON Lines with or without a header, chat arrays of the OpenAI API in a `.json`
 * file, and one message per line on standard input. Each message has its place, for error messages. The ledger
 * validates the messages.
 */
import { isRecord } from '../../../lib/is-record.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { either as E } from 'fp-ts'
import { strictJson } from '../../../lib/json.js'
import { foreignMessage } from '../../../domain/values/foreign-messages.js'
import { messageHash } from '../../../domain/values/message.js'
import { parseMessage } from '../../../domain/values/parse-message.js'
import { inputWithinValues } from '../../../application/importers/content-part.js'
import { valueOf } from '../json-line.js'
import { textLines } from '../text-lines.js'

/** An item of a file. */
export type Item =
  | { readonly kind: 'header'; readonly id: string | undefined }
  | { readonly kind: 'message'; readonly value: unknown; readonly where: string; readonly bytes: number }
  /** The file has records of another kind: the first line has no field of a message. */
  | { readonly kind: 'no-conversation' }

const isHeader = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && value['type'] === 'conversation' && !('role' in value)

/** An object without any field of a message, in our format or in that of another API. */
const isOtherRecord = (value: unknown): boolean =>
  isRecord(value) &&
  !['role', 'content', 'tool_calls'].some((key) => key in value) &&
  foreignMessage(value) === undefined

const bad = (where: string, detail: string): LedgerError => new LedgerError('MalformedInput', `${where}: ${detail}`)

function headerOf(value: Record<string, unknown>, where: string): Item {
  const { id } = value
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw bad(where, 'id must be a non-empty text: the id of the conversation')
  return { kind: 'header', id }
}

async function* jsonLines(chunks: AsyncIterable<Buffer>, name: string): AsyncIterable<Item> {
  let first = true
  let skipped = 0
  for await (const line of textLines(chunks, name)) {
    if (line.text.trim() === '') {
      skipped += line.bytes
      continue
    }
    const where = `${name}:${String(line.number)}`
    const value = valueOf(line.text, `${where}:`)
    if (first) {
      first = false
      if (isHeader(value)) {
        skipped += line.bytes
        yield headerOf(value, where)
        continue
      }
      if (isOtherRecord(value)) {
        yield { kind: 'no-conversation' }
        return
      }
    } else if (isHeader(value)) throw bad(where, 'a second conversation starts here: a file contains one conversation')
    if (Array.isArray(value))
      throw bad(where, 'is an array: a line contains one message; a chat array must be in a .json file')
    if (isRecord(value) && !('role' in value)) {
      const foreign = foreignMessage(value)
      throw bad(
        where,
        foreign === undefined
          ? 'role is missing: the line is neither a message nor a conversation header'
          : `${foreign.field} ${foreign.detail}`,
      )
    }
    yield { kind: 'message', value: inputWithinValues(value), where, bytes: line.bytes + skipped }
    skipped = 0
  }
}

/**
 * Checks all messages of a file first, so that a file with an invalid message records nothing.
 * @throws LedgerError for the first invalid message, or for one with the id of an earlier message and other content
 */
function checkMessages(messages: readonly unknown[], prefix: string): void {
  const hashes = new Map<string, string>()
  for (const [at, message] of messages.entries()) {
    const where = `${prefix}[${String(at)}]`
    // An id of null counts as missing, as in every import.
    const parsed = parseMessage(isRecord(message) && message['id'] === null ? { ...message, id: undefined } : message)
    if (E.isLeft(parsed)) {
      const { kind, field, detail } = parsed.left
      throw new LedgerError(kind, `${where}: ${field} ${detail}; nothing from this file was recorded`)
    }
    const { messageId } = parsed.right
    if (messageId === undefined) continue
    const hash = messageHash(parsed.right)
    if ((hashes.get(messageId) ?? hash) !== hash)
      throw bad(
        where,
        `has the id "${messageId}" of an earlier message with other content; nothing from this file was recorded`,
      )
    hashes.set(messageId, hash)
  }
}

/** Reads `[{"role": …}]`, or an object with such an array in `messages`. */
async function* chatArray(path: string): AsyncIterable<Item> {
  const bytes = await readFile(path)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw bad(path, 'is not valid UTF-8')
  }
  const read = strictJson(text)
  if (E.isLeft(read)) {
    const { at, detail } = read.left
    throw bad(at === undefined ? path : `${path}:${String(text.slice(0, at).split('\n').length)}`, detail)
  }
  const value = read.right
  const list = isRecord(value) ? value['messages'] : value
  if (!Array.isArray(list)) throw bad(path, 'is neither an array of messages nor an object with an array in "messages"')
  const messages = list.map(inputWithinValues)
  if (isHeader(value)) yield headerOf(value, path)
  const prefix = isRecord(value) ? 'messages' : ''
  checkMessages(messages, `${path}: ${prefix}`)
  for (const [at, message] of messages.entries()) {
    yield {
      kind: 'message',
      value: message,
      where: `${path}: ${prefix}[${String(at)}]`,
      bytes: bytes.length / messages.length,
    }
  }
}

/** The items of a file, or of standard input if the path is `-`. */
export function readConversationFile(path: string): AsyncIterable<Item> {
  if (path === '-') return jsonLines(process.stdin, 'standard input')
  return extname(path).toLowerCase() === '.json' ? chatArray(path) : jsonLines(createReadStream(path), path)
}
