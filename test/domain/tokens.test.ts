/** What texts and messages cost. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { contentTokens, defaultEstimator, estimatorNamed, IMAGE_TOKENS, messageTokens, registerEstimator } from '../../src/domain/tokens.js'
import { texts } from '../support/arbitraries.js'

const cost = (text: string): number => defaultEstimator.text(text)

describe('the estimate of a text', () => {
  it.each([['', 0], ['a', 1], ['abcd', 1], ['abcde', 2], ['déjà vu', 2], ['决定', 2], ['决定 abcd', 4], ['👩', 1], ['ひらがな', 4], ['한국어', 3], ['\ud83d', 1]])('%j is %i tokens', (text, tokens) => {
    expect(cost(text)).toBe(tokens)
  })

  it('is a whole number that never falls when a text grows', () => {
    fc.assert(fc.property(texts, texts, (one, two) => {
      expect(Number.isInteger(cost(one))).toBe(true)
      expect(cost(`${one} ${two}`)).toBeGreaterThanOrEqual(cost(one) - 1)
      expect(cost(one)).toBeGreaterThanOrEqual(Math.ceil(one.length / 8))
    }))
  })
})

describe('the estimate of a message', () => {
  it('counts two for the role, the content, the name, and the JSON of its calls', () => {
    expect(messageTokens({ role: 'user', content: 'abcd' }, defaultEstimator)).toBe(3)
    expect(messageTokens({ role: 'user', content: 'abcd', name: 'Ines' }, defaultEstimator)).toBe(4)
    const toolCalls = [{ id: 'x', type: 'function', function: { name: 'run', arguments: '{}' } }]
    expect(messageTokens({ role: 'assistant', content: null, toolCalls }, defaultEstimator)).toBe(2 + cost(JSON.stringify(toolCalls)))
    expect(messageTokens({ role: 'tool', content: 'abcd', toolCallId: 'call' }, defaultEstimator)).toBe(4)
  })

  it('counts nothing for what is not there, and a thousand for an image', () => {
    expect(contentTokens(null, defaultEstimator)).toBe(0)
    expect(contentTokens(undefined, defaultEstimator)).toBe(0)
    expect(contentTokens([], defaultEstimator)).toBe(0)
    const parts = [{ type: 'text', text: 'abcd' }, { type: 'image_url', image_url: { url: `data:${'x'.repeat(99_999)}` } }, { type: 'reasoning', signature: 'abc' }]
    expect(contentTokens(parts, defaultEstimator)).toBe(1 + IMAGE_TOKENS + cost(JSON.stringify(parts[2])))
  })
})

it('another estimator is known by its name, which no other one takes, and an unknown name is said', () => {
  const byWords = { name: 'by-words', text: (text: string) => text.split(' ').length }
  registerEstimator(byWords)
  registerEstimator(byWords)
  expect(() => registerEstimator({ name: 'by-words', text: (text) => text.length })).toThrow('"by-words" already')
  expect(() => registerEstimator({ ...defaultEstimator, text: () => 1 })).toThrow('already')
  expect(estimatorNamed('by-words').text('one two three')).toBe(3)
  expect(() => estimatorNamed('nobody')).toThrow('"nobody" is not registered')
})
