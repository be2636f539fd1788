/** The words and quoted phrases of a search text. */
import { expect, it } from '@jest/globals'
import { soughtWords } from '../../../src/domain/text/sought-words.js'

it.each([
  ['date bug', ['date', 'bug']],
  ['  date\tbug  date ', ['date', 'bug']],
  ['berth "date bug"', ['berth', 'date bug']],
  ['“date bug” berth', ['date bug', 'berth']],
  ['"date bug', ['date bug']],
  ['a 5" pipe', ['a', '5"', 'pipe']],
  ['""', ['""']],
  [' ', [' ']],
])('%j: %j', (text, words) => {
  expect(soughtWords(text)).toEqual(words)
})
