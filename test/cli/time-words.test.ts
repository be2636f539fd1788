/** Times in words. */
import { describe, expect, it } from '@jest/globals'
import { localTime, timeInWords } from '../../src/cli/time-words.js'

// A Friday, in local time.
const now = new Date(2026, 10, 27, 15, 30)
const day = (number: number, month = 10): Date => new Date(2026, month, number)

describe('a time in words', () => {
  it.each([
    ['now', now],
    ['today', day(27)],
    [' Yesterday ', day(26)],
    ['friday', day(27)],
    ['last friday', day(20)],
    ['Tue', day(24)],
    ['last tuesday', day(24)],
    ['saturday', day(21)],
    ['30m', new Date(2026, 10, 27, 15, 0)],
    ['2h', new Date(2026, 10, 27, 13, 30)],
    ['3d', new Date(now.getTime() - 3 * 86_400_000)],
    ['2 w ago', new Date(now.getTime() - 14 * 86_400_000)],
    ['2026-03-01', day(1, 2)],
  ])('%j', (words, time) => {
    expect(timeInWords(words, now)).toEqual(time)
  })

  it.each(['2026-03-01T12:30:00Z', '2026-02-30', 'someday', '3 moons', ''])('%j is no word and stays', (text) => {
    expect(timeInWords(text, now)).toBe(text)
  })

  it('is printed with its weekday', () => {
    expect(localTime(now.toISOString())).toBe('Fri 2026-11-27 15:30')
  })
})
