/** Names of streams, and ids that derive from what they name. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import {
  checkId,
  chunkIdOf,
  conversationOf,
  conversationStream,
  derivedMessageId,
  eventIdOf,
  messageEventId,
  promptStream,
} from '../../../src/domain/values/ids.js'
import { uuidOf } from '../../../src/domain/values/hash.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u

describe('an id that somebody gives', () => {
  it.each(['a', 'a b/c', '会话 😀', "'; drop table", 'x'.repeat(512)])('%j is taken', (id) => {
    expect(checkId('id', id)).toEqual(E.right(id))
  })

  it.each([
    ['', 'is empty'],
    ['a\u0000b', 'has a control character'],
    ['a\nb', 'has a control character'],
    ['\ud83d', 'has a lone surrogate'],
    ['é'.repeat(257), 'is longer than 512 bytes'],
  ])('%j is refused: it %s', (id, detail) => {
    expect(checkId('conversationId', id)).toEqual(E.left({ kind: 'BadId', field: 'conversationId', detail }))
  })
})

it('a stream names its conversation, and other streams name none', () => {
  expect(conversationOf(conversationStream('a-b/c'))).toBe('a-b/c')
  expect(conversationOf(promptStream('abc'))).toBeUndefined()
})

describe('ids that derive', () => {
  it('are UUIDs, the same for the same parts and others for others', () => {
    expect(uuidOf('a', 'b')).toMatch(UUID)
    expect(uuidOf('a', 'b')).toBe(uuidOf('a', 'b'))
    expect(new Set([uuidOf('a', 'b'), uuidOf('ab'), uuidOf('a', 'b', ''), uuidOf('b', 'a')]).size).toBe(4)
  })

  it('tell a message by its id alone, and every other fact by its place and content', () => {
    expect(messageEventId('s', 'm')).not.toBe(messageEventId('t', 'm'))
    expect(eventIdOf('s', 1, 'T', '{}')).not.toBe(eventIdOf('s', 2, 'T', '{}'))
    expect(eventIdOf('s', 1, 'T', '{}')).not.toBe(eventIdOf('s', 1, 'T', '{"a":1}'))
  })

  it('tell a message without an id by its place, and a chunk by its messages and the request', () => {
    const r = { requestHash: 'r' }
    expect(derivedMessageId('c', 0)).toMatch(/^m-[0-9a-f]{20}$/u)
    expect(new Set([derivedMessageId('c', 0), derivedMessageId('c', 1), derivedMessageId('d', 0)]).size).toBe(3)
    expect(chunkIdOf({ conversationId: 'c' }, ['a'], r)).not.toBe(
      chunkIdOf({ conversationId: 'c' }, ['a'], { requestHash: 's' }),
    )
    expect(chunkIdOf({ conversationId: 'c' }, ['a', 'b'], r)).not.toBe(chunkIdOf({ conversationId: 'c' }, ['ab'], r))
  })
})
