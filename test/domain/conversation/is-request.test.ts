/** Whether a first message asks for something. */
import { expect, it } from '@jest/globals'
import { isRequest } from '../../../src/domain/conversation/is-request.js'

it.each([
  'Fix the\ndouble booking.',
  'Hi! Could you look into the failing build?',
  'I need a plan for the harbour.',
  'Hello, please summarize this page.',
  'The tests of src/booking.ts fail since yesterday.',
  'What is the capital of Portugal?',
  'Refactor the parser, then run the tests.',
])('a request: %s', (text) => {
  expect(isRequest(text)).toBe(true)
})

it.each([
  'Hey Mel! Good to see you! How have you been?',
  'Hi',
  'Hello there!',
  'Hey Jon! Good to see you. What have you been up to?',
  'Hey Joanna! Long time no see! How are you doing?',
  'Good morning, everyone.',
  '',
])('no request: %s', (text) => {
  expect(isRequest(text)).toBe(false)
})
