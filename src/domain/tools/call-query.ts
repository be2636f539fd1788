/** What a tool call does: its use, its subject and the files, whatever the program calls the tool and its arguments. */
import { quote } from '../text/quote.js'
import { commandOf, type Answer } from './shell.js'
import { seemsToRead, shapeOf, type ToolShape, type ToolUse } from './tool-shapes.js'

/** A call, as far as its use depends on it. */
export interface NamedCall {
  readonly name: string
  /** JSON, or the program's own format. */
  readonly arguments: string
}

/** The query of a call. */
export interface CallQuery {
  readonly use: ToolUse | 'other'
  /** Equal for equal queries. */
  readonly key: string
  /** The object of the query, for people. */
  readonly subject: string
  /** The file that it reads, if it does nothing else, or the files that it may change. */
  readonly files: readonly string[]
  readonly answer: Answer
  /** Started without waiting for the result. */
  readonly inBackground: boolean
}

/** A path in normal form: with slashes, without `file://` and `./`. */
export const pathOf = (path: string): string =>
  path
    .trim()
    .replaceAll('\\', '/')
    .replace(/^file:\/\//u, '')
    .replace(/^@(?=[\w./~])/u, '')
    .replaceAll(/\/(?:\.\/)+/gu, '/')
    .replace(/^(?:\.\/)+/u, '')
    .replace(/(?<=.)\/+$/u, '')

/** The last part of a path. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Whether two paths may name the same file: the shorter one is the end of the longer one. */
export function isSamePath(a: string, b: string): boolean {
  if (a === b) return true
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return long.endsWith(short.startsWith('/') ? short : `/${short}`)
}

type Arguments = Readonly<Record<string, unknown>>

/** The arguments of a call; a text that is no JSON is the argument `value`. */
export function argumentsOf(call: NamedCall): Arguments {
  try {
    const parsed: unknown = JSON.parse(call.arguments)
    return typeof parsed === 'object' && parsed !== null
      ? Object.fromEntries(Object.entries(parsed))
      : { value: parsed }
  } catch {
    // Arguments that are not JSON are used as text: a patch, a command.
    return call.arguments.trim() === '' ? {} : { value: call.arguments }
  }
}

const isFilled = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

/** Deeper nesting is not a real argument. */
const MOST_LEVELS = 40

/** A value as text with sorted keys, so that equal arguments give equal text. */
function canonical(value: unknown, level = 0): string {
  if (level > MOST_LEVELS) return '…'
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each, level + 1)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
  return `{${Object.entries(value)
    .filter(([, each]) => isFilled(each))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, each]) => `${key}:${canonical(each, level + 1)}`)
    .join(',')}}`
}

// Descriptions for people do not change what a call does.
const DESCRIPTION_ARGUMENTS = new Set([
  'description',
  'explanation',
  'justification',
  'reason',
  'toolSummary',
  'thought',
])
const withoutWords = (values: Arguments): Arguments =>
  Object.fromEntries(Object.entries(values).filter(([key]) => !DESCRIPTION_ARGUMENTS.has(key)))

const textIn = (value: unknown): string => {
  if (typeof value === 'string') return value
  // A command may be a list of words: in ["bash", "-lc", "ls"] the last one is run.
  if (Array.isArray(value) && value.every((word): word is string => typeof word === 'string'))
    return /^(?:\S*\/)?(?:ba|z|da)?sh$/u.test(value[0] ?? '') && /^-\w*c$/u.test(value[1] ?? '')
      ? value.slice(2).join(' ')
      : value.join(' ')
  return canonical(value)
}

/** The files that a patch in the form of `apply_patch` changes. */
const patched = (text: string): string[] =>
  Array.from(text.matchAll(/\*\*\* (?:Add|Update|Delete) File: (\S[^\n\\"]{0,200})/gu), ([, file = '']) => pathOf(file))

/** The questions of a tool that asks the user, without the choices. */
function questionOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map((each) => (Array.isArray(each) ? '' : questionOf(each))).join(' ')
  if (typeof value === 'object' && value !== null) {
    const { question } = Object.fromEntries(Object.entries(value))
    return typeof question === 'string' ? question : canonical(value)
  }
  return ''
}

/** The argument that names the subject of a call. */
const subjectIn = (values: Arguments, shape: ToolShape | undefined): unknown =>
  shape?.subject.map((key) => values[key]).find(isFilled) ?? (shape === undefined ? undefined : values['value'])

/** The whole command of a call of a shell; undefined if the tool is none, or the call has no command. */
export function shellCommandOf(call: NamedCall): string | undefined {
  const shape = shapeOf(call.name)
  const command = shape?.use === 'shell' ? subjectIn(argumentsOf(call), shape) : undefined
  return command === undefined ? undefined : textIn(command)
}

/** The use, the subject and the key of a call. */
export function queryOf(call: NamedCall): CallQuery {
  const values = argumentsOf(call)
  const shape = shapeOf(call.name)
  const inBackground =
    values['run_in_background'] === true || values['is_background'] === true || values['background'] === true
  const subjectValue = subjectIn(values, shape)
  const subject = quote(subjectValue === undefined ? canonical(withoutWords(values)) : textIn(subjectValue), 110)
  const by = shape?.by === undefined ? undefined : values[shape.by.argument]
  const use: CallQuery['use'] = (typeof by === 'string' ? shape?.by?.values[by] : undefined) ?? shape?.use ?? 'other'
  const base: Pick<CallQuery, 'use' | 'subject' | 'inBackground' | 'files'> = { use, subject, inBackground, files: [] }
  const whole = `${call.name.toLowerCase()} ${canonical(withoutWords(values))}`
  switch (use) {
    case 'read':
      return typeof subjectValue === 'string'
        ? { ...base, key: `file ${pathOf(subjectValue)}`, files: [pathOf(subjectValue)], answer: 'files' }
        : { ...base, key: whole, answer: 'files' }
    case 'write':
      return {
        ...base,
        key: whole,
        files:
          typeof subjectValue === 'string' && !subjectValue.includes('\n')
            ? [pathOf(subjectValue)]
            : patched(call.arguments),
        answer: 'acts',
      }
    case 'shell': {
      const command = commandOf(subjectValue === undefined ? '' : textIn(subjectValue))
      const files = command.files.map(pathOf)
      const changed = command.answer === 'acts' ? [...patched(call.arguments), ...command.changes.map(pathOf)] : []
      if (files[0] !== undefined) return { ...base, use: 'read', key: `file ${files[0]}`, files, answer: 'files' }
      return { ...base, key: `command ${command.key}`, files: changed, answer: inBackground ? 'acts' : command.answer }
    }
    case 'ask':
      return {
        ...base,
        subject: quote(questionOf(subjectValue), 110),
        key: `question ${questionOf(subjectValue)}`,
        answer: 'files',
      }
    case 'search':
      return { ...base, key: whole, answer: 'files' }
    case 'web':
      return { ...base, key: whole, answer: /\b(?:localhost|127\.0\.0\.1)\b/u.test(call.arguments) ? 'waits' : 'files' }
    case 'wait':
      return { ...base, key: whole, answer: 'waits' }
    case 'agent':
    case 'note':
      return { ...base, key: whole, answer: 'acts' }
    case 'other':
      return { ...base, key: whole, answer: seemsToRead(call.name) ? 'state' : 'acts' }
  }
}
