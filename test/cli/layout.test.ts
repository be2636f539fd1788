/** Terminal output: lines and tables fit the columns in every script; and when a pager is used. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { fitted, table } from '../../src/interfaces/cli/layout.js'
import { pagerOf, startPager } from '../../src/interfaces/cli/pager.js'

const word = fc.constantFrom('harbour', 'INV-2026-00317', '数据库', '🚢', 'a', 'x'.repeat(120), 'naïve', '│', '└─')
const text = fc.array(word, { maxLength: 40 }).map((words) => words.join(' '))
const NO_NUMBERS: ReadonlySet<number> = new Set()

describe('a line', () => {
  it('is never wider than the terminal, and has all of its words', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 12, max: 120 }), (line, columns) => {
        const lines = fitted(line, columns).split('\n')
        expect(lines.every((part) => stringWidth(part) <= columns)).toBe(true)
        expect(lines.join('').replaceAll(/[\s│├└─]/gu, '')).toBe(line.replaceAll(/[\s│├└─]/gu, ''))
      }),
    )
  })

  it('goes on as deep as it begins, and a tree keeps its trunk', () => {
    expect(fitted('  one two three', 10)).toBe('  one two\n  three')
    expect(fitted('├─ one two three', 11)).toBe('├─ one two\n│  three')
  })
})

describe('a table', () => {
  const head = ['conversation', 'messages', 'last recorded']
  it('fits the terminal: times to the minute, then the widest texts cut; elsewhere it is whole', () => {
    const rows = [
      ['a-conversation-with-a-long-name', '12', '2026-11-22T23:11:34.123Z'],
      ['b', '1,234', '2026-11-22T23:11:34.123Z'],
    ]
    expect(table(head, rows, new Set([1]), undefined)[1]).toBe(
      'a-conversation-with-a-long-name        12  2026-11-22T23:11:34.123Z',
    )
    expect(table(head, rows, new Set([1]), 60)[1]).toBe('a-conversation-with-a-long-name        12  2026-11-22 23:11')
    expect(table(head, rows, new Set([1]), 50)[1]).toBe('a-conversation-with-a…        12  2026-11-22 23:11')
  })

  it('cuts no id of an edition and no title: titles go below each other, and a row that has no room is told in a sentence', () => {
    const tried = ['', 'cycles', 'summaries', 'requests', 'tokens sent', 'largest context', '']
    expect(
      table(
        tried,
        [['no compaction', '0', '0', '82', '816,590', '19,065', '73 requests above the window']],
        new Set([1, 2, 3, 4, 5]),
        80,
      ),
    ).toEqual([
      '                                             tokens  largest',
      '               cycles  summaries  requests     sent  context',
      'no compaction       0          0        82  816,590   19,065  73 requests above…',
    ])
    const editions = [
      'edition',
      'made by',
      'conversations',
      'in force',
      'dropped',
      'cycles',
      'summaries',
      'taken over',
      'tokens',
      'begun',
    ]
    const edition = ['850e44c29658', 'extractive', '1', '1', '0', '21', '24', '5', '0', '2026-11-23T00:37:01.001Z']
    expect(table(editions, [edition], new Set([2, 3, 4, 5, 6, 7, 8]), 80)).toEqual([
      '850e44c29658: made by extractive, conversations 1, in force 1, dropped 0, cycles 21, summaries 24, taken over 5, tokens 0, begun 2026-11-23 00:37',
    ])
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 200 }), (columns) => {
        expect(table(editions, [edition], new Set([2, 3, 4, 5, 6, 7, 8]), columns).at(-1)).toMatch(/^850e44c29658/u)
      }),
    )
  })

  it('is never wider than the terminal where its columns can be cut to that, in any script', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text, text), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 48, max: 120 }),
        (rows, columns) => {
          expect(table(head, rows, NO_NUMBERS, columns).every((line) => stringWidth(line) <= columns)).toBe(true)
        },
      ),
    )
  })

  it('omits optional columns of a narrow terminal, and never cuts an id', () => {
    const titles = ['title', 'project', 'tokens', 'id']
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text, fc.constant('1,234'), fc.stringMatching(/^[a-z]{4}\/[0-9a-f]{8}$/u)), {
          minLength: 1,
          maxLength: 5,
        }),
        fc.integer({ min: 46, max: 120 }),
        (rows, columns) => {
          const lines = table(titles, rows, new Set([2]), columns, {
            optional: [2, 1],
            whole: new Set([3]),
            least: new Map([[0, 28]]),
          })
          expect(lines.every((line) => stringWidth(line) <= columns)).toBe(true)
          expect(rows.every(([, , , id], at) => lines[at + 1]?.endsWith(id))).toBe(true)
        },
      ),
    )
  })
})

describe('a pager', () => {
  const reading = { isTerminal: true, isWanted: true }
  it('is less, or what PAGER names, for a person at a terminal alone', () => {
    expect(pagerOf({}, reading)).toEqual(['less', '-FRX'])
    expect(pagerOf({ PAGER: 'most -w' }, reading)).toEqual(['most', '-w'])
    for (const [env, how] of [
      [{ PAGER: '' }, reading],
      [{ PAGER: 'cat' }, reading],
      [{ CI: 'true' }, reading],
      [{ TERM: 'dumb' }, reading],
      [{}, { ...reading, isTerminal: false }],
      [{}, { ...reading, isWanted: false }],
    ] as const)
      expect(pagerOf(env, how)).toBeUndefined()
  })

  it('that is not there is none; one that ends early says so, and is waited for', async () => {
    expect(await startPager(['no-such-pager-anywhere'], () => undefined)).toBeUndefined()
    let closed = 0
    const pager = await startPager(
      [process.execPath, '-e', 'process.stdin.once("data", () => process.exit(0))'],
      () => {
        closed += 1
      },
    )
    pager?.input.write('x'.repeat(1_000_000))
    await pager?.done()
    expect(closed).toBeGreaterThan(0)
  })
})
