/** Titles of conversations. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { isBare, openingWords, titleOf } from '../../../src/domain/text/title.js'

describe('the first words of a person', () => {
  it.each([
    ['Fix the date bug', 'Fix the date bug'],
    ['  Hello,\n\nplease fix\tthe date bug.  ', 'Hello, please fix the date bug.'],
    ['[depth:0|start:2026-01-01|end:2026-01-02|count:15]\nFix the date bug', 'Fix the date bug'],
    ['<environment_context>\n<cwd>/a</cwd>\n</environment_context>\n\nFix it', 'Fix it'],
    ['<system-reminder>a</system-reminder><ide_opened_file>b</ide_opened_file> Fix it', 'Fix it'],
    ['<task>\nFix it\n</task>\n\n<environment_details>\nnow\n</environment_details>', 'Fix it'],
    ['Fix it\n\n<environment_details>\nnow\n</environment_details>', 'Fix it'],
    ['Fix the <date-picker> of the form', 'Fix the <date-picker> of the form'],
    ['# Task\nFix it', 'Task Fix it'],
    ['<think>What now?</think>\n\nI will fix it.', 'I will fix it.'],
    ['# Fix the errors below.\n\n## Running: lint.sh', 'Fix the errors below.'],
    ['Hi!\n \nFix the date bug\n\nIt is in date.ts', 'Hi! Fix the date bug'],
    ['# Context from my IDE setup:\n\n## Open tabs:\n- a.ts\n\n## My request for Codex:\nFix it', 'Fix it'],
    ['#1 of the list', '#1 of the list'],
    ['<command-name>/clear</command-name>\n<command-args></command-args>', undefined],
    ['<environment_context>cut off', undefined],
    [' \n', undefined],
    ['', undefined],
  ])('of %j are %j', (message, words) => {
    expect(openingWords(message)).toBe(words)
  })
})

it.each([
  ['hello!', true],
  ['model', true],
  ['/add src/date.ts', true],
  ['/help', true],
  ['commit this', false],
  ['/home/ines/harbour has a bug', false],
  ['检查目前项目的设计', false],
])('whether %j says little: %j', (words, expected) => {
  expect(isBare(words)).toBe(expected)
})

describe('a title', () => {
  it('is cut between two words', () => {
    const title = titleOf('word '.repeat(60)) ?? ''
    expect(title).toMatch(/^(?:word )+word…$/u)
    expect(title.length).toBeGreaterThan(90)
  })

  it('is one line of at most 100 characters that a database can store, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        for (const title of [titleOf(text), openingWords(text)]) {
          if (title === undefined) continue
          expect(title).not.toBe('')
          expect(title.length).toBeLessThanOrEqual(100)
          expect(title.isWellFormed() && !/[\0\n\r]/u.test(title)).toBe(true)
        }
      }),
    )
  })

  it('of a title is the title itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 500 }), (text) => {
        const title = titleOf(text)
        expect(title === undefined ? undefined : titleOf(title)).toBe(title)
      }),
    )
  })

  it('is found in a megabyte of blocks within a moment', () => {
    const started = performance.now()
    openingWords('<a_b>'.repeat(200_000))
    openingWords('<a_b></a_b>'.repeat(90_000))
    openingWords('<a>'.repeat(300_000))
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})
