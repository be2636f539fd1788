/** Old stored shapes to today's, a step a version. */
import { expect, it } from '@jest/globals'
import { eventTypes } from '../../../src/domain/events/index.js'
import { upcast, type Upcasters } from '../../../src/domain/events/upcast.js'

const steps: Upcasters = {
  1: ({ id, ...rest }) => ({ ...rest, messageId: id }),
  2: (data) => ({ ...data, revision: '0' }),
}

it('a step a version, from the one that was stored to the one of today', () => {
  expect(upcast(steps, { id: 'm' }, 1, 3)).toEqual({ messageId: 'm', revision: '0' })
  expect(upcast(steps, { messageId: 'm' }, 2, 3)).toEqual({ messageId: 'm', revision: '0' })
})

it('today’s version passes as it is', () => {
  const data = { anything: 1 }
  expect(upcast({}, data, 3, 3)).toBe(data)
})

it('a version from the future, or one whose step is missing, is not guessed', () => {
  expect(upcast(steps, {}, 4, 3)).toBeUndefined()
  expect(upcast(steps, {}, 0, 3)).toBeUndefined()
  expect(upcast({}, {}, 1, 2)).toBeUndefined()
})

it('settings of older versions have today’s names', () => {
  const old = { policy: { standIn: 'none', view: 'clip-archive' }, settings: { standIn: 'none' }, rendererVersion: 4 }
  const now = { policy: { view: 'clip-archive', fallback: 'none' }, settings: { fallback: 'none' }, rendererVersion: 4 }
  const { version, upcasters = {} } = eventTypes.ConversationConfigured
  expect(upcast(upcasters, old, 2, version)).toEqual(now)
  expect(upcast(eventTypes.EditionStarted.upcasters ?? {}, { configuration: old }, 2, 3)).toEqual({
    configuration: now,
  })
})

it.each(Object.entries(eventTypes))(
  '%s has a step from each version before today’s',
  (_type, { version, upcasters }) => {
    expect(Object.keys(upcasters ?? {}).map(Number)).toEqual(Array.from({ length: version - 1 }, (_, at) => at + 1))
  },
)
