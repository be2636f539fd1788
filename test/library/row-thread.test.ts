/**
 * Rows compared in a worker thread: the result equals that of the main thread, and the thread ends when the caller
 * aborts.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { createRowThread, type RowThreadPlace } from '../../src/library/row-thread.js'
import { openLedger } from '../../src/index.js'
import type { CheckRows, RowDifference } from '../../src/ports/row-check.js'
import type { Database } from '../../src/ports/sql.js'
import { SMALL, talk } from '../support/conversations.js'
import { serverDescribe } from '../support/length.js'
import { createTestDatabase } from '../support/postgres.js'

serverDescribe('rows compared in a thread of its own', () => {
  let threadPlace: RowThreadPlace
  let drop: () => Promise<void>
  let db: Database
  let checkRows: CheckRows
  const found = async (conversationId?: string): Promise<readonly RowDifference[]> =>
    await checkRows(conversationId, new AbortController().signal)

  beforeAll(async () => {
    const made = await createTestDatabase()
    drop = made.drop
    threadPlace = { store: made.address, database: undefined }
    checkRows = createRowThread(threadPlace)
    const ledger = await openLedger({ store: threadPlace.store, policy: SMALL })
    for (const id of ['earlier', 'talk']) {
      await ledger.append(id, talk(60))
      await ledger.admin.waitForCompaction(id)
    }
    await ledger.admin.projections.catchUp()
    await ledger.close()
    db = await openPostgres(threadPlace.store)
  }, 60_000)
  afterAll(async () => {
    await db.close()
    await drop()
  })

  it('finds nothing where nothing is wrong, in one conversation and in all', async () => {
    expect(await found('talk')).toEqual([])
    expect(await found()).toEqual([])
  }, 60_000)

  it('names the row that was changed, and the rows of nobody', async () => {
    const [{ name } = { name: '' }] = await db.query<{ name: string }>(
      `select relname as name from pg_class where relkind = 'r' and relname ~ '^live_messages_g[0-9]+$'`,
    )
    const changed = `where conversation_id = 'talk' and revision = (select max(revision) from ${name} where conversation_id = 'talk')`
    await db.query(`update ${name} set tokens = tokens + 1 ${changed}`)
    const results = [
      {
        conversationId: 'talk',
        revision: expect.any(Number),
        detail: expect.stringMatching(/^live-messages, table live_messages: the row .* is different \(tokens\)$/u),
      },
    ]
    expect(await found('talk')).toEqual(results)
    expect(await found()).toEqual(results)
    expect(await found('earlier')).toEqual([])
    await db.query(`update ${name} set tokens = tokens - 1 ${changed}`)
    await db.query(
      `insert into ${name} select 'nobody', message_id, revision, role, created_at, tokens, pinned, body from ${name} where conversation_id = 'talk' limit 1`,
    )
    expect(await found()).toEqual([
      {
        conversationId: 'nobody',
        revision: -1,
        detail: 'live-messages, table live_messages has rows of conversation-nobody, which is not in the log',
      },
    ])
    await db.query(`delete from ${name} where conversation_id = 'nobody'`)
  }, 60_000)

  it('ends when nobody wants to know any more, and says why it cannot begin', async () => {
    const enough = new Error('enough')
    await expect(checkRows('talk', AbortSignal.abort(enough))).rejects.toBe(enough)
    const stop = new AbortController()
    const check = checkRows(undefined, stop.signal)
    setImmediate(() => {
      stop.abort(enough)
    })
    await expect(check).rejects.toBe(enough)
    const elsewhere = new URL(threadPlace.store)
    elsewhere.pathname = '/there_is_no_such_database'
    await expect(
      createRowThread({ ...threadPlace, store: elsewhere.href })('talk', new AbortController().signal),
    ).rejects.toMatchObject({ kind: 'StoreRefused' })
    await expect(
      createRowThread(threadPlace, '/nothing-there.js')('talk', new AbortController().signal),
    ).rejects.toThrow('Cannot find module')
  }, 60_000)
})
