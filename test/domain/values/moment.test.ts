/** What is taken for a revision, what for an instant, what for a message, and what for none. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { parseInstant, parseMoment } from '../../../src/domain/values/moment.js'

const NOON = Date.UTC(2026, 2, 1, 12, 30)

describe('a moment', () => {
  it.each([
    [7, { revision: 7 }],
    ['120', { revision: 120 }],
    // Not the year 2001, nor May.
    ['5', { revision: 5 }],
    ['-3', { revision: -3 }],
    ['9007199254740991', { revision: Number.MAX_SAFE_INTEGER }],
    [new Date(NOON), { time: NOON }],
    ['2026-03-01T12:30:00Z', { time: NOON }],
    ['2026-03-01T12:30Z', { time: NOON }],
    [' 2026-03-01T13:30:00.000+01:00 ', { time: NOON }],
    ['m00012', { messageId: 'm00012' }],
    ['yesterday', { messageId: 'yesterday' }],
    ['1.5', { messageId: '1.5' }],
    // What looks like something else says that it is a message.
    ['message:120', { messageId: '120' }],
    ['message:2026-03-01T12:30:00Z', { messageId: '2026-03-01T12:30:00Z' }],
  ])('%p is %j', (given, moment) => {
    expect(parseMoment('at', given)).toEqual(E.right(moment))
  })

  it.each([
    ['2026-03-01T12:30:00', /^names no time zone: 2026-03-01T12:30:00Z/u],
    ['2026-03-01', /must be a revision, a time .* and is "2026-03-01"$/u],
    ['2026-02-30T00:00:00Z', /must be a revision, a time/u],
    ['', /must be a revision, a time/u],
    [new Date(Number.NaN), /is no valid time/u],
    [Number.NaN, /must be a revision \(a whole number up to 9007199254740991\), and is NaN$/u],
    [1.5, /must be a revision .* and is 1.5$/u],
    ['9007199254740992', /must be a revision .* and is 9007199254740992$/u],
  ])('%p is refused by name', (given, detail) => {
    expect(parseMoment('from', given)).toEqual(
      E.left({ kind: 'BadInput', field: 'from', detail: expect.stringMatching(detail) }),
    )
  })
})

describe('an instant alone', () => {
  it.each([[new Date(NOON)], ['2026-03-01T12:30:00Z'], [' 2026-03-01T13:30:00.000+01:00 ']])('%p', (given) => {
    expect(parseInstant('until', given)).toEqual(E.right(NOON))
  })

  it.each([
    ['x', 'must be a time such as 2026-03-01T12:30:00Z, and is "x"'],
    ['', 'must be a time such as 2026-03-01T12:30:00Z, and is ""'],
    ['7', 'must be a time such as 2026-03-01T12:30:00Z, and is "7"'],
    ['2026-03-01T12:30:00', 'names no time zone: 2026-03-01T12:30:00Z is the time in UTC'],
    [new Date(Number.NaN), 'is no valid time'],
  ])('%p is refused, and nobody is told of revisions', (given, detail) => {
    expect(parseInstant('until', given)).toEqual(E.left({ kind: 'BadInput', field: 'until', detail }))
  })
})
