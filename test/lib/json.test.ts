/** JSON from outside keeps every digit, and so does its recorded form. */
import { expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { exactJson, exactText, recordable, strictJson } from '../../src/lib/json.js'

/** A JSON value with numbers as digits, so that no double is involved. */
type Written =
  | { readonly kind: 'leaf'; readonly text: string }
  | { readonly kind: 'digits'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Written[] }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [string, Written])[] }

const leaf = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  // Digits inside a string stay a string.
  fc.bigInt().map((number) => JSON.stringify(`: ${String(number)}, "${String(number)}"`)),
  fc.constantFrom('null', 'true', '""', '{}', '[]'),
)
const { written } = fc.letrec<{ written: Written }>((tie) => ({
  written: fc.oneof(
    { maxDepth: 5 },
    leaf.map((text): Written => ({ kind: 'leaf', text })),
    fc.bigInt(-(2n ** 80n), 2n ** 80n).map((number): Written => ({ kind: 'digits', text: String(number) })),
    fc.array(tie('written'), { maxLength: 4 }).map((items): Written => ({ kind: 'list', items })),
    fc
      .uniqueArray(fc.tuple(fc.string(), tie('written')), { maxLength: 4, selector: ([key]) => key })
      .filter((fields) => fields.every(([key]) => !/^\d+$/u.test(key)))
      .map((fields): Written => ({ kind: 'object', fields })),
  ),
}))

/** @param long writes a number that a double would write with other digits */
function textOf(value: Written, long = (digits: string): string => digits): string {
  if (value.kind === 'leaf') return value.text
  if (value.kind === 'digits') return String(Number(value.text)) === value.text ? value.text : long(value.text)
  if (value.kind === 'list') return `[${value.items.map((item) => textOf(item, long)).join(',')}]`
  return `{${value.fields.map(([key, item]) => `${JSON.stringify(key)}:${textOf(item, long)}`).join(',')}}`
}

it('a text that is read and written again has every digit that it had', () => {
  fc.assert(
    fc.property(written, (value) => {
      expect(exactText(exactJson(textOf(value)))).toBe(textOf(value))
    }),
  )
})

it('what is recorded of it are the same values, and texts of digits', () => {
  fc.assert(
    fc.property(written, (value) => {
      const meant: unknown = JSON.parse(textOf(value, (digits) => `"${digits}"`))
      expect(recordable({ value: exactJson(textOf(value)) })).toEqual({ value: meant })
    }),
  )
})

it('what a double does not come near is kept as its text', () => {
  const longest = '7'.repeat(5_000_000)
  expect(exactJson(`[${longest}]`)).toEqual([longest])
  expect(exactJson('{"a":[1e400,-2E+999],"b":1e3,"c":0.1234567890123456789}')).toEqual({
    a: ['1e400', '-2E+999'],
    b: 1000,
    c: Number('0.1234567890123456789'),
  })
})

it.each([
  ['{"a":1', { kind: 'MalformedJson' }],
  ['{"a":1,"b":{"c":1,"c":2}}', { kind: 'DoubledKey', field: 'c', at: 18 }],
  ['{"a":\n 9007199254740993}', { kind: 'NumberTooLarge', at: 7 }],
  [`[${'7'.repeat(5_000_000)}]`, { kind: 'NumberTooLarge', at: 1 }],
  [`${'['.repeat(205)}${']'.repeat(205)}`, { kind: 'TooDeep', at: 204 }],
])('whoever can be told is told what is wrong, and where: %.30s', (text, problem) => {
  expect(strictJson(text)).toMatchObject(E.left(problem))
})

it('what is nested without end is read as anybody reads it', () => {
  const text = `${'['.repeat(100_000)}12345678901234567890${']'.repeat(100_000)}`
  expect(Array.isArray(exactJson(text))).toBe(true)
  expect(() => exactText(exactJson(text))).toThrow(RangeError)
})

it('a value without a text, and one that goes round in a circle, are what they are to JSON', () => {
  const circle: { inner?: unknown } = {}
  circle.inner = circle
  expect(exactText(undefined)).toBeUndefined()
  expect(() => exactText(circle)).toThrow(TypeError)
  expect(recordable(circle)).toBe(circle)
})
