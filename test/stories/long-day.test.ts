/**
 * A working day of an agent with the whole system: the sample conversation in the embedded ledger with a window far too
 * small for it. Every message is stored, every context fits, removed messages are found by search, and all of it can be
 * verified and rebuilt.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLedger, type EventType, type Ledger, type MessageInput, type RecordedEvent } from '../../src/index.js'
import { problemsOfEveryApi } from '../support/chat-validity.js'
import { jsonAs } from '../support/json.js'
import { coverageProblems } from '../support/coverage.js'

const DAY = 'sample-harbour'
const WINDOW = 4_000

const messages = readFileSync(join('examples', 'sample-conversation.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => jsonAs<MessageInput & { readonly type?: string }>(line))
  .filter((line) => line.type === undefined || line.type === 'message')
  .filter((line) => typeof line.role === 'string')

describe('a long day', () => {
  let ledger: Ledger
  const widths: number[] = []
  const problems: string[] = []
  const reasons = new Set<string | undefined>()

  beforeAll(async () => {
    ledger = await openLedger({
      store: 'memory',
      policy: {
        modelMaxTokens: WINDOW,
        chunkSize: 8,
        chunkMinTokens: 400,
        buffer: 2,
        clipFirst: 1,
        clipLast: 1,
        maxSummaryTokens: 100,
      },
    })
    for (const message of messages) {
      await ledger.append(DAY, message)
      await ledger.admin.waitForCompaction(DAY)
      const context = await ledger.context(DAY)
      widths.push(context.tokens)
      problems.push(...problemsOfEveryApi(context.messages))
      reasons.add(context.overBudget?.reason)
      if (!context.messageIds.includes(message.id))
        problems.push(`the last message ${String(message.id)} is not in the context`)
    }
  })
  afterAll(async () => {
    await ledger.close()
  })

  const events = async (): Promise<RecordedEvent[]> => {
    const all: RecordedEvent[] = []
    for await (const event of ledger.log(DAY)) all.push(event)
    return all
  }
  const count = async (type: EventType): Promise<number> =>
    (await events()).filter((event) => event.type === type).length

  it('every context was valid, fitted, and contained the last message', () => {
    expect(messages.length).toBeGreaterThan(100)
    expect(problems).toEqual([])
    expect(Math.max(...widths)).toBeLessThanOrEqual(WINDOW)
    expect([...reasons].filter((reason) => reason === 'compaction-due' || reason === 'compaction-failed')).toEqual([])
  })

  it('went through several cycles and a re-summarization, and lost no message', async () => {
    expect(await count('MessageAppended')).toBe(messages.length)
    expect(await count('MessagesPruned')).toBeGreaterThan(3)
    expect(await count('BatchesResummarized')).toBeGreaterThan(0)
    expect(coverageProblems(await events())).toEqual([])
  })

  it('finds a message that left the context, with its source', async () => {
    const live = new Set((await ledger.context(DAY)).messageIds)
    const { hits } = await ledger.search('advisory lock per berth for HB-412', {
      conversationId: DAY,
      include: 'messages',
    })
    const hit = hits.find(({ batchId }) => batchId !== null)
    expect(hit).toMatchObject({ conversationId: DAY, batchId: expect.stringMatching(/^batch-/u) })
    expect(hit?.text.toLowerCase()).toContain('advisory lock')
    const [id = ''] = hit?.messageIds ?? []
    expect(live.has(id)).toBe(false)
    const origin = (await events()).find((event) => event.revision === hit?.firstRevision)
    expect(origin?.type === 'MessageAppended' ? [origin.data.messageId, origin.data.content] : []).toEqual([
      id,
      messages.find((message) => message.id === id)?.content,
    ])
    const batch = (await events()).find(
      (event) => event.type === 'BatchArchived' && event.data.batchId === hit?.batchId,
    )
    expect(batch?.type === 'BatchArchived' ? batch.data.messageIds : []).toContain(id)
  })

  it('returns the same to the agent through its tool, without messages that are still in the context', async () => {
    const tool = ledger.conversation(DAY).tools.list.find(({ name }) => name === 'memory_read')
    const { hits } = jsonAs<{ hits: { messageIds: string[] }[] }>(
      (await tool?.execute({ query: 'advisory lock per berth' })) ?? '',
    )
    const context = await ledger.context(DAY)
    const whole = new Set(
      context.messageIds.filter((id) => !(context.shortened ?? []).some((short) => short.id === id)),
    )
    expect(hits.length).toBeGreaterThan(0)
    for (const hit of hits) expect(hit.messageIds.every((id) => whole.has(id))).toBe(false)
  })

  it('appended again records nothing', async () => {
    const { recorded } = await ledger.append(DAY, messages)
    expect(recorded).toEqual([])
  })

  it('verifies, is rebuilt, and verifies again, without a new summary', async () => {
    expect(await ledger.admin.verify()).toMatchObject({ ok: true, conversations: 1, problems: [] })
    const before = [await count('ChunkSummarized'), await count('BatchesResummarized')]
    const found = await ledger.search('double booking', { conversationId: DAY })
    await ledger.admin.projections.rebuild('all')
    expect(await ledger.admin.verify(DAY)).toMatchObject({ ok: true, problems: [] })
    expect([await count('ChunkSummarized'), await count('BatchesResummarized')]).toEqual(before)
    expect(await ledger.search('double booking', { conversationId: DAY })).toEqual(found)
  })
})
