/** Whether statements repeat each other, and whether a later one closes an earlier one. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { isRepetition, refersTo, statementOf } from '../../../src/domain/text/statements.js'

const repeats = (a: string, b: string): boolean => isRepetition(statementOf(a), statementOf(b))
const closes = (later: string, earlier: string): boolean => refersTo(statementOf(later), statementOf(earlier))

const statements = fc
  .array(fc.constantFrom('Ines', 'books', 'the', 'berth', 'a.ts', '5432', 'not', 'twice', 'harbour', 'plan'), {
    minLength: 1,
    maxLength: 10,
  })
  .map((words) => words.join(' '))

describe('a repetition', () => {
  it.each([
    ['Integer cents.', 'integer cents'],
    ['The deadline is Friday', 'Deadline: is the Friday!'],
    ['Writes the tests', 'write tests'],
  ])('%s = %s', (a, b) => {
    expect(repeats(a, b)).toBe(true)
  })

  it.each([
    ['Use the port 5432.', 'Use the port 5433.'],
    ['Touch audit_log.', 'Do not touch audit_log.'],
    ['Move the crane to Porto.', 'Move Porto to the crane.'],
    ['Deploy before Friday.', 'Deploy after Friday.'],
    ['Caroline likes landscapes.', 'Melanie likes landscapes.'],
  ])('%s ≠ %s', (a, b) => {
    expect(repeats(a, b)).toBe(false)
  })

  it('holds whatever the letter case and the punctuation', () => {
    fc.assert(
      fc.property(statements, (text) => {
        expect(repeats(text, `${text.replaceAll(' ', ', ')}.`)).toBe(true)
      }),
    )
  })
})

describe('a reference', () => {
  it.each([
    [
      'The flaky booking test on Node 20 is resolved by a fixed clock.',
      'Investigate the flaky booking test on Node 20',
    ],
    [
      "Answered the user's question: normally the Stop hook creates the SaveContext.",
      "The user's question what normally creates the SaveContext is unanswered.",
    ],
    ["Caroline's LGBTQ art show took place in September.", 'Caroline organizes an LGBTQ art show in September 2023.'],
    ['a.ts fixed', 'Fix a.ts'],
    ['Deployed', 'Deploy'],
  ])('%s → %s', (later, earlier) => {
    expect(closes(later, earlier)).toBe(true)
  })

  it.each([
    ['Caroline held the LGBTQ art show in September 2023.', "The youth center's talent show is in September 2023."],
    ['Wrote tests for b.ts', 'Write tests for a.ts'],
    ['Fixed issue 13', 'Fix issue 12'],
    ['Sent the monthly report for April to Ines', 'Send the monthly report for March to Ines'],
    ['Melanie camped with her kids in June', 'Caroline plans camping with her kids in June'],
    ['Wrote docs for the parser', 'Write tests for the parser'],
    ['The show', 'Caroline organizes an LGBTQ art show in September 2023.'],
  ])('%s does not refer to: %s', (later, earlier) => {
    expect(closes(later, earlier)).toBe(false)
  })

  it('is part of each repetition, and never joins statements without a common word', () => {
    fc.assert(
      fc.property(statements, statements, (a, b) => {
        expect(closes(a, a)).toBe(true)
        const words = new Set(a.split(' '))
        const haveCommonWord = b.split(' ').some((word) => words.has(word))
        expect(closes(a, b) || !repeats(a, b)).toBe(true)
        expect(haveCommonWord || !closes(a, b)).toBe(true)
      }),
    )
  })
})
