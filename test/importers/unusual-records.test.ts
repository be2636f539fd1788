/** Records that are valid in their form and rare: what they say is read, and nothing around them is lost. */
import { describe, expect, it } from '@jest/globals'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { codex } from '../../src/application/importers/codex.js'
import { cursor } from '../../src/application/importers/cursor.js'
import { gemini } from '../../src/application/importers/gemini.js'
import { QuotedText } from '../../src/application/importers/fences.js'
import { recordsOfLine } from '../../src/application/importers/records-of.js'
import type { Importer, TranscriptItem } from '../../src/application/importers/transcript.js'
import { linesOf, ofKind } from '../support/transcript-laws.js'

/** All items of a reader, with those at its end. */
function allItems(importer: Importer, path: string, values: readonly unknown[]): TranscriptItem[] {
  const reader = importer.read(path, plainContentId)
  return [...linesOf(path, values).flatMap((record) => [...reader.take(record)]), ...reader.end()]
}
const textsIn = (items: readonly TranscriptItem[]): unknown[] =>
  ofKind(items, 'message').map(({ body }) => body.content)

it.each(['{"type":"user","n":007}', '{"n":-01}', '{"a":1}{"n":00}'])('%s is damage, and ends no import', (line) => {
  const pieces = [...recordsOfLine({ bytes: Buffer.from(line), isEnded: true, where: { file: 'x', line: 1 } })]
  expect(pieces.some(({ record }) => 'kind' in record && record.kind === 'damage')).toBe(true)
})

it('a rewind of Gemini CLI to a message that a list has under another id removes what follows, and no more', () => {
  const message = (id: string, text: string): object => ({
    id,
    timestamp: '2026-03-10T08:01:00.000Z',
    type: 'user',
    content: [{ text }],
  })
  const file = '/home/ada/.gemini/tmp/harbour/chats/session-2026-03-10T08-00-aa11bb22.jsonl'
  const items = allItems(gemini, file, [
    { sessionId: 's', projectHash: 'f', startTime: '2026-03-10T08:00:00.000Z', lastUpdated: 'x', kind: 'main' },
    message('a', 'One.'),
    message('b', 'Two.'),
    message('c', 'Three.'),
    { $set: { messages: [message('a2', 'One.'), message('b2', 'Two.'), message('c2', 'Three.')] } },
    { $rewindTo: 'c2' },
  ])
  expect(ofKind(items, 'withdrawal').flatMap(({ sourceIds }) => sourceIds)).toEqual(['c'])
})

describe('a store of Cursor CLI of which a part cannot be read', () => {
  const store = {
    store: {
      id: 's1',
      sessionId: 's1',
      hasRoot: true,
      archives: [],
      messages: [
        { id: 'm1', message: { role: 'user', content: 'Hello.' } },
        { id: 'm2', message: undefined },
      ],
    },
  }
  const path = '/home/ada/.cursor/projects/p/agent-transcripts/s1/s1.jsonl'

  it('leaves the transcript as it is', () => {
    const line = { role: 'user', message: { content: [{ type: 'text', text: 'From the transcript.' }] } }
    const items = allItems(cursor, path, [store, line])
    expect(JSON.stringify(textsIn(items))).toContain('From the transcript.')
    expect(ofKind(items, 'withdrawal')).toEqual([])
  })

  it('gives what can be read if there is no transcript', () => {
    const items = allItems(cursor, path, [store])
    expect(textsIn(items)).toHaveLength(1)
    expect(ofKind(items, 'damage')).toHaveLength(1)
  })
})

it('equal messages at one time in the copied history of a fork of Codex are two messages', () => {
  const timestamp = '2026-03-10T08:01:00.000Z'
  const repeated = {
    timestamp,
    type: 'response_item',
    payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'continue' }] },
  }
  const session = (more: object): unknown[] => [
    { timestamp, type: 'session_meta', payload: { id: 's2', timestamp, cwd: '/srv', ...more } },
    repeated,
    repeated,
  ]
  const path = '/home/ada/.codex/sessions/2026/03/10/rollout-2026-03-10T08-01-00-s2.jsonl'
  expect(textsIn(allItems(codex, path, session({ forked_from_id: 's1' })))).toHaveLength(2)
  expect(textsIn(allItems(codex, path, session({})))).toHaveLength(1)
})

it('thousands of fences without an end are read in one pass, more or less', () => {
  let looks = 0
  const quoted = new QuotedText<{ readonly text: string }>((text) => {
    looks += 1
    return text.startsWith('####')
  })
  const lines = Array.from({ length: 30_000 }, () => ({ text: '```bash' }))
  const read = [...lines.flatMap((line) => [...quoted.take(line)]), ...quoted.end()]
  expect(read).toHaveLength(lines.length)
  expect(looks).toBeLessThan(150 * 10_000)
})
