/** Synonyms that a query also finds. */
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { alikeTerms } from '../../src/application/search/alike.js'
import { queryTerms } from '../../src/domain/text/terms.js'

const termOf = (word: string): string => queryTerms(word)[0] ?? ''
const foundBy = (word: string): readonly string[] => alikeTerms(termOf(word)).map(({ term }) => term)

describe('terms that are alike', () => {
  test('go both ways', () => {
    expect(foundBy('movies')).toContain(termOf('film'))
    expect(foundBy('film')).toContain(termOf('movie'))
  })

  test('a kind finds what is of it, and not the other way', () => {
    expect(foundBy('sports')).toContain(termOf('tennis'))
    expect(foundBy('tennis')).not.toContain(termOf('sport'))
  })

  test('sets that share a word are not joined', () => {
    expect(foundBy('son')).toContain(termOf('child'))
    expect(foundBy('son')).not.toContain(termOf('daughter'))
  })

  test('an unknown word has none', () => {
    expect(alikeTerms('zebra')).toEqual([])
    expect(alikeTerms('')).toEqual([])
  })

  test('whatever is asked, each is another term, once, and counts less than the word itself', () => {
    const known = ['pet', 'job', 'movie', 'family', 'sport', 'photo', 'color', 'trip', 'book', 'happy', 'drink', 'gift']
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom(...known), fc.string()), (word) => {
        for (const queryTerm of queryTerms(word)) {
          const synonyms = alikeTerms(queryTerm)
          expect(new Set(synonyms.map(({ term }) => term)).size).toBe(synonyms.length)
          for (const { term, weight } of synonyms) {
            expect(term).not.toBe(queryTerm)
            expect(queryTerms(term).length).toBeGreaterThan(0)
            expect(weight > 0 && weight < 1).toBe(true)
          }
        }
      }),
    )
  })
})
