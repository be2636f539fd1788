/** Handwritten histories of Aider, in the formats of versions 0.47 to 0.86. */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { contentText } from '../../src/domain/values/message.js'
import { refusalOf } from '../../src/application/importers/bodies.js'
import { aider } from '../../src/application/importers/aider.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { ofKind } from '../support/transcript-laws.js'

const FILE = '/srv/harbour/.aider.chat.history.md'

function read(lines: readonly string[], isWhole = true): TranscriptItem[] {
  const reader = aider.read(FILE, plainContentId)
  const items = lines.flatMap((value, at) => [...reader.take({ value, where: { file: FILE, line: at + 1 } })])
  return isWhole ? [...items, ...reader.end()] : items
}
/** The speaker and the text of each message. */
const speakersAndTexts = (items: readonly TranscriptItem[]): string[] =>
  ofKind(items, 'message').map(
    ({ body, byProgram }) => `${byProgram === true ? 'program' : body.role}: ${contentText(body.content)}`,
  )

const HEADER = '# aider chat started at 2026-03-10 08:00:00'
const banner = [
  HEADER,
  '',
  '> /usr/bin/aider --model sonnet  ',
  '> Aider v0.86.1  ',
  '> Main model: anthropic/claude-x with diff edit format, infinite output  ',
  '> Weak model: claude-small  ',
  '',
]
const promptLines = ['#### count the berths  ', '####   ', '#### and the cranes  ', '']
const answered = [
  'There are **three** berths.',
  '',
  '#### Details',
  '> as the harbour says',
  '',
  '```',
  '  code',
  '```',
  '',
]
const took = [
  '> Tokens: 7.4k sent, 1,024 cache write, 2.1k cache hit, 245 received. Cost: $0.02 message, $0.05 session.  ',
  '',
]

describe('a run', () => {
  const items = read([...banner, ...promptLines, ...answered, ...took])

  it('is a separate conversation, with its version and directory', () => {
    expect(ofKind(items, 'conversation')).toEqual([
      {
        kind: 'conversation',
        sourceId: 'harbour/2026-03-10T08:00:00Z',
        programVersion: '0.86.1',
        cwd: '/srv/harbour',
        startedAt: '2026-03-10T08:00:00.000Z',
        where: { file: FILE, line: 1 },
      },
    ])
  })

  it('contains the user’s lines as one message, Aider’s output, and the model’s text with its headings', () => {
    expect(speakersAndTexts(items)).toEqual([
      'program: /usr/bin/aider --model sonnet\nAider v0.86.1\nMain model: anthropic/claude-x with diff edit format, infinite output\nWeak model: claude-small',
      'user: count the berths\n\nand the cranes',
      'assistant: There are **three** berths.\n\n#### Details\n> as the harbour says\n\n```\n  code\n```',
      'program: Tokens: 7.4k sent, 1,024 cache write, 2.1k cache hit, 245 received. Cost: $0.02 message, $0.05 session.',
    ])
  })

  it('contains the model and the usage of an answer', () => {
    expect(ofKind(items, 'message')[2]).toMatchObject({
      model: 'anthropic/claude-x',
      usage: { inputTokens: 7400, outputTokens: 245, cacheWriteTokens: 1024, cacheReadTokens: 2100, cost: 0.02 },
    })
  })

  it('has ids from its line numbers, which stay the same if an earlier run is deleted', () => {
    const ids = (given: readonly TranscriptItem[]): string[] => ofKind(given, 'message').map(({ sourceId }) => sourceId)
    const earlier = ['# aider chat started at 2026-03-09 08:00:00', '', '> hello  ', '']
    expect(ids(items)).toEqual(['line-2', 'line-7', 'line-11', 'line-20'])
    expect(ids(read([...earlier, ...banner, ...promptLines, ...answered, ...took])).slice(1)).toEqual(ids(items))
  })
})

it('each run is a conversation, and two that began in the same second have different ids', () => {
  const items = read([HEADER, '', HEADER, '', '#### hello  ', '', '# aider chat started at 2026-03-10 09:00:00'])
  expect(ofKind(items, 'conversation').map(({ sourceId }) => sourceId)).toEqual([
    'harbour/2026-03-10T08:00:00Z',
    'harbour/2026-03-10T08:00:00Z-2',
    'harbour/2026-03-10T09:00:00Z',
  ])
})

it('the text before the first run is a conversation as well', () => {
  const items = read(['> Applied edit to quay.py  ', '', '#### thanks  ', '', HEADER])
  expect(ofKind(items, 'conversation').map(({ sourceId }) => sourceId)).toEqual([
    'harbour/start',
    'harbour/2026-03-10T08:00:00Z',
  ])
  expect(speakersAndTexts(items)).toEqual(['program: Applied edit to quay.py', 'user: thanks'])
})

it('two consecutive inputs are two messages', () => {
  expect(speakersAndTexts(read([HEADER, '', '#### /add a.py  ', '', '#### /add b.py  ', '']))).toEqual([
    'user: /add a.py',
    'user: /add b.py',
  ])
})

it('a multi-line output of Aider begins with its prefix and ends with two spaces', () => {
  const items = read([
    HEADER,
    '',
    '#### /test pytest  ',
    '> ===== test session starts =====',
    'platform linux',
    '',
    '>>>>>>> quay',
    '===== 1 failed =====  ',
    '> Fix it? (Y)es/(N)o [Yes]: y  ',
    '',
    'I fix it.',
    HEADER,
  ])
  expect(speakersAndTexts(items)).toEqual([
    'user: /test pytest',
    'program: ===== test session starts =====\nplatform linux\n\n>>>>>>> quay\n===== 1 failed =====\nFix it? (Y)es/(N)o [Yes]: y',
    'assistant: I fix it.',
  ])
})

it('a file whose lines an editor trimmed is read by its prefixes alone', () => {
  const trimmed = [...banner, ...promptLines, 'Three.', '', HEADER].map((line) => line.trimEnd())
  expect(speakersAndTexts(read(trimmed)).slice(1)).toEqual([
    'user: count the berths\n\nand the cranes',
    'assistant: Three.',
  ])
})

it('the last message is omitted while the next line may belong to it, and emitted after it has ended', () => {
  const incomplete = [HEADER, '', ...promptLines, 'There are three berths.', '']
  const items = read(incomplete)
  expect(speakersAndTexts(items)).toEqual(['user: count the berths\n\nand the cranes'])
  expect(items.at(-1)).toMatchObject({ kind: 'left-out', what: 'last message, which may go on' })
  expect(
    speakersAndTexts(read([...incomplete, 'And a crane.', '', '> Tokens: 7.4k sent, 245 received.  ', ''])),
  ).toEqual([
    'user: count the berths\n\nand the cranes',
    'assistant: There are three berths.\n\nAnd a crane.',
    'program: Tokens: 7.4k sent, 245 received.',
  ])
})

it('a history is recognized by the line that begins a run', () => {
  expect(aider.recognize({ path: FILE, records: [], text: `\n${HEADER}\r\n\n> hello  ` })).toBe('text')
  expect(aider.recognize({ path: FILE, records: [], text: '# aider chat started at last' })).toBeUndefined()
  // A truncated file begins in the middle of a message.
  expect(aider.recognize({ path: FILE, records: [], text: 'words\n> Applied edit to quay.py  \n' })).toBe('text')
  expect(aider.recognize({ path: '/srv/notes.md', records: [], text: '> Applied edit to quay.py  \n' })).toBeUndefined()
})

describe('any history', () => {
  const line = fc.oneof(
    fc.constantFrom(
      HEADER,
      '',
      '####   ',
      '>  ',
      '> said  ',
      '#### asked  ',
      '> begins',
      '#### heading',
      'words',
      'broken  ',
      '   ',
    ),
    fc.string(),
  )
  const lines = fc.array(line, { maxLength: 30 })

  it('yields the first items of a longer file, and only messages that the ledger accepts', () => {
    fc.assert(
      fc.property(lines, fc.nat(30), (all, cut) => {
        const items = read(all)
        const half = read(all.slice(0, cut), false)
        expect(items.slice(0, half.length)).toEqual(half)
        const messages = ofKind(items, 'message')
        const halfMessages = ofKind(read(all.slice(0, cut)), 'message')
        expect(messages.slice(0, halfMessages.length)).toEqual(halfMessages)
        expect(read(all)).toEqual(items)
        const ids = new Set<string>()
        let conversation = ''
        for (const item of items) {
          if (item.kind === 'conversation') conversation = item.sourceId
          if (item.kind !== 'message') continue
          expect(refusalOf(item.body)).toBeUndefined()
          expect(ids).not.toContain(`${conversation} ${item.sourceId}`)
          ids.add(`${conversation} ${item.sourceId}`)
        }
      }),
      { numRuns: 200 },
    )
  })

  it('keeps every word', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^(?:> |#### )?[a-z]{4} {0,2}$/u), { maxLength: 20 }), (all) => {
        const words = speakersAndTexts(read([HEADER, ...all, HEADER])).join(' ')
        for (const one of all) expect(words).toContain(one.replace(/^(?:> |#### )/u, '').trim())
      }),
    )
  })
})
