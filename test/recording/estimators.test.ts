/** The estimators that this process knows. */
import { expect, it } from '@jest/globals'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { findEstimator, registerEstimator } from '../../src/application/recording/estimators.js'

it('another estimator is registered by its name, no other can take the name, and an unknown name is reported', () => {
  const byWords = { name: 'by-words', text: (text: string) => text.split(' ').length }
  registerEstimator(byWords)
  registerEstimator(byWords)
  expect(() => registerEstimator({ name: 'by-words', text: (text) => text.length })).toThrow('"by-words" already')
  expect(() => registerEstimator({ ...defaultEstimator, text: () => 1 })).toThrow('already')
  expect(findEstimator('by-words').text('one two three')).toBe(3)
  expect(() => findEstimator('nobody')).toThrow('"nobody" is not registered')
})
