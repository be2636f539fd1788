import { expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { contentText, textOnly } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import { contentOf, refusalOf } from '../../src/application/importers/bodies.js'
import {
  contentPart,
  contentParts,
  inputWithinValues,
  withinValues,
} from '../../src/application/importers/content-part.js'
import { runsOf } from '../support/length.js'

/** The texts within a value, as JSON. */
const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : []

const data = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('"type"'))

it('data without a type is text that a reader can find, whole and in a list', () => {
  fc.assert(
    fc.property(data, (value) => {
      for (const parts of [contentParts(value), [contentPart(value)], contentParts([value])]) {
        const text = textOnly(contentOf(parts))
        for (const each of textsIn(value))
          expect(text === each || text.includes(JSON.stringify(each)) || text.includes(each)).toBe(true)
        expect(contentText(contentOf(parts))).toBe(text)
      }
    }),
    { numRuns: runsOf(500) },
  )
})

const many = fc.constantFrom(3, 90, 300, 9_000, 12_000)
const numbers = (length: number): readonly number[] => Array.from({ length }, (_none, at) => at)

/** The same value with each JSON text in it as the value that the text says. */
function reread(value: unknown): unknown {
  if (typeof value === 'string' && /^[[{]/u.test(value)) return reread(JSON.parse(value))
  if (Array.isArray(value)) return value.map(reread)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, reread(field)]))
}

/** The numbers in a value, sorted. */
const numbersIn = (value: unknown): readonly number[] =>
  typeof value === 'number'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value)
          .flatMap(numbersIn)
          .toSorted((a, b) => a - b)
      : []

it('an imported message with too many values is accepted with its large values as texts, and loses nothing', () => {
  fc.assert(
    fc.property(
      fc.array(many, { minLength: 1, maxLength: 40 }),
      fc.array(many, { maxLength: 40 }),
      fc.array(many, { maxLength: 3 }),
      (parts, fields, calls) => {
        const content = parts.map((length) => ({ type: 'table', rows: numbers(length) }))
        const extra = Object.fromEntries(fields.map((length, at) => [`rows${String(at)}`, numbers(length)]))
        const toolCalls = calls.map((length, at) => ({
          id: `c${String(at)}`,
          type: 'function',
          function: { name: 'f', arguments: '{}' },
          rows: numbers(length),
        }))
        const body = { role: 'assistant' as const, content, toolCalls, extra }
        const input = { role: 'assistant', content, tool_calls: toolCalls, ...extra }
        expect(refusalOf(body)).toBeUndefined()
        expect(parseMessage(inputWithinValues(input))).toMatchObject(E.right({}))
        for (const [before, after] of [
          [body, withinValues(body)],
          [input, inputWithinValues(input)],
        ])
          expect(numbersIn(reread(after))).toEqual(numbersIn(before))
      },
    ),
    { numRuns: runsOf(60) },
  )
})

it('a message with too many values is refused by its largest field, whichever it is', () => {
  const outcomes = ['content', 'attributes', 'data'].flatMap((field) =>
    [9_990, 10_010].map((length) => {
      const parts = Array.from({ length: length / 3 }, () => ({ type: 'text', text: 'a' }))
      const large = field === 'content' ? parts : { rows: numbers(length) }
      const read = parseMessage({ role: 'user', content: 'x', [field]: large })
      return E.isRight(read) ? 'accepted' : `${read.left.field} ${read.left.detail}`
    }),
  )
  const refused = (field: string): string =>
    `${field} has too many JSON values: a message has at most 10000, so send large data as a text`
  expect(outcomes).toEqual(['content', 'attributes', 'data'].flatMap((field) => ['accepted', refused(field)]))
})
