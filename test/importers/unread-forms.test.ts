/** Files of programs without an importer: the error names their format. */
import { describe, expect, it } from '@jest/globals'
import { importers } from '../../src/importers/index.js'
import { isOfIFlow, refusalOfForm, unreadFormOf } from '../../src/importers/unread-forms.js'
import type { Head } from '../../src/importers/transcript.js'

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

const FILES: readonly (readonly [name: string, head: Head])[] = [
  [
    'text in UTF-16',
    headOf('/a/chat.jsonl', Buffer.from('\uFEFF{"role":"user","content":"hi"}', 'utf16le').toString('utf8')),
  ],
  ['a session of iFlow CLI', headOf('/a/session.jsonl', line(iflow))],
  [
    'a Markdown export of Cursor',
    headOf('/a/chat.md', '# Fix it\n_Exported on 6/3/2026 at 10:00:00 from Cursor (1.0.0)_\n'),
  ],
]

describe('a file of a program without an importer', () => {
  it.each(FILES)('%s is recognized, by one format only', (name, head) => {
    expect(unreadFormOf(head)?.name).toBe(name)
    for (const importer of importers)
      expect([importer.program, importer.recognize(head)]).toEqual([importer.program, undefined])
  })

  it('is rejected with a list of the programs that have an importer', () => {
    const sentence = refusalOfForm('chat.md', { name: 'a Markdown export of Cursor', isOfProgram: true }, [
      'codex',
      'pi',
    ])
    expect(sentence).toBe(
      'chat.md looks like a Markdown export of Cursor, for which there is no importer. There are importers for codex, pi',
    )
  })

  it('does not include a chat in the ledger’s format, or Claude Code', () => {
    expect(unreadFormOf(headOf('/a/chat.jsonl', line({ role: 'user', content: 'hi' })))).toBeUndefined()
    expect(isOfIFlow({ ...iflow, sessionId: '041101e6-2a7f-4dfd-90b0-57888a353f6a' })).toBe(false)
  })
})
