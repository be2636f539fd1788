/** Errors of a database reach a caller as errors of the ledger, whatever SQL state Postgres sends. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { isLedgerError } from '../../src/lib/ledger-error.js'
import { codeOf } from '../../src/ports/store-error.js'
import type { Database } from '../../src/ports/sql.js'
import { openLedger } from '../../src/index.js'
import { sampled, serverDescribe } from '../support/length.js'
import { createTestDatabase, openTestSchema } from '../support/postgres.js'

/** One state or more of each class of the list in the documentation of Postgres, and the kind of each. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  StoreUnavailable: '08000 08006 08P01 25P03 40001 40P01 53200 53300 53400 55P03 57014 57P01 57P03 57P05 58030'.split(
    ' ',
  ),
  StoreRefused: '25006 28000 28P01 3D000 42501'.split(' '),
  DiskFull: ['53100'],
  StatementRefused:
    '0A000 0B000 21000 22001 22P02 23505 24000 26000 2D000 3B001 3F000 42601 42P01 44000 54000 55000 F0000 HV000 P0001 XX000 XX001'.split(
      ' ',
    ),
}

const tried = sampled(Object.values(STATES).flat(), 12)

const raising = (state: string): string => `do $$ begin raise exception 'as told' using errcode = '${state}'; end $$`

/** The failure of each way to run a statement. */
async function failures(db: Database, state: string): Promise<unknown[]> {
  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    )
  return [
    await failure(db.query(raising(state))),
    await failure(db.script(raising(state))),
    await failure(db.transaction(async (sql) => await sql.query(raising(state)))),
    await failure(db.snapshot([], async (sql) => await sql.query(raising(state)))),
  ]
}

/** Each state with the kind of its errors, or what an error lacks. */
async function kindsOn(db: Database): Promise<unknown[]> {
  const found: unknown[] = []
  for (const state of tried)
    for (const failure of await failures(db, state)) {
      const isWhole = isLedgerError(failure) && codeOf(failure) === state && failure.message.includes('as told')
      found.push([state, isWhole ? failure.kind : failure])
    }
  return found
}

/** As `kindsOn`, for four ways to run a statement. */
const expectedKinds = Object.entries(STATES).flatMap(([kind, states]) =>
  states.filter((state) => tried.includes(state)).flatMap((state) => Array.from({ length: 4 }, () => [state, kind])),
)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-states-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

it('in a directory', async () => {
  const db = await openFolder(join(folder, 'ledger'))
  expect(await kindsOn(db)).toEqual(expectedKinds)
  await db.close()
})

it.each(['0', '1', '-3', '2.5', 'ten', ''])('connections=%s in an address is refused', async (connections) => {
  await expect(openPostgres(`postgres://127.0.0.1:1/x?connections=${connections}`)).rejects.toMatchObject({
    kind: 'StoreRefused',
    message: expect.stringContaining('connections in the Postgres address must be a whole number from 2 to 9999'),
  })
})

serverDescribe('on a server', () => {
  it('from every call', async () => {
    const { db, drop } = await openTestSchema()
    expect(await kindsOn(db)).toEqual(expectedKinds)
    await db.close()
    await drop()
  })

  it('if it allows fewer connections than a process opens, which `connections` in the address mends', async () => {
    const { address, drop } = await createTestDatabase()
    const admin = await openTestSchema()
    const database = new URL(address).pathname.slice(1)
    await (await openLedger({ store: address })).close()
    // A user with a limit, because limits of a database do not count for superusers.
    const role = `limited_${database}`
    await admin.db.script(
      `create role ${role} login connection limit 3; grant all on database ${database} to ${role}; alter database ${database} owner to ${role}`,
    )
    const limited = new URL(address)
    limited.username = role
    const owner = await openPostgres(address)
    await owner.script(
      `grant all on schema context_ledger to ${role}; grant all on all tables in schema context_ledger to ${role}; grant all on all sequences in schema context_ledger to ${role}`,
    )
    await owner.close()
    const append = async (store: string): Promise<PromiseSettledResult<unknown>[]> => {
      const ledger = await openLedger({ store, onProblem: () => undefined })
      const results = await Promise.allSettled(
        Array.from(
          { length: 12 },
          async (_, at) => await ledger.append(`c${String(at)}`, { role: 'user', content: 'x' }),
        ),
      )
      await ledger.close()
      return results
    }
    try {
      const reasons = (await append(limited.href)).flatMap((each): unknown[] =>
        each.status === 'rejected' ? [each.reason] : [],
      )
      expect(reasons.filter((reason) => !isLedgerError(reason) || !reason.message.includes('connections'))).toEqual([])
      limited.searchParams.set('connections', '2')
      expect((await append(limited.href)).filter(({ status }) => status === 'rejected')).toEqual([])
    } finally {
      await drop()
      await admin.db.script(`drop role if exists ${role}`)
      await admin.db.close()
      await admin.drop()
    }
  })
})
