/** What a body says is what is read: no value becomes another one on the way. */
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { jsonOf } from '../../src/service/json.js'

/** What a text says, or why it is refused. */
function read(text: string): unknown {
  try {
    return jsonOf(text)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

it('whatever a program writes as JSON is read as it was meant', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.double({ noNaN: true, noDefaultInfinity: true }), (value, number) => {
      const meant: unknown = JSON.parse(JSON.stringify({ value, number }))
      expect(jsonOf(JSON.stringify({ value, number }, null, 1))).toEqual(meant)
    }),
  )
})

it('a whole number is read as itself, or refused by its digits, wherever it stands', () => {
  fc.assert(
    fc.property(fc.bigInt(-(2n ** 69n), 2n ** 69n), fc.constantFrom('', ' ', '\n'), (number, space) => {
      const digits = String(number)
      // As itself, or as what a program that counts in doubles writes for one.
      const isHeld = BigInt(Number(number)) === number || String(Number(number)) === digits
      const texts = [digits, `{"a":[1,${space}${digits}${space}]}`]
      const refusal = `the body has the number ${digits}, and a double comes to ${String(Number(number))}: send it as a string`
      expect(texts.map(read)).toEqual(texts.map((text): unknown => (isHeld ? JSON.parse(text) : refusal)))
    }),
  )
})
