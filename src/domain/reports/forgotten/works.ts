/**
 * The calls of a stretch of messages, each with its result and what it asked: the same question has the same key,
 * whatever the tool of that program is called.
 */
import { defaultEstimator } from '../../values/tokens.js'
import { commandOf, type Answer } from './shell.js'
import type { Said, SaidCall } from './said.js'
import { seemsToRead, shapeOf, type ToolUse } from './tool-shapes.js'
import { quote } from './quote.js'

/** What a call asks. */
interface Asked {
  readonly use: ToolUse | 'other'
  /** The same for the same question. */
  readonly key: string
  /** To what, for people. */
  readonly subject: string
  /** The file that it reads, where that is all that it does, or the files that it may change. */
  readonly files: readonly string[]
  readonly answer: Answer
  /** Started, and not waited for. */
  readonly inBackground: boolean
}

/** A call with its result. */
export interface Work {
  readonly call: SaidCall
  readonly asked: Asked
  /** The message that calls, and where it stands in the conversation. */
  readonly by: Said
  readonly place: number
  /** The message that answers; undefined where the stretch has none. */
  readonly result: Said | undefined
}

/** A path as every program writes it: with slashes, from the folder that it begins in. */
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

/** Whether two paths may be of one file: the shorter one is the end of the longer one. */
export function isSamePath(a: string, b: string): boolean {
  if (a === b) return true
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return long.endsWith(short.startsWith('/') ? short : `/${short}`)
}

type Arguments = Readonly<Record<string, unknown>>

function argumentsOf(call: SaidCall): Arguments {
  try {
    const parsed: unknown = JSON.parse(call.arguments)
    return typeof parsed === 'object' && parsed !== null
      ? Object.fromEntries(Object.entries(parsed))
      : { value: parsed }
  } catch {
    // Arguments that are no JSON are taken as they came: a patch, a command.
    return call.arguments.trim() === '' ? {} : { value: call.arguments }
  }
}

const isFilled = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

/** Deeper values are no arguments that anybody gave. */
const MOST_LEVELS = 40

/** A value as text: keys in one order, so that the same arguments are the same text. */
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

// What a call is described by for people changes nothing about it.
const SAID_FOR_PEOPLE = new Set(['description', 'explanation', 'justification', 'reason', 'toolSummary', 'thought'])
const withoutWords = (values: Arguments): Arguments =>
  Object.fromEntries(Object.entries(values).filter(([key]) => !SAID_FOR_PEOPLE.has(key)))

const textIn = (value: unknown): string => {
  if (typeof value === 'string') return value
  // A command may be a list of words: the last of ["bash", "-lc", "ls"] is what is run.
  if (Array.isArray(value) && value.every((word): word is string => typeof word === 'string'))
    return /^(?:ba|z|da)?sh$/u.test(value[0] ?? '') && /^-\w*c$/u.test(value[1] ?? '')
      ? value.slice(2).join(' ')
      : value.join(' ')
  return canonical(value)
}

/** The files that a patch in the form of `apply_patch` changes. */
const patched = (text: string): string[] =>
  Array.from(text.matchAll(/\*\*\* (?:Add|Update|Delete) File: (\S[^\n\\"]{0,200})/gu), ([, file = '']) => pathOf(file))

/** The questions of a tool that asks the user, without their answers to choose from. */
function questionOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map((each) => (Array.isArray(each) ? '' : questionOf(each))).join(' ')
  if (typeof value === 'object' && value !== null) {
    const { question } = Object.fromEntries(Object.entries(value))
    return typeof question === 'string' ? question : canonical(value)
  }
  return ''
}

function askedBy(call: SaidCall): Asked {
  const values = argumentsOf(call)
  const shape = shapeOf(call.name)
  const inBackground =
    values['run_in_background'] === true || values['is_background'] === true || values['background'] === true
  const given =
    shape?.subject.map((key) => values[key]).find(isFilled) ?? (shape === undefined ? undefined : values['value'])
  const subject = quote(given === undefined ? canonical(withoutWords(values)) : textIn(given), 110)
  const by = shape?.by === undefined ? undefined : values[shape.by.argument]
  const use: Asked['use'] = (typeof by === 'string' ? shape?.by?.values[by] : undefined) ?? shape?.use ?? 'other'
  const base: Pick<Asked, 'use' | 'subject' | 'inBackground' | 'files'> = { use, subject, inBackground, files: [] }
  const whole = `${call.name.toLowerCase()} ${canonical(withoutWords(values))}`
  switch (use) {
    case 'read':
      return typeof given === 'string'
        ? { ...base, key: `file ${pathOf(given)}`, files: [pathOf(given)], answer: 'files' }
        : { ...base, key: whole, answer: 'files' }
    case 'write':
      return {
        ...base,
        key: whole,
        files: typeof given === 'string' && !given.includes('\n') ? [pathOf(given)] : patched(call.arguments),
        answer: 'acts',
      }
    case 'shell': {
      const command = commandOf(given === undefined ? '' : textIn(given))
      const files = command.files.map(pathOf)
      const changed = command.answer === 'acts' ? [...patched(call.arguments), ...command.changes.map(pathOf)] : []
      if (files[0] !== undefined) return { ...base, use: 'read', key: `file ${files[0]}`, files, answer: 'files' }
      return { ...base, key: `command ${command.key}`, files: changed, answer: inBackground ? 'acts' : command.answer }
    }
    case 'ask':
      return { ...base, subject: quote(questionOf(given), 110), key: `question ${questionOf(given)}`, answer: 'files' }
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

/**
 * The calls of some messages, in their order.
 * @param from where the first of them stands in the conversation
 */
export function worksOf(messages: readonly Said[], from = 0): Work[] {
  const results = new Map<string, Said>()
  for (const message of messages)
    if (message.role === 'tool' && message.toolCallId !== undefined && !results.has(message.toolCallId))
      results.set(message.toolCallId, message)
  return messages.flatMap((by, at) =>
    (by.toolCalls ?? []).map((call) => ({
      call,
      asked: askedBy(call),
      by,
      place: from + at,
      result: results.get(call.id),
    })),
  )
}

/** What a call and its result take. */
export interface Cost {
  readonly calls: number
  readonly tokens: number
  /** From the call to its result; 0 where no times are known. */
  readonly milliseconds: number
}

export const NO_COST: Cost = { calls: 0, tokens: 0, milliseconds: 0 }

export const addCosts = (a: Cost, b: Cost): Cost => ({
  calls: a.calls + b.calls,
  tokens: a.tokens + b.tokens,
  milliseconds: a.milliseconds + b.milliseconds,
})

/** Time between two messages; 0 where one of them has none. */
export function millisecondsBetween(from: Said, to: Said | undefined): number {
  const span = Date.parse(to?.at ?? '') - Date.parse(from.at ?? '')
  return Number.isFinite(span) ? Math.max(0, span) : 0
}

export const costOf = ({ call, by, result }: Work): Cost => ({
  calls: 1,
  tokens: defaultEstimator.text(call.name) + defaultEstimator.text(call.arguments) + (result?.tokens ?? 0),
  milliseconds: millisecondsBetween(by, result),
})
