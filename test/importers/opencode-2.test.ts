/** Databases of opencode 2: new ones, and those that version 1 created. */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { describe, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordsOfDatabase } from '../../src/application/importers/opencode-files.js'
import { opencode } from '../../src/application/importers/opencode.js'
import { headOf } from '../../src/application/importers/records-of.js'
import type { TranscriptItem, TranscriptRecord } from '../../src/application/importers/transcript.js'
import {
  countByQuery,
  writeFresh,
  writeOfGo,
  writeUpgraded,
  type CountedByQuery,
} from '../support/opencode-database.js'
import { connect, hasSqlite } from '../support/sqlite-program.js'
import { violationsOf, itemsFrom, linesOf, ofKind } from './reading.js'

const read = (): ReturnType<typeof opencode.read> => opencode.read('/home/somebody/opencode.db', plainContentId)

async function inFolder<T>(use: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'opencode-2-'))
  try {
    return await use(join(folder, 'opencode.db'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function recordsIn(path: string): Promise<readonly TranscriptRecord[]> {
  const records: TranscriptRecord[] = []
  for await (const record of recordsOfDatabase(path, connect)) records.push(record)
  return records
}

const counted = (items: readonly TranscriptItem[]): CountedByQuery => {
  const messages = ofKind(items, 'message')
  const of = (role: string): number => messages.filter(({ body }) => body.role === role).length
  return {
    sessions: new Set(ofKind(items, 'conversation').map(({ sourceId }) => sourceId)).size,
    prompts: of('user'),
    answers: of('assistant'),
    results: of('tool'),
    compactions: ofKind(items, 'compaction').length,
  }
}

const describeWithSqlite = hasSqlite ? describe : describe.skip

describeWithSqlite('a database of opencode 2', () => {
  it('is read in the order of seq, with calls, results and compactions', async () => {
    await inFolder(async (path) => {
      writeFresh(path)
      expect(opencode.recognize(await headOf(path))).toBe('json')
      const records = await recordsIn(path)
      const items = itemsFrom(read(), records)
      expect(linesOf(items)).toEqual([
        'msg_u1.0 user: list the files',
        'msg_a1.0 assistant: [{"type":"reasoning","text":"a shell will do"},{"type":"text","text":"I look."}] +call_1 +call_2 +call_3',
        'msg_a1.1 tool (exit 0): a.ts\nb.ts =call_1',
        'msg_a1.2 tool (error): not found =call_2',
        'msg_s1.0 user (program): Continue.',
        'msg_u2.0 user: and now?',
        'msg_k1.0 user: search for it',
        'msg_f_1.0 user: list the files',
      ])
      expect(ofKind(items, 'conversation').map(({ sourceId, parent }) => [sourceId, parent])).toEqual([
        ['ses_new', undefined],
        ['ses_child', { sourceId: 'ses_new', how: 'sub-agent', callId: 'call_3' }],
        ['ses_fork', { sourceId: 'ses_new', how: 'fork' }],
      ])
      const [compaction] = ofKind(items, 'compaction')
      expect(compaction).toMatchObject({
        sourceId: 'msg_c1',
        trigger: 'auto',
        summary: { kind: 'text', text: 'Two files were listed.' },
        model: 'small-model',
        usage: { inputTokens: 100, outputTokens: 20, cost: 0.01 },
      })
      expect(counted(items)).toEqual(countByQuery(path))
      expect(violationsOf(read, records)).toEqual([])
    })
  })

  it('is read with the sessions of version 1, each session and message once', async () => {
    await inFolder(async (path) => {
      writeUpgraded(path)
      const records = await recordsIn(path)
      const items = itemsFrom(read(), records)
      expect(linesOf(items).filter((line) => !/msg_[uaskf]/u.test(line))).toEqual([
        'msg_o1.0 user: hello',
        'msg_o2.0 assistant: good day',
        'msg_b1.0 user: first',
        'msg_b2.0 assistant: second',
        'msg_v2_3.0 user: third',
        'msg_b9.0 user: written by version 1 after the upgrade',
        'msg_n1.0 user: one',
        'msg_v2_6.0 user: two',
        'msg_p1.0 user: before the upgrade',
        'msg_v2_4.0 user: after the upgrade',
      ])
      expect(counted(items)).toEqual(countByQuery(path))
      expect(violationsOf(read, records)).toEqual([])
    })
  })

  it('of the program written in Go is rejected without advice to export', async () => {
    await inFolder(async (path) => {
      writeOfGo(path)
      for (const open of [connect, () => undefined]) {
        const records: TranscriptRecord[] = []
        for await (const record of recordsOfDatabase(path, open)) records.push(record)
        const [damage] = ofKind(itemsFrom(read(), records), 'damage')
        expect(damage?.detail).toMatch(/written in Go/u)
        expect(damage?.detail).not.toMatch(/opencode export/u)
      }
    })
  })
})
