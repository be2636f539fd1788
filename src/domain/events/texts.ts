/**
 * Which fields of an event hold text: the words of messages, and texts derived from them (summaries, titles, hashes
 * of texts). In an erasable ledger these fields are sealed: the stored data has a placeholder in their place, and the
 * texts are encrypted under the key of a unit. If that key is destroyed, the placeholder is what everyone reads.
 */
import { isRecord } from '../../lib/is-record.js'
import { fieldsWith, hasText, messageFields } from '../values/message.js'

/** Stands where a text was erased. */
export const ERASED = '[erased]'
/** Stands where the hash of an erased text was. */
const ERASED_HASH = '0'.repeat(64)

/** The texts with one key, which are erased together. `whole`: texts of a conversation that belong to no message in particular. */
export type Unit =
  | `message:${string}`
  | `chunk:${string}`
  | `batch:${string}`
  | `state:${string}`
  | `aside:${string}`
  | 'whole'

/** Whether a unit is that of a summary. */
export const isSummaryUnit = (unit: string): boolean => /^(?:chunk|batch|aside):/u.test(unit)

export const messageUnit = (messageId: string): Unit => `message:${messageId}`
export const chunkUnit = (chunkId: string): Unit => `chunk:${chunkId}`
export const batchUnit = (batchId: string): Unit => `batch:${batchId}`
/** The working state after a batch. It has texts from before the batch too. */
export const stateUnit = (batchId: string): Unit => `state:${batchId}`
/** A late summary has no id; its event's place identifies it. */
export const asideUnit = (stream: string, revision: number): Unit => `aside:${revision.toString()}:${stream}`

type Json = Readonly<Record<string, unknown>>

/** The value that replaces a sealed one. Undefined: the field is absent. */
type Placeholder = (value: unknown) => unknown

/** Fields of one object of an event that share a key. */
export interface TextGroup {
  /** Path of the object: fields, and `*` for each element of an array. Empty: the data itself. */
  readonly at: readonly string[]
  /** The unit of the object. */
  readonly unit: (object: Json, place: { readonly stream: string; readonly revision: number }) => Unit
  /** The fields, each with its placeholder. */
  readonly fields: Readonly<Record<string, Placeholder>>
  /** True if the object is not marked as erased when these fields are. */
  readonly unmarked?: true
}

const absent: Placeholder = () => undefined
const erasedText: Placeholder = () => ERASED
const erasedHash: Placeholder = () => ERASED_HASH
const emptyList: Placeholder = () => []
const whole = (): Unit => 'whole'
const field = (object: Json, name: string): string => String(object[name])

/** A call keeps its id, its form and its name, so that a context stays valid for the APIs. */
function erasedCall(call: unknown): unknown {
  if (!isRecord(call)) return call
  const { id, type, function: called } = call
  return {
    ...(id === undefined ? {} : { id }),
    ...(type === undefined ? {} : { type }),
    ...(isRecord(called) ? { function: { name: called['name'], arguments: '{}' } } : {}),
  }
}

const erasedCalls: Placeholder = (calls) => (Array.isArray(calls) ? calls.map(erasedCall) : calls)

const MESSAGE_PLACEHOLDERS = {
  text: (content: unknown) => (content === null ? null : ERASED),
  calls: erasedCalls,
  optional: absent,
  hashes: absent,
} as const

const placeholdersOf = (fields: readonly ReturnType<typeof fieldsWith<'sealed'>>[number][]): TextGroup['fields'] =>
  Object.fromEntries(fields.map((name) => [name, MESSAGE_PLACEHOLDERS[messageFields[name].sealed]]))

/** The texts of a message, also of its copy in a checkpoint event. */
const MESSAGE = placeholdersOf(fieldsWith('sealed').filter(hasText))
/** Hashes that cover other messages too. */
const HASHES = placeholdersOf(fieldsWith('sealed').filter((name) => !hasText(name)))

const BATCH: TextGroup['fields'] = { content: erasedText, sections: absent }

const SUMMARY: TextGroup['fields'] = {
  summary: erasedText,
  sections: absent,
  operations: absent,
  rejectedOperations: absent,
}

const RECORD: TextGroup['fields'] = {
  requestHash: erasedHash,
  idSeed: absent,
  answeredRequestHash: absent,
  rejectedAnswers: absent,
  shortened: absent,
}

const erasedEntry: Placeholder = (entries) =>
  Array.isArray(entries)
    ? entries.map((entry: unknown) => {
        if (!isRecord(entry)) return entry
        const { content: _content, body, ...rest } = entry
        return isRecord(body) ? { ...rest, body: { role: body['role'], content: ERASED } } : rest
      })
    : entries

const OBSERVED: TextGroup['fields'] = {
  summary: (summary) => (isRecord(summary) && summary['kind'] === 'text' ? { kind: 'text', text: ERASED } : summary),
  context: erasedEntry,
}

/** The event holds no text. */
export const NO_TEXTS: readonly TextGroup[] = []

export const messageTexts: readonly TextGroup[] = [
  { at: [], unit: (message) => messageUnit(field(message, 'messageId')), fields: MESSAGE },
  { at: [], unit: whole, fields: HASHES, unmarked: true },
]

export const chunkTexts: readonly TextGroup[] = [
  { at: [], unit: (chunk) => chunkUnit(field(chunk, 'chunkId')), fields: { ...SUMMARY, summarizer: sealedIn(RECORD) } },
]

/** A batch without its working state is no erased batch. */
const workingStateIn = (at: readonly string[]): TextGroup => ({
  at,
  unit: (batch) => stateUnit(field(batch, 'batchId')),
  fields: { workingState: absent },
  unmarked: true,
})

export const batchTexts: readonly TextGroup[] = [
  { at: [], unit: (batch) => batchUnit(field(batch, 'batchId')), fields: BATCH },
  workingStateIn([]),
]

export const resummarizedTexts: readonly TextGroup[] = [
  { at: [], unit: (batch) => batchUnit(field(batch, 'batchId')), fields: { ...BATCH, summarizer: sealedIn(RECORD) } },
]

export const asideTexts: readonly TextGroup[] = [
  {
    at: [],
    unit: (_data, { stream, revision }) => asideUnit(stream, revision),
    fields: { ...SUMMARY, summarizer: sealedIn(RECORD) },
  },
]

export const failureTexts: readonly TextGroup[] = [
  { at: [], unit: whole, fields: { detail: erasedText, requestHash: absent, rejectedAnswers: absent } },
]

export const observedTexts: readonly TextGroup[] = [
  { at: [], unit: (data) => chunkUnit(field(data, 'chunkId')), fields: OBSERVED },
]

/** Hashes of a context, and the contents that another program sends instead of messages, in a checkpoint event. */
export const originTexts: readonly TextGroup[] = [
  { at: [], unit: whole, fields: { contextHash: erasedHash, viewHash: erasedHash } },
  {
    at: ['carried', 'observed', 'edits', '*'],
    unit: (edit) => messageUnit(field(edit, 'messageId')),
    fields: { content: erasedText },
  },
]

/** In addition, an event that replaces the active batches has copies of batches and messages. */
export const replacementTexts: readonly TextGroup[] = [
  ...originTexts,
  { at: ['batches', '*'], unit: (batch) => batchUnit(field(batch, 'batchId')), fields: BATCH },
  workingStateIn(['batches', '*']),
  { at: ['restored', '*'], unit: (message) => messageUnit(field(message, 'messageId')), fields: MESSAGE },
  { at: ['restored', '*'], unit: whole, fields: { answers: absent }, unmarked: true },
  { at: ['observed'], unit: (data) => chunkUnit(field(data, 'chunkId')), fields: OBSERVED },
]

export const editTexts: readonly TextGroup[] = [
  { at: [], unit: (edit) => messageUnit(field(edit, 'messageId')), fields: { content: erasedText } },
]

/** Fields with a text about the whole conversation. */
export const wholeTexts = (fields: Readonly<Record<string, 'text' | 'optional' | 'list'>>): readonly TextGroup[] => [
  {
    at: [],
    unit: whole,
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, kind]) => [
        name,
        kind === 'text' ? erasedText : kind === 'list' ? emptyList : absent,
      ]),
    ),
  },
]

/** The placeholder of an object of which some fields are sealed. */
function sealedIn(fields: TextGroup['fields']): Placeholder {
  return (value) => (isRecord(value) ? withPlaceholders(value, fields) : value)
}

function withPlaceholders(object: Json, fields: TextGroup['fields']): Record<string, unknown> {
  const result: Record<string, unknown> = { ...object }
  for (const name of Object.keys(fields)) {
    if (!(name in object)) continue
    const value = fields[name]?.(object[name])
    if (value === undefined) delete result[name]
    else result[name] = value
  }
  return result
}

/** A message without its texts. */
export function withoutTexts<Message extends object>(message: Message): Message {
  const fields: Record<string, unknown> = Object.fromEntries(Object.entries(message))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each placeholder is a value of its field, and the other fields are optional
  return withPlaceholders(fields, MESSAGE) as Message
}

/** A path to one object: fields and indexes. */
export type ObjectPath = readonly (string | number)[]

/** The texts of one object, which are sealed together. */
interface TextsOfObject {
  readonly at: ObjectPath
  readonly unit: Unit
  readonly unmarked?: true
  readonly values: Readonly<Record<string, unknown>>
}

/** Event data with placeholders, and the texts that were in their places. */
export interface SeparatedTexts {
  readonly data: Record<string, unknown>
  readonly texts: readonly TextsOfObject[]
}

const MOST_NESTED = 8

/** All objects that a path leads to. */
function objectsAt(data: unknown, path: readonly string[], at: ObjectPath = []): { object: Json; at: ObjectPath }[] {
  if (path.length === 0) return isRecord(data) ? [{ object: data, at }] : []
  const [step = '', ...rest] = path
  if (at.length > MOST_NESTED) return []
  if (step === '*')
    return Array.isArray(data)
      ? data.flatMap((element: unknown, index) => objectsAt(element, rest, [...at, index]))
      : []
  return isRecord(data) ? objectsAt(data[step], rest, [...at, step]) : []
}

/** A copy of a value in which the object at a path is replaced. */
function replaceAt(data: unknown, at: ObjectPath, change: (object: Json) => Json): unknown {
  if (at.length === 0) return isRecord(data) ? change(data) : data
  const [step = '', ...rest] = at
  if (Array.isArray(data))
    return data.map((element: unknown, index) => (index === step ? replaceAt(element, rest, change) : element))
  return isRecord(data) && step in data ? { ...data, [step]: replaceAt(data[String(step)], rest, change) } : data
}

/** Takes the texts out of the data of an event. The data is not changed. */
export function separateTexts(
  groups: readonly TextGroup[],
  data: Record<string, unknown>,
  place: { readonly stream: string; readonly revision: number },
): SeparatedTexts {
  const texts: TextsOfObject[] = []
  let separated: unknown = data
  for (const { at: path, unit, fields, unmarked } of groups) {
    for (const { object, at } of objectsAt(data, path)) {
      const values = valuesOf(object, fields)
      if (values === undefined) continue
      texts.push({ at, unit: unit(object, place), ...(unmarked === undefined ? {} : { unmarked }), values })
      separated = replaceAt(separated, at, (current) => withPlaceholders(current, fields))
    }
  }
  return { data: isRecord(separated) ? separated : data, texts }
}

/** The values of these fields; undefined if the object has none. */
function valuesOf(object: Json, fields: TextGroup['fields']): Json | undefined {
  let values: Record<string, unknown> | undefined
  for (const name of Object.keys(fields)) {
    const value = object[name]
    if (value !== undefined && value !== null) (values ??= {})[name] = value
  }
  return values
}

/** The object at a path; undefined if there is none. */
export function objectAt(data: Record<string, unknown>, at: ObjectPath): Record<string, unknown> | undefined {
  let found: unknown = data
  for (const step of at) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = Reflect.get(found, step)
  }
  return isRecord(found) ? found : undefined
}
