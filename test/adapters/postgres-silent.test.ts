/** A Postgres server that is suspended: every call ends after one time limit with an error that names the server. */
import { expect, it } from '@jest/globals'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import type { Database } from '../../src/ports/sql.js'
import { serverDescribe } from '../support/length.js'
import { testServer } from '../support/postgres.js'

// Without a server these are counted as skipped.

/** Long enough for a loaded server to open the database. */
const STATEMENT_TIMEOUT_MS = 2_000
/** How long the client waits for an answer. */
const LIMIT_MS = STATEMENT_TIMEOUT_MS + 5_000

/** Starts a relay to the server. After `hush` it passes on no more bytes, like a suspended server. */
async function relay(): Promise<{ address: string; hush: () => void; close: () => Promise<void> }> {
  const to = new URL(testServer)
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(to.port || 5432), to.hostname)
    for (const socket of [near, far]) {
      open.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        open.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.pipe(far)
    far.pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = new URL(testServer)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  address.host = `127.0.0.1:${String((server.address() as AddressInfo).port)}`
  return {
    address: address.href,
    hush() {
      for (const socket of open) socket.unpipe().pause()
    },
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

serverDescribe('a server that becomes silent', () => {
  const CALLS: Readonly<Record<string, (db: Database, onBegin: () => void) => Promise<unknown>>> = {
    'a query': (db, onBegin) => {
      onBegin()
      return db.query('select 1')
    },
    'a transaction': (db, onBegin) =>
      db.transaction(async (sql) => {
        onBegin()
        await sql.query('select 1')
      }),
    'a snapshot': (db, onBegin) =>
      db.snapshot([], async (sql) => {
        onBegin()
        await sql.query('select 1')
      }),
  }

  it.each(Object.entries(CALLS))(
    'makes %s fail, and closing end, after one time limit',
    async (_name, call) => {
      const between = await relay()
      const db = await openPostgres(between.address, {
        schema: 'context_ledger_tests',
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      })
      try {
        await db.query('select 1')
        await expect(call(db, between.hush)).rejects.toThrow('did not answer in time')
        // A second wait for the server would end after the second limit, on a loaded machine too.
        const closed = db.close().then(() => 'closed')
        expect(await Promise.race([closed, setTimeout(LIMIT_MS - 100, 'waited again', { ref: false })])).toBe('closed')
      } finally {
        await between.close()
      }
    },
    60_000,
  )
})
