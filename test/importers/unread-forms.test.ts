/** Files of programs without an importer: the error names their format. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { importers } from '../../src/application/importers/index.js'
import { isOfIFlow, refusalOfForm, unreadFormOf } from '../../src/application/importers/unread-forms.js'
import type { Head } from '../../src/application/importers/transcript.js'

const headOf = (path: string, text: string): Head => ({
  path,
  text,
  records: text.split('\n').flatMap((line): unknown[] => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  }),
})
const line = (value: unknown): string => JSON.stringify(value)

const iflow = {
  uuid: 'u1',
  parentUuid: null,
  sessionId: 'session-041101e6-2a7f-4dfd-90b0-57888a353f6a',
  timestamp: '2026-02-27T09:11:31.532Z',
  type: 'user',
  isSidechain: false,
  userType: 'external',
  message: { role: 'user', content: 'hello' },
  cwd: '/home/somebody',
  version: '1.0.0',
}

const FILES = [
  [
    'text in UTF-16',
    headOf('/a/chat.jsonl', Buffer.from('\uFEFF{"role":"user","content":"hi"}', 'utf16le').toString('utf8')),
  ],
  ['a session of iFlow CLI', headOf('/a/session.jsonl', line(iflow))],
  [
    'a Markdown export of Cursor',
    headOf('/a/chat.md', '# Fix it\n_Exported on 6/3/2026 at 10:00:00 from Cursor (1.0.0)_\n'),
  ],
] as const satisfies readonly (readonly [name: string, head: Head])[]

describe('a file of a program without an importer', () => {
  it.each(FILES)('%s is recognized, by one format only', (name, head) => {
    expect(unreadFormOf(head)?.name).toBe(name)
    for (const importer of importers)
      expect([importer.program, importer.recognize(head)]).toEqual([importer.program, undefined])
  })

  it('is rejected with a list of the programs that have an importer', () => {
    const [, , [, head]] = FILES
    const form = unreadFormOf(head)
    expect(form && refusalOfForm('chat.md', form, ['codex', 'pi'])).toBe(
      'chat.md looks like a Markdown export of Cursor, for which there is no importer. There are importers for codex, pi',
    )
  })

  it('does not include a chat in the ledger’s format, or Claude Code', () => {
    expect(unreadFormOf(headOf('/a/chat.jsonl', line({ role: 'user', content: 'hi' })))).toBeUndefined()
    expect(isOfIFlow({ ...iflow, sessionId: '041101e6-2a7f-4dfd-90b0-57888a353f6a' })).toBe(false)
  })
})

describe('a file of no program', () => {
  const formOf = (bytes: Buffer | string): string | undefined =>
    unreadFormOf(headOf('/a/notes.txt', Buffer.from(bytes).toString('utf8')))?.name

  const WORD = fc.stringMatching(/^[a-zäöü]{1,9}$/u)
  const SENTENCE = fc.array(WORD, { minLength: 3, maxLength: 9 })

  it('is text, and no table, if its lines are prose', () => {
    const proseLine = fc.tuple(SENTENCE, fc.constantFrom(', ', '; ', ',\n')).map(([words, comma]) => words.join(comma))
    fc.assert(
      fc.property(fc.array(proseLine, { minLength: 2, maxLength: 9 }), (lines) => {
        expect(formOf(`${lines.join('.\n')}.\n`)).toBeUndefined()
      }),
    )
  })

  it('is a table if all lines have as many separators', () => {
    const rows = fc
      .integer({ min: 2, max: 6 })
      .chain((columns) =>
        fc.array(fc.array(WORD, { minLength: columns, maxLength: columns }), { minLength: 2, maxLength: 9 }),
      )
    fc.assert(
      fc.property(rows, fc.constantFrom(',', ';', '\t'), (lines, separator) => {
        expect(formOf(`${lines.map((row) => row.join(separator)).join('\n')}\n`)).toBe('a table of separated values')
      }),
    )
  })

  it('is no binary file if its text is in Latin-1', () => {
    fc.assert(
      fc.property(fc.array(SENTENCE, { minLength: 1 }), (lines) => {
        const text = `Straße: ${lines.map((words) => words.join(' ')).join('\n')}\n`
        expect(formOf(Buffer.from(text, 'latin1'))).toBe('text that is not in UTF-8')
      }),
    )
    expect(refusal('Grüße\n')).toContain('which cannot be read as it is. Convert it to UTF-8 first, for example with')
  })

  it('is a binary file if it has bytes that no text has', () => {
    expect(formOf(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]))).toBe('a binary file')
    expect(formOf(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]))).toBe('a binary file')
  })

  const refusal = (text: string): string => {
    const form = unreadFormOf(headOf('/a/notes.txt', Buffer.from(text, 'latin1').toString('utf8')))
    return form === undefined ? '' : refusalOfForm('notes.txt', form, ['codex'])
  }
})
