/** Reports on the compactions of recorded conversations: another program's and ours. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ForgottenCycle, Ledger } from '../../src/index.js'
import { claudeCodeLines } from '../support/claude-code-transcript.js'
import { sampleConversation } from '../support/real-conversations.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

const THEIRS = 'claude-code/session-1'

describe('reports on compactions', () => {
  let folder: string
  let ledger: Ledger
  const cyclesOf = async (conversationId: string, cycle?: number): Promise<ForgottenCycle[]> => {
    const found: ForgottenCycle[] = []
    await ledger.forgotten(conversationId, {
      onCycle: (each) => void found.push(each),
      ...(cycle === undefined ? {} : { cycle }),
    })
    return found
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'forgotten-'))
    const file = join(folder, 'session-1.jsonl')
    await writeFile(file, `${claudeCodeLines(8, [3, 5]).join('\n')}\n`)
    ledger = await ledgerOn(await openTestDatabase(), { policy: { modelMaxTokens: 3_000 } })
    await ledger.transcripts.import(file)
    const { messages } = sampleConversation()
    await ledger.append('ours', messages.slice(0, 120))
    await ledger.admin.waitForCompaction('ours')
  })

  afterAll(async () => {
    await ledger.close()
    await rm(folder, { recursive: true })
  })

  it("list the removed messages of another program's compactions by role and tool, with the program", async () => {
    const [first, second, ...more] = await cyclesOf(THEIRS)
    expect(more).toEqual([])
    expect(first?.keys).toEqual({ program: 'claude-code', version: 'claude-code 2.1.50', trigger: 'auto' })
    expect(first?.report.left).toMatchObject({ messages: 16, byTool: { Read: { messages: 4 } } })
    expect(second?.report.left.messages).toBe(8)
  })

  it('list a file that the summary does not name as lost, with its message', async () => {
    const [first] = await cyclesOf(THEIRS, 1)
    const files = first?.report.items.filter(({ kind }) => kind === 'file') ?? []
    const lostFile = files.find(({ text }) => text.includes('slipwayPlan_1.toml'))
    expect(lostFile).toMatchObject({ verdict: 'lost', said: { kind: 'message' } })
  })

  it('name the strategy of our own compactions', async () => {
    const cycles = await cyclesOf('ours')
    expect(cycles.length).toBeGreaterThan(0)
    for (const { keys, report } of cycles) {
      expect(keys).toMatchObject({ program: 'context-ledger', strategy: 'extractive' })
      expect(report.left.messages).toBeGreaterThan(0)
      expect(report.summary.kind).toBe('text')
    }
  })

  it('add up all conversations by program and strategy', async () => {
    const { conversations, totals } = await ledger.forgotten()
    expect(conversations).toBe(2)
    expect(totals.by.program['claude-code']?.compactions).toBe(2)
    expect(totals.all.compactions).toBe(2 + (totals.by.strategy['extractive']?.compactions ?? 0))
  })

  it('reject a cycle without a conversation, and an invalid number', async () => {
    await expect(ledger.forgotten(undefined, { cycle: 1 })).rejects.toThrow('cycle goes with a conversation')
    await expect(ledger.forgotten(THEIRS, { cycle: 0 })).rejects.toThrow('cycle must be the number of a cycle')
  })
})
