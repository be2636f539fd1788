import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { contentText, textOnly } from '../../src/domain/values/message.js'
import { contentOf } from '../../src/importers/bodies.js'
import { contentPart, contentParts } from '../../src/importers/content-part.js'
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
