/** The command line on a database server without a ledger. */
import { expect, it } from '@jest/globals'
import { tmpdir } from 'node:os'
import { z } from 'zod'
import { lookAtPostgres } from '../../src/adapters/postgres/sql.js'
import { runCli } from '../support/cli.js'
import { serverDescribe } from '../support/length.js'
import { createTestDatabase } from '../support/postgres.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

const errorDocument = z.object({ error: z.unknown() })

serverDescribe('a database on a server (needs CONTEXT_LEDGER_TEST_POSTGRES)', () => {
  it('proves nothing of a database that has no ledger, and makes none there', async () => {
    const { address, drop } = await createTestDatabase()
    try {
      for (const words of [['verify'], ['replay', '--all', '--yes'], ['list']]) {
        const { status, stdout, stderr } = await runCli([...words, '--store', address, '--json'], { cwd: tmpdir() })
        expect([status, stdout, errorDocument.parse(JSON.parse(stderr)).error]).toEqual([
          2,
          '',
          { kind: 'NoLedger', message: expect.stringMatching(/^there is no ledger in postgres:\/\//u) },
        ])
      }
      expect((await lookAtPostgres(address)).hasSchema).toBe(false)
    } finally {
      await drop()
    }
  })
})
