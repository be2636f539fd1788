/** Old stored shapes to today's, a step a version. */
import { expect, it } from '@jest/globals'
import { upcast, type Upcasters } from '../../../src/domain/events/upcasters.js'

const steps: Upcasters = {
  MessagePinned: {
    1: ({ id, ...rest }) => ({ ...rest, messageId: id }),
    2: (data) => ({ ...data, revision: '0' }),
  },
}

it('a step a version, from the one that was stored to the one of today', () => {
  expect(upcast('MessagePinned', { id: 'm' }, 1, 3, steps)).toEqual({ messageId: 'm', revision: '0' })
  expect(upcast('MessagePinned', { messageId: 'm' }, 2, 3, steps)).toEqual({ messageId: 'm', revision: '0' })
})

it('today’s version passes as it is', () => {
  const data = { anything: 1 }
  expect(upcast('MessageAppended', data, 3, 3, steps)).toBe(data)
})

it('a version from the future, or one whose step is missing, is not guessed', () => {
  expect(upcast('MessagePinned', {}, 4, 3, steps)).toBeUndefined()
  expect(upcast('MessagePinned', {}, 0, 3, steps)).toBeUndefined()
  expect(upcast('MessageUnpinned', {}, 1, 2, steps)).toBeUndefined()
})
