/** A process reads a folder through the process that has it open. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROTOCOL_VERSION } from '../../src/adapters/pglite/reading-protocol.js'
import { readThroughOwner } from '../../src/adapters/pglite/read-through-owner.js'
import { serveReaders } from '../../src/adapters/pglite/serve-readers.js'
import { LONGEST_FRAME, sendFrame } from '../../src/lib/frames.js'
import type { Database } from '../../src/ports/sql.js'
import { longTest } from '../support/length.js'

let folder: string
let address: string
let stop: () => Promise<void>
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'owner-'))
  address = join(folder, 'socket')
})
afterEach(async () => {
  await stop()
  await rm(folder, { recursive: true, force: true })
})

async function read(answerMs?: number): Promise<Database> {
  const owner = { name: 'process 1', socket: address, pid: 1, resident: undefined }
  const database = await readThroughOwner(folder, owner, answerMs)
  if (database === undefined) throw new Error('the owner does not answer')
  return database
}

/** An owner that greets, and then is suspended: it reads nothing more. */
async function suspendedOwner(): Promise<void> {
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    sockets.push(socket)
    socket.pause()
    void sendFrame(socket, { ledger: 'context-ledger', version: PROTOCOL_VERSION, hasVector: false })
  })
  await new Promise<void>((resolve) => server.listen(address, resolve))
  stop = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}

it('a request that a suspended owner does not accept fails at the limit, and each close waits for it', async () => {
  await suspendedOwner()
  const database = await read(20)
  // Larger than the buffers of a socket.
  const closed: string[] = []
  const failed = database.query('select $1', ['x'.repeat(8_000_000)]).catch((error: unknown) => {
    closed.push('query')
    return error
  })
  const closing = [1, 2].map(async (number) => {
    await database.close()
    closed.push(`close ${String(number)}`)
  })
  expect(await failed).toMatchObject({ kind: 'StoreUnavailable' })
  await Promise.all(closing)
  expect(closed).toEqual(['query', 'close 1', 'close 2'])
  await expect(database.query('select 1')).rejects.toMatchObject({ kind: 'StoreUnavailable' })
})

longTest('an answer that is too large is a failure of its request, inside a transaction too', async () => {
  const large = Buffer.alloc(LONGEST_FRAME)
  const server = await serveReaders(
    address,
    (work) => work((text) => Promise.resolve([text.includes('large') ? { large } : { small: 1 }])),
    { name: folder, hasVector: false, onReader: () => undefined },
  )
  stop = () => server.stop()
  const database = await read()
  const refused = { kind: 'StoreRefused' }
  await expect(database.query('select large')).rejects.toMatchObject(refused)
  await database.transaction(async (sql) => {
    await expect(sql.query('select large')).rejects.toMatchObject(refused)
    expect(await sql.query('select small')).toEqual([{ small: 1 }])
  })
  expect(await database.query('select small')).toEqual([{ small: 1 }])
  await database.close()
})
