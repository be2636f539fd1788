/** Values that were redacted by different rules. */
import { expect, it } from '@jest/globals'
import { isSameExceptSecrets } from '../../src/application/secrets/same-except-secrets.js'

it.each([
  ['a key=[secret:token:0000] b', 'a key=abc123 b', true],
  ['a key=abc123 b', 'a key=[secret:token:3f9c] b', true],
  ['[secret:token:0000]', '[secret:token:3f9c]', true],
  ['x [secret:a:0000] y [secret:b:0000] z', 'x 1 y 2 z', true],
  ['x [secret:a:0000] y [secret:b:0000] z', 'x 1 z', false],
  ['a [secret:token:0000] b', 'a secret c', false],
  ['a [secret:token:0000] b', 'a b', false],
  ['a b', 'a c', false],
  [{ content: ['[secret:token:0000]'], name: undefined }, { content: ['x'] }, true],
  [{ content: ['[secret:token:0000]'] }, { content: ['x', 'y'] }, false],
  [{ content: '[secret:token:0000]' }, { content: 'x', name: 'y' }, false],
  [{ isError: true }, { isError: false }, false],
])('%j and %j: %s', (one, other, expected) => {
  expect(isSameExceptSecrets(one, other)).toBe(expected)
  expect(isSameExceptSecrets(other, one)).toBe(expected)
})
