/** Lists and searches report lagging read models and unknown conversations, and omit none while rows change. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Ledger, MessageInput } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { say, talk } from '../support/conversations.js'
import { ledgerOn as opened } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

let db: Database
const ledgers: Ledger[] = []
async function ledgerOn(...asked: Parameters<typeof opened>): Promise<Ledger> {
  const ledger = await opened(...asked)
  ledgers.push(ledger)
  return ledger
}
afterEach(async () => {
  for (const ledger of ledgers.splice(0)) await ledger.close()
})
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(async () => {
  await db.close()
})
beforeEach(async () => {
  await db.script('drop schema context_ledger cascade; create schema context_ledger')
})

describe('rows that others keep, and that are behind', () => {
  let writer: Ledger
  let keeper: Ledger
  let reader: Ledger
  beforeEach(async () => {
    keeper = await ledgerOn(db)
    writer = await ledgerOn(db, { workers: 'elsewhere' })
    reader = await ledgerOn(db, { workers: 'elsewhere' })
    await writer.append('a', talk(3))
    await keeper.admin.projections.catchUp()
  })

  it('are said so beside what they show, and no more once they show all', async () => {
    expect(await reader.list()).toEqual({ conversations: [expect.objectContaining({ conversationId: 'a' })] })
    await writer.append('b', talk(4))
    expect(await reader.list()).toMatchObject({
      conversations: [{ conversationId: 'a' }],
      behind: { events: 5, isAtLeast: false },
    })
    expect((await reader.search('berth')).behind).toEqual({ events: 5, isAtLeast: false })
    await keeper.admin.projections.catchUp()
    expect((await reader.list()).behind).toBeUndefined()
    expect((await reader.search('berth')).behind).toBeUndefined()
  })

  it('are behind for one conversation only by what is its own, and beyond a thousand by at least so many', async () => {
    await writer.append('b', talk(2))
    expect((await reader.search('berth', { conversationId: 'a' })).behind).toBeUndefined()
    await writer.append('a', say(7))
    expect((await reader.search('berth', { conversationId: 'a' })).behind).toEqual({ events: 1, isAtLeast: false })
    await writer.append('c', talk(1_005))
    expect((await reader.search('berth')).behind).toEqual({ events: 1_000, isAtLeast: true })
  })
})

describe('a conversation that is not there', () => {
  it('is an error of a search, and one in which nothing is found is none', async () => {
    const ledger = await ledgerOn(db)
    await ledger.append('a', talk(3))
    await expect(ledger.search('berth', { conversationId: 'b' })).rejects.toMatchObject({
      kind: 'NoSuchConversation',
      details: { conversationId: 'b' },
    })
    expect(await ledger.search('nowhere', { conversationId: 'a' })).toEqual({ hits: [] })
  })
})

describe('a list of many conversations', () => {
  it('leaves none out although they move while it is made', async () => {
    const ledger = await ledgerOn({
      ...db,
      async query<Row extends object>(text: string, values?: readonly unknown[]) {
        const rows = await db.query<Row>(text, values)
        // After each page, the least recently changed conversation gets a new event.
        if (text.includes('from conversations c')) {
          await db.script(
            `update conversations_g1 set last_message_at = '2027' where conversation_id = (select conversation_id from conversations_g1 order by coalesce(last_message_at, first_recorded_at) limit 1)`,
          )
        }
        return rows
      },
    })
    await ledger.admin.projections.catchUp()
    await db.script(`
      insert into conversations_g1 (conversation_id, revision, first_recorded_at, last_recorded_at, cycles, messages_compressed, window_start)
      select 'c' || n, 0, '2026', '2026-01-01T00:00:' || lpad(n::text, 6, '0'), 0, 0, 0 from generate_series(1, 1200) n`)
    const { conversations } = await ledger.list()
    expect(new Set(conversations.map(({ conversationId }) => conversationId)).size).toBe(1_200)
  })
})

describe('memory_read', () => {
  it('leaves out its own calls and answers, and nothing else that was called or answered', async () => {
    const ledger = await ledgerOn(db, {
      policy: { modelMaxTokens: 1_000, chunkSize: 3, chunkMinTokens: 0, keepRecent: 2, maxSummaryTokens: 16 },
    })
    const called = (id: string, name: string): MessageInput => ({
      id: `call ${id}`,
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: '{"query":"giraffe"}' } }],
    })
    await ledger.append('a', [
      say(0),
      say(1, { id: 'said', content: 'the giraffe is in the garden' }),
      called('c1', 'memory_read'),
      { id: 'answer c1', role: 'tool', tool_call_id: 'c1', content: '{"hits":["giraffe"]}' },
      called('c2', 'zoo'),
      { id: 'answer c2', role: 'tool', tool_call_id: 'c2', content: 'one giraffe' },
      ...talk(30, 10),
    ])
    await ledger.admin.waitForCompaction('a')
    await ledger.compact('a', { force: true })
    const [memoryRead] = ledger.conversation('a').tools.list
    const answer = await memoryRead?.execute({ query: 'giraffe', limit: 50 })
    for (const id of ['said', 'call c2', 'answer c2']) expect(answer).toContain(`"messageIds":["${id}"]`)
    for (const id of ['call c1', 'answer c1']) expect(answer).not.toContain(`"messageIds":["${id}"]`)
  })
})
