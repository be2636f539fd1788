/** Times in words. */
import { describe, expect, it } from '@jest/globals'
import { dayOfFlag, localTime, timeInWords, timeOfFlag } from '../../src/interfaces/cli/time-words.js'

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
    ['this week', day(23)],
    ['Last Week', day(16)],
    ['this tuesday', day(24)],
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

  it('of a flag that is none names the words, or the nearest one', () => {
    expect(() => timeOfFlag('since', 'tuseday', now)).toThrow('did you mean tuesday?')
    expect(() => timeOfFlag('since', 'soon', now)).toThrow('or a word: yesterday, monday')
    expect(() => timeOfFlag('since', '2026-03-01T12:30', now)).toThrow('names no time zone')
    expect(timeOfFlag('since', 'tuesday', now)).toEqual(day(24))
  })

  it.each([
    ['tuesday', day(24), day(25)],
    ['yesterday', day(26), day(27)],
    ['2026-11-30', day(30), day(1, 11)],
  ])('the day %j is a range', (words, since, until) => {
    expect(dayOfFlag('on', words, now)).toEqual({ since, until })
  })

  it.each(['3d', 'now', 'last week', '2026-03-01T12:30:00Z'])('%j is no day', (words) => {
    expect(() => dayOfFlag('on', words, now)).toThrow('--on needs a day')
  })

  it('is printed with its weekday', () => {
    expect(localTime(now.toISOString())).toBe('Fri 2026-11-27 15:30')
  })
})
