/** What a body says is what is read: no value becomes another one on the way. */
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { jsonOf } from '../../src/interfaces/service/json.js'
import { USUAL } from '../../src/interfaces/service/limits.js'

/** What a text says, or why it is refused. */
async function read(text: string): Promise<unknown> {
  try {
    return await jsonOf(text, USUAL.bodyBytes)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

it('whatever a program writes as JSON is read as it was meant', async () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true })
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 6 }), number, async (value, double) => {
      const meant: unknown = JSON.parse(JSON.stringify({ value, double }))
      expect(await jsonOf(JSON.stringify({ value, double }, null, 1), USUAL.bodyBytes)).toEqual(meant)
    }),
  )
})

it('ten thousand messages of 26 values each are read; more values, or very many in one message, are refused', async () => {
  const message = { role: 'user', content: 'x', extra: Array.from({ length: 22 }, () => 1) }
  const ofMessages = (messages: readonly unknown[]): string => JSON.stringify({ messages })
  expect(await read(ofMessages(Array.from({ length: 10_000 }, () => message)))).toMatchObject({
    messages: { length: 10_000 },
  })
  const dense = { role: 'user', extra: Array.from({ length: 66_000 }, () => 1) }
  expect(await read(ofMessages([message, dense]))).toBe(
    'messages[1] has more than 10000 JSON values: send its large values as texts',
  )
  expect(await read(JSON.stringify({ items: [{ dense: [1] }, dense] }))).toBe(
    'items[1] has more than 65536 JSON values: send its large values as texts',
  )
  expect(await read(JSON.stringify({ policy: dense }))).toBe(
    'the body has more than 65536 JSON values: send less at once',
  )
  expect(await read(ofMessages(Array.from({ length: 5 }, () => dense)))).toBe(
    'the body has more than 262144 JSON values: send less at once, or raise --max-body',
  )
})

it('a whole number is read as itself, or refused by its digits, wherever it stands', async () => {
  await fc.assert(
    fc.asyncProperty(fc.bigInt(-(2n ** 69n), 2n ** 69n), fc.constantFrom('', ' ', '\n'), async (number, space) => {
      const digits = String(number)
      // As itself, or as what a program that counts in doubles writes for one.
      const isHeld = BigInt(Number(number)) === number || String(Number(number)) === digits
      const texts = [digits, `{"a":[1,${space}${digits}${space}]}`]
      const refusal = `the body has the number ${digits}, and a double comes to ${String(Number(number))}: send it as a string`
      expect(await Promise.all(texts.map(read))).toEqual(
        texts.map((text): unknown => (isHeld ? JSON.parse(text) : refusal)),
      )
    }),
  )
})
