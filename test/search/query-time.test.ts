/** Which times a query names, and which messages fit them. */
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { queryTime, timeFactor } from '../../src/application/search/query-time.js'

const factor = (query: string, day: string): number => timeFactor(queryTime(query))(Date.parse(`${day}T12:00:00.000Z`))

describe('the time that a query names', () => {
  test('a month and a year', () => {
    expect(queryTime('2025年7月')).toEqual({ months: new Set([6]), years: new Set([2025]), days: new Set() })
    expect(queryTime('since 2024-11')).toEqual({ months: new Set([10]), years: new Set([2024]), days: new Set() })
    for (const query of ['in August 2023', 'Aug 2023', 'Aug. 2023', '2023년 8월'])
      expect([query, queryTime(query)]).toEqual([
        query,
        { months: new Set([7]), years: new Set([2023]), days: new Set() },
      ])
  })

  test('a day, however it is written', () => {
    const inEnglish = ['7 May', 'May 7', 'the 7th of May, 2026', 'on May 7th', '2026-05-07']
    for (const query of [...inEnglish, '5月7日', '5月7号', '5月7號', '5월 7일'])
      expect([query, [...queryTime(query).days]]).toEqual([query, [407]])
    for (const query of ['Aug 15th', '15 Aug', 'Aug. 15, 2023', '15th of August'])
      expect([query, [...queryTime(query).months], [...queryTime(query).days]]).toEqual([query, [7], [715]])
    for (const query of ['May', '2026-05', '7 days', 'May 2026', '5月'])
      expect([query, [...queryTime(query).days]]).toEqual([query, []])
  })

  test('may and march are months where they are written as such', () => {
    for (const query of ['What happened in May?', 'what happened in may', 'May 2026', 'the trip of early may'])
      expect([query, [...queryTime(query).months]]).toEqual([query, [4]])
    for (const query of ['before March', 'since march'])
      expect([query, [...queryTime(query).months]]).toEqual([query, [2]])
  })

  test('a short month alone is another word', () => {
    for (const query of [
      'What did Jan paint?',
      'does it mar the table',
      'May I ask what he may want',
      'who marched, and why march at all',
    ])
      expect([query, queryTime(query)]).toEqual([query, { months: new Set(), years: new Set(), days: new Set() }])
  })
})

describe('how well a message fits it', () => {
  test('where no time is named all messages count alike', () => {
    expect(factor('hike', '2026-05-07')).toBe(1)
  })

  test('what is told of a day is told on it or soon after', () => {
    const days = ['2026-05-07', '2026-05-08', '2026-05-09', '2026-05-10']
    const factors = days.map((day) => factor('on 7 May', day))
    expect(factors).toEqual(factors.toSorted((a, b) => b - a))
    expect(new Set(factors).size).toBe(4)
    expect(factor('on 7 May', '2026-05-06')).toBe(factor('on 7 May', '2026-05-10'))
  })

  test('the days after go on into the next month and year', () => {
    expect(factor('on 31 July', '2026-08-01')).toBeGreaterThan(factor('on 31 July', '2026-07-15'))
    expect(factor('on 31 December', '2027-01-01')).toBeGreaterThan(factor('on 31 December', '2026-12-15'))
  })

  test('of all days the named one fits best', () => {
    const time = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2029, 11, 31) })
    fc.assert(
      fc.property(time, time, (named, other) => {
        const of = timeFactor(queryTime(`on ${new Date(named).toISOString().slice(0, 10)}`))
        expect(of(named)).toBeGreaterThanOrEqual(of(other))
        expect(of(other)).toBeGreaterThanOrEqual(1)
      }),
    )
  })
})
