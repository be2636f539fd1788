/**
 * The skeleton of a file: its keys and types, without its texts. A user can attach it to an issue, so that an importer for
 * an unknown format or version can be written. Only short values that come from a fixed set, such as types and roles, keep
 * their words.
 */
import { isRecord } from '../../lib/is-record.js'
import { exactJson } from '../../lib/json.js'

/** Fields whose short values name a kind. */
const KINDS = new Set([
  'type',
  'subtype',
  'kind',
  'role',
  'sender',
  'status',
  'object',
  'version',
  'v',
  '_v',
  'trigger',
  'stop_reason',
  'finish_reason',
  'format',
  'schema_version',
  'trajectory_format',
])
const KIND = /^[A-Za-z][\w./:-]{0,39}$|^\d[\w.-]{0,15}$/u
const IS_NAME = /^[A-Za-z_$@][\w$.@/-]{0,39}$/u
/** More entries than this in a list or object are summed up by their kinds. */
const LISTED_ENTRIES = 40
const DEPTH = 12

/** What kind of text it is, without its words. */
function textKind(text: string): string {
  const length = `${String(text.length)} characters`
  if (/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/u.test(text)) return 'time'
  if (/^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/iu.test(text)) return 'uuid'
  if (/^https?:\/\//u.test(text)) return `address, ${length}`
  if (/^(?:[A-Za-z]:\\|~?\/|file:\/\/)[^\s]*$/u.test(text)) return `path, ${length}`
  if (/^[\da-f]{16,}$/iu.test(text)) return `hex, ${length}`
  if (/^[\w+/=-]{40,}$/u.test(text)) return `base64 or id, ${length}`
  if (/^[\w.:-]{6,80}$/u.test(text) && /\d/u.test(text)) return `id, ${length}`
  return length
}

/** A text: the structure of JSON in it, otherwise its kind. */
function textSkeleton(text: string, field: string | undefined, depth: number): unknown {
  if (field !== undefined && KINDS.has(field) && KIND.test(text)) return text
  if (/^\s*[[{]/u.test(text)) {
    try {
      return { '<json in a text>': skeleton(exactJson(text), undefined, depth + 1) }
    } catch {
      // It is not JSON.
    }
  }
  return `<${textKind(text)}>`
}

/** A key: a name of a field stays, anything that may be an id or a path does not. */
const keyOf = (key: string): string =>
  IS_NAME.test(key) && !/\d{3,}/u.test(key) && !/\.\w{1,5}$/u.test(key) && !key.includes('/') && !key.includes('@')
    ? key
    : `<${textKind(key)}>`

/** Equal entries of a list once, with their number. */
function listSkeleton(list: readonly unknown[], depth: number): unknown {
  const kinds = new Map<string, { readonly shape: unknown; count: number }>()
  for (const entry of list) {
    const shape = skeleton(entry, undefined, depth + 1)
    const text = JSON.stringify(shape)
    const known = kinds.get(text)
    if (known === undefined) kinds.set(text, { shape, count: 1 })
    else known.count += 1
  }
  const listed = [...kinds.values()].slice(0, LISTED_ENTRIES)
  const rest = kinds.size - listed.length
  return [
    ...listed.map(({ shape, count }) => (count === 1 ? shape : { [`<${String(count)} times>`]: shape })),
    ...(rest === 0 ? [] : [`<${String(rest)} other kinds>`]),
  ]
}

/** @param field the key of the value, if it has one */
export function skeleton(value: unknown, field?: string, depth = 0): unknown {
  if (typeof value === 'string') return textSkeleton(value, field, depth)
  if (typeof value === 'number' || typeof value === 'bigint')
    return field !== undefined && KINDS.has(field) && value < 1000 ? Number(value) : '<number>'
  if (typeof value === 'boolean' || value === null || value === undefined) return value ?? null
  if (depth >= DEPTH) return '<nested more deeply>'
  if (Array.isArray(value)) return listSkeleton(value, depth)
  if (!isRecord(value)) return '<value>'
  const shapes = new Map<string, unknown>()
  for (const [key, each] of Object.entries(value)) {
    const name = keyOf(key)
    // Entries of a map with ids as keys have the same key here: the first one stands for them.
    if (!shapes.has(name)) shapes.set(name, skeleton(each, key, depth + 1))
  }
  return isMap(value, shapes)
    ? { [`<${String(Object.keys(value).length)} keys>`]: [...shapes.values()][0] }
    : Object.fromEntries(shapes)
}

/** Whether the keys of an object are probably names or ids that somebody chose: every entry is an object of one shape. */
function isMap(value: object, shapes: ReadonlyMap<string, unknown>): boolean {
  const entries: readonly unknown[] = Object.values(value)
  const texts = new Set([...shapes.values()].map((shape) => JSON.stringify(shape)))
  return entries.length > 2 && texts.size === 1 && entries.every((entry) => isRecord(entry) || Array.isArray(entry))
}

/** The skeleton of a line of a text file: marks stay, words do not. */
export const lineSkeleton = (line: string): string =>
  line.replaceAll(/[\p{L}\p{M}]+/gu, (word) => 'x'.repeat(Math.min(word.length, 12))).replaceAll(/\d/gu, '0')
