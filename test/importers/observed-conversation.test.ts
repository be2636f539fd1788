/** All operations of a ledger, on a conversation that another program recorded. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ledger } from '../../src/index.js'
import { claudeCodeLines } from '../support/claude-code-transcript.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { longTest } from '../support/length.js'

const ID = 'claude-code/session-1'
const TURNS = 12

describe('a conversation of another program', () => {
  let folder: string
  let file: string
  let ledger: Ledger

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'observed-'))
    file = join(folder, 'session-1.jsonl')
    await writeFile(file, `${claudeCodeLines(TURNS, [3, 8]).join('\n')}\n`)
    ledger = await ledgerOn(await openTestDatabase(), { policy: { modelMaxTokens: 1_500 } })
    await ledger.transcripts.import(file)
  })

  afterAll(async () => {
    await ledger.close()
    await rm(folder, { recursive: true })
  })

  it('has the program’s context, now and at every earlier point', async () => {
    const now = await ledger.context(ID)
    expect(now.observed).toEqual({ program: 'claude-code', programVersion: '2.1.50', summaries: [0] })
    expect(now.messages[0]?.content).toContain('Cranes up to 8 were looked at')
    expect(now.messages).toHaveLength(1 + 4 * (TURNS - 9))
    const { from } = await ledger.diff(ID, { cycle: 1 })
    expect((await ledger.context(ID, { at: from.revision })).messages).toHaveLength(4 * 4)
  })

  it('records nothing if it is imported again, and only new items if it has grown', async () => {
    expect(await ledger.transcripts.import(file)).toMatchObject({ unchanged: true, conversations: [] })
    await writeFile(file, `${claudeCodeLines(TURNS + 1, [3, 8]).join('\n')}\n`)
    const grown = await ledger.transcripts.import(file)
    expect(grown.conversations[0]).toMatchObject({ messages: 4, compactions: 0, known: 4 * TURNS + 2 })
  })

  it('is searchable in all its messages, and explains a line down to its location in the transcript', async () => {
    const { hits } = await ledger.search('bolt M1 loose', { conversationId: ID })
    expect(hits.some((hit) => hit.kind === 'message' && hit.text.includes('crane 1'))).toBe(true)
    const explained = await ledger.explain(ID, { line: 'Cranes up to 8 were looked at; bolt M8 is loose.' })
    expect(JSON.stringify(explained)).toContain('"program":"claude-code"')
  })

  it('shows the messages that a cycle removed', async () => {
    const difference = await ledger.diff(ID, { cycle: 2 })
    expect(difference.messages.left.map(({ messageId }) => messageId)).toContain('u4')
  })

  it('is compacted only by its program until an edition of the ledger is adopted', async () => {
    await expect(ledger.compact(ID, { force: true })).rejects.toThrow('claude-code makes')
  })

  it('verifies', async () => {
    const { ok, problems } = await ledger.admin.verify()
    expect(problems).toEqual([])
    expect(ok).toBe(true)
  })

  longTest('is replayed with a strategy of the ledger, compared, adopted and reverted', async () => {
    const replayed = await ledger.editions.replay({ conversations: [ID] })
    const { editionId } = replayed
    const compared = await ledger.editions.compare([ID], editionId)
    expect(compared.conversations).toHaveLength(1)
    await ledger.editions.adopt(ID, editionId)
    const contextOfLedger = await ledger.context(ID)
    expect(contextOfLedger.observed).toBeUndefined()
    expect(contextOfLedger.tokens).toBeLessThanOrEqual(1_500)
    expect((await ledger.admin.verify(ID)).problems).toEqual([])
    await ledger.editions.revert(ID)
    const back = await ledger.context(ID)
    expect(back.observed).toEqual({ program: 'claude-code', programVersion: '2.1.50', summaries: [0] })
    expect(back.messages[0]?.content).toContain('Cranes up to 8 were looked at')
    expect((await ledger.admin.verify(ID)).problems).toEqual([])
  })

  it('undoes a cycle of the program, and is managed by the ledger from then on', async () => {
    const policy = { modelMaxTokens: 100_000 }
    await ledger.append(ID, { id: 'more', role: 'user', content: 'and more' }, { policy })
    await ledger.editions.undo(ID, { cycle: 2 })
    const context = await ledger.context(ID)
    expect(context.observed).toBeUndefined()
    expect(context.messageIds).toContain('u4')
    expect((await ledger.admin.verify(ID)).problems).toEqual([])
  })
})
