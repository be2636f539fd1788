/**
 * Reads what `import` takes: JSON Lines with a header or without, chat arrays of the OpenAI API in a `.json` file, and
 * one message per line on standard input. Each message comes with its place, which a complaint names. The ledger decides
 * whether a message is right, and not this file.
 */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { either as E } from 'fp-ts'
import { strictJson } from '../../domain/text/json.js'
import { foreignMessage } from '../../domain/values/foreign-messages.js'
import { InputError } from '../errors.js'
import { valueOf } from '../json-line.js'
import { textLines } from '../text-lines.js'

/** What a file turned out to hold. */
export type Item =
  | { readonly kind: 'header'; readonly id: string | undefined }
  | { readonly kind: 'message'; readonly value: unknown; readonly where: string; readonly bytes: number }
  /** Records of another kind, as lie beside conversations: the first line has nothing that a message has. */
  | { readonly kind: 'no-conversation' }

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isHeader = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && value['type'] === 'conversation' && !('role' in value)

/** An object with nothing in it that a message has, neither one of ours nor one of another API. */
const isAnotherRecord = (value: unknown): boolean =>
  isObject(value) &&
  !['role', 'content', 'tool_calls'].some((key) => key in value) &&
  foreignMessage(value) === undefined

const bad = (where: string, detail: string): InputError => new InputError('MalformedInput', `${where}: ${detail}`)

function headerOf(value: Record<string, unknown>, where: string): Item {
  const { id } = value
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw bad(where, 'id must be a text, and names the conversation')
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
      if (isAnotherRecord(value)) {
        yield { kind: 'no-conversation' }
        return
      }
    } else if (isHeader(value)) throw bad(where, 'a second conversation begins: one file holds one')
    if (Array.isArray(value))
      throw bad(where, 'is an array: a line holds one message, and a chat array goes in a .json file')
    if (isObject(value) && !('role' in value)) {
      const foreign = foreignMessage(value)
      throw bad(
        where,
        foreign === undefined
          ? 'role is missing: neither a message nor the header of a conversation'
          : `${foreign.field} ${foreign.detail}`,
      )
    }
    yield { kind: 'message', value, where, bytes: line.bytes + skipped }
    skipped = 0
  }
}

/** `[{"role": …}]`, or an object that holds such a list in `messages`. */
async function* chatArray(path: string): AsyncIterable<Item> {
  const bytes = await readFile(path)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw bad(path, 'is no valid UTF-8')
  }
  const read = strictJson(text)
  if (E.isLeft(read)) {
    const { at, detail } = read.left
    throw bad(at === undefined ? path : `${path}:${String(text.slice(0, at).split('\n').length)}`, detail)
  }
  const value = read.right
  const messages = isObject(value) ? value['messages'] : value
  if (!Array.isArray(messages)) throw bad(path, 'is neither a list of messages nor an object with one in "messages"')
  if (isHeader(value)) yield headerOf(value, path)
  const prefix = isObject(value) ? 'messages' : ''
  for (const [at, message] of messages.entries()) {
    yield {
      kind: 'message',
      value: message,
      where: `${path}: ${prefix}[${String(at)}]`,
      bytes: bytes.length / messages.length,
    }
  }
}

/** What a file holds, or standard input where the path is `-`. */
export function readConversationFile(path: string): AsyncIterable<Item> {
  if (path === '-') return jsonLines(process.stdin, 'standard input')
  return extname(path).toLowerCase() === '.json' ? chatArray(path) : jsonLines(createReadStream(path), path)
}

/** The id that a file without a header gives its conversation. */
export const idFromName = (path: string): string => basename(path, extname(path))
