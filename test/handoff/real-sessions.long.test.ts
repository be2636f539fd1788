/** Hands real sessions of five programs over to each of the programs, and reads them back. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { isLong, repeated } from '../support/length.js'
import { handoverOf, messagesOf, readBack, squeezed } from '../support/read-back.js'
import { describeWithTranscripts, transcriptsFolder } from '../support/real-transcripts.js'
import { sessionFormats } from '../support/session-formats.js'

const SESSIONS: Readonly<Record<string, string>> = {
  'claude-code': 'claude-code/v2.1.14-manual.jsonl',
  codex: 'codex/v0.142.2-two-compacted.jsonl',
  opencode: 'opencode/v1.4.3-compaction-auto.json',
  pi: 'pi/v3-compaction.jsonl',
  gemini: 'gemini/2026-01-parallel-cancelled.json',
}
const PROGRAMS = Object.keys(SESSIONS)
const PAIRS = PROGRAMS.flatMap((from) => PROGRAMS.filter((to) => to !== from).map((to) => [from, to] as const))
const BUDGETS = isLong ? [100_000, 20_000] : [20_000]

let ledger: Ledger
let home: string
const ids = new Map<string, string>()

describeWithTranscripts('real sessions', () => {
  beforeAll(async () => {
    ledger = await openLedger({ store: 'memory' })
    home = await mkdtemp(join(tmpdir(), 'handoff-'))
    for (const [program, file] of Object.entries(SESSIONS)) {
      const { conversations } = await ledger.transcripts.import(join(transcriptsFolder, file))
      ids.set(program, conversations[0]?.conversationId ?? '')
    }
    await mkdir(join(home, 'gemini', 'tmp', 'project'), { recursive: true })
    await writeFile(join(home, 'gemini', 'projects.json'), JSON.stringify({ projects: { '/srv/project': 'project' } }))
    for (const program of PROGRAMS) await mkdir(join(home, program), { recursive: true })
  })
  afterAll(async () => {
    await ledger.close()
    await rm(home, { recursive: true, force: true })
  })

  it.each(PAIRS.filter((_pair, at) => at % repeated(1, 3) === 0))('of %s travel to %s', async (from, to) => {
    const conversationId = ids.get(from) ?? ''
    for (const budget of BUDGETS) {
      const handoff = await ledger.transcripts.handoff(conversationId, {
        to,
        budget,
        home: join(home, to),
        cwd: '/srv/project',
      })
      expect(sessionFormats[to]?.(await readFile(handoff.file, 'utf8'))).toEqual([])
      const all = await messagesOf(ledger, conversationId)
      const original = all.filter(({ messageId }) => handoff.messageIds.includes(messageId))
      const session = await messagesOf(ledger, handoff.conversationId)
      const back = readBack(
        original,
        session.filter(({ attributes }) => attributes?.['byProgram'] !== true),
      )
      expect(back.problems).toEqual([])
      expect(original.length).toBe(handoff.messageIds.length)
      const counted = (pattern: RegExp): number =>
        handoff.notHandedOver.filter(({ what }) => pattern.test(what)).reduce((sum, { number }) => sum + number, 0)
      expect(counted(/^call of .*, as text$/u)).toBe(back.asText)
      const rules = (await ledger.recall(conversationId, { tokens: 100_000 })).entries.filter(
        ({ section, revision }) => section === 'rules' && revision !== undefined,
      )
      const carried = squeezed(
        (await handoverOf(ledger, handoff.conversationId)) +
          session.map(({ content }) => JSON.stringify(content)).join(''),
      )
      for (const { text } of rules) expect(carried).toContain(squeezed(text.replaceAll(/^“|[”…]+$/gu, '')).slice(0, 60))
      expect(handoff.tokens).toBeLessThanOrEqual(budget)
    }
  })
})
