/** The table of terms in memory gives the same results as text, sorted, and extended in any steps. */
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { emptyTermTable, type TermTable } from '../../../../projections/read-models/archive-index/term-table.js'
import { codedText, codeOf } from '../../../../src/domain/text/codes.js'
import { codeCounts } from '../../../../src/domain/text/terms.js'

const words = ['ant', 'bee', 'cat', 'dog', 'elk']

const added = (table: TermTable, texts: readonly string[]): TermTable => {
  const coded = texts.map((text) => codedText(codeCounts(text)))
  return table.withLines(
    coded.map(({ terms }) => terms).join('\n'),
    coded.map(({ repeated }) => repeated),
  )
}

const expected = (texts: readonly string[], word: string): readonly number[] =>
  texts.flatMap((text, at) => {
    const count = text.split(' ').filter((each) => each === word).length
    return count === 0 ? [] : [at, Math.min(count, 2)]
  })

describe('the table of terms', () => {
  test('is empty at the start', () => {
    expect(emptyTermTable().postings(codeOf('ant'))).toEqual([])
    expect(emptyTermTable().size).toBe(0)
  })

  test('finds each word of each message, in whatever steps the messages were added', () => {
    const text = fc.array(fc.constantFrom(...words), { maxLength: 6 }).map((chosen) => chosen.join(' '))
    fc.assert(
      fc.property(fc.array(fc.array(text, { maxLength: 5 }), { maxLength: 6 }), (steps) => {
        const table = steps.reduce(added, emptyTermTable())
        const texts = steps.flat()
        expect(table.size).toBe(texts.length)
        for (const word of words) expect(table.postings(codeOf(word))).toEqual(expected(texts, word))
      }),
    )
  })

  test('gives the same results above the length at which it is sorted', () => {
    const texts = Array.from(
      { length: 9_000 },
      (_, place) =>
        `${words[place % 5] ?? ''} ${Array.from({ length: 30 }, (_unused, at) => `w${String((place * 31 + at) % 7_000)}`).join(' ')} ${place % 3 === 0 ? 'ant' : 'bee'}`,
    )
    const steps = [texts.slice(0, 8_000), texts.slice(8_000, 8_500), texts.slice(8_500)]
    const table = steps.reduce(added, emptyTermTable())
    for (const word of [...words, 'w17', 'w6999', 'nowhere'])
      expect(table.postings(codeOf(word))).toEqual(expected(texts, word))
  })
})
