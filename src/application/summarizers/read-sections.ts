/**
 * Sections in an answer of a model: JSON as it should be, or inside other text, or broken. Broken JSON is repaired by
 * `jsonrepair`; values of another type are converted if nothing is lost.
 */
import { isRecord } from '../../lib/is-record.js'
import { jsonrepair } from 'jsonrepair'
import { NO_SECTIONS, type Sections } from '../../domain/events/index.js'

type Entries = string[]
type Work = Sections['completedWork'][number]

/** Keys are compared without case, spaces and underscores. `pendingWork` is the name before version 2. */
const keyOf = (name: string): string => name.replaceAll(/[\s_-]/gu, '').toLowerCase()
const SECTION_NAMES: ReadonlyMap<string, keyof Sections> = new Map([
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant object
  ...Object.keys(NO_SECTIONS).map((name) => [keyOf(name), name as keyof Sections] as const),
  [keyOf('pendingWork'), 'openItems'],
])
const sectionOf = (name: string): keyof Sections | undefined => SECTION_NAMES.get(keyOf(name))

const MOST_LEVELS = 4

/** A value as one line of text; empty for nothing. */
function sentenceOf(value: unknown, levels = MOST_LEVELS): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value.trim()
  if (typeof value !== 'object' || levels === 0) return JSON.stringify(value)
  const parts = Array.isArray(value)
    ? value.map((each) => sentenceOf(each, levels - 1))
    : Object.entries(value).map(([name, each]) => {
        const text = sentenceOf(each, levels - 1)
        return text === '' ? '' : `${name}: ${text}`
      })
  return parts.filter((part) => part !== '').join('; ')
}

const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

const entriesOf = (value: unknown): Entries => {
  // An object instead of a list: each of its fields is an entry.
  const items = isRecord(value) ? Object.entries(value).map(([name, each]) => ({ [name]: each })) : itemsOf(value)
  return items.map((item) => sentenceOf(item)).filter((entry) => entry !== '')
}

function workOf(item: unknown): Work[] {
  if (!isRecord(item)) {
    const description = sentenceOf(item)
    return description === '' ? [] : [{ file: '', action: '', description }]
  }
  const { file, action, description, ...rest } = item
  const work = {
    file: sentenceOf(file),
    action: sentenceOf(action),
    description: [sentenceOf(description), sentenceOf(rest)].filter((part) => part !== '').join('; '),
  }
  return work.file === '' && work.action === '' && work.description === '' ? [] : [work]
}

const looksLikeWork = (value: Readonly<Record<string, unknown>>): boolean =>
  ['file', 'action', 'description'].some((name) => name in value)

const workEntries = (value: unknown): Work[] =>
  isRecord(value) && !looksLikeWork(value)
    ? Object.entries(value).flatMap(([file, each]) =>
        workOf(isRecord(each) ? { file, ...each } : { file, description: each }),
      )
    : itemsOf(value).flatMap(workOf)

/** An object as sections. A field of another name becomes facts, so that its text is not lost. */
function sectionsOf(value: Readonly<Record<string, unknown>>): Sections {
  const lists: Record<Exclude<keyof Sections, 'completedWork'>, Entries> & { completedWork: Work[] } =
    structuredClone(NO_SECTIONS)
  for (const [name, each] of Object.entries(value)) {
    const section = sectionOf(name)
    if (section === undefined) lists.facts.push(...entriesOf(each).map((entry) => `${name}: ${entry}`))
    else if (section === 'completedWork') lists.completedWork.push(...workEntries(each))
    else lists[section].push(...entriesOf(each))
  }
  return lists
}

const strict = (json: string): unknown => JSON.parse(json)
const repaired = (json: string): unknown => JSON.parse(jsonrepair(json))

function parsed(json: string, parse: (json: string) => unknown): unknown {
  try {
    return parse(json)
  } catch {
    return undefined
  }
}

const hasSection = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(value).some((name) => sectionOf(name) !== undefined)

/** The object with sections in a parsed value: itself, the only element of a list, or the only field of an object. */
function sectionsObject(value: unknown, levels = 3): Readonly<Record<string, unknown>> | undefined {
  if (levels === 0) return undefined
  if (Array.isArray(value)) return firstSections(value, levels - 1)
  if (!isRecord(value)) return undefined
  if (hasSection(value)) return value
  const fields = Object.values(value)
  return fields.length === 1 ? firstSections(fields, levels - 1) : undefined
}

function firstSections(values: readonly unknown[], levels: number): Readonly<Record<string, unknown>> | undefined {
  for (const value of values) {
    const found = sectionsObject(value, levels)
    if (found !== undefined) return found
  }
  return undefined
}

/** The parts of an answer that may be its JSON, and how to parse them. Parts that need no repair come first. */
function* candidates(answer: string): Generator<readonly [json: string, parse: (json: string) => unknown]> {
  const start = answer.indexOf('{')
  if (start === -1) return
  const fenced = /```[a-z]*\s*(\{[\s\S]*?)```/iu.exec(answer)?.[1]
  const braced = answer.slice(start, answer.lastIndexOf('}') + 1)
  if (fenced !== undefined) yield [fenced, strict]
  yield [braced, strict]
  if (fenced !== undefined) yield [fenced, repaired]
  // Without its last brackets.
  yield [answer.slice(start), repaired]
  yield [braced, repaired]
}

/** The values that the JSON in an answer may have; those that need no repair come first. */
export function* jsonIn(answer: string): Generator {
  for (const [json, parse] of candidates(answer)) yield parsed(json, parse)
}

/** The sections in an answer; undefined if it has none, as in prose. Sections without any entry are sections too. */
export function readSections(answer: string): Sections | undefined {
  for (const value of jsonIn(answer)) {
    const found = sectionsObject(value)
    if (found !== undefined) return sectionsOf(found)
  }
  return undefined
}
