/** What a body says is what is read: no value becomes another one on the way. */
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { jsonOf } from '../../src/service/json.js'

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
      for (const text of [digits, `{"a":[1,${space}${digits}${space}]}`]) {
        if (isHeld) expect(jsonOf(text)).toEqual(JSON.parse(text))
        else expect(() => jsonOf(text)).toThrow(`the body has the number ${digits}, and a double comes to`)
      }
    }),
  )
})
