/** A Postgres server that is stopped in the middle: everything ends after one time limit, and says which server it was. */
import { describe, expect, it } from '@jest/globals'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import type { Database } from '../../src/ports/sql.js'
import { testServer } from '../support/postgres.js'

// Without a server these are counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

/** How long the client waits for an answer: the server's own limit, and 5 s behind it. */
const LIMIT_MS = 5_100

/** What passes bytes on to the server until it is told to keep them, as a server that is stopped does. */
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

describeOnServer('a server that says nothing any more', () => {
  const asked: Readonly<Record<string, (db: Database, begun: () => void) => Promise<unknown>>> = {
    'a query': (db, begun) => {
      begun()
      return db.query('select 1')
    },
    'a transaction': (db, begun) =>
      db.transaction(async (sql) => {
        begun()
        await sql.query('select 1')
      }),
    'a snapshot': (db, begun) =>
      db.snapshot([], async (sql) => {
        begun()
        await sql.query('select 1')
      }),
  }

  it.each(Object.entries(asked))(
    'ends %s, and what closes behind it, after one limit',
    async (_name, ask) => {
      const between = await relay()
      const db = await openPostgres(between.address, { schema: 'context_ledger_tests', statementTimeoutMs: 100 })
      try {
        await db.query('select 1')
        const startedAt = performance.now()
        await expect(ask(db, between.hush)).rejects.toThrow('did not answer in time')
        await db.close()
        // Twice the limit would be a second wait behind the first.
        expect(performance.now() - startedAt).toBeLessThan(1.8 * LIMIT_MS)
      } finally {
        await between.close()
      }
    },
    60_000,
  )
})
