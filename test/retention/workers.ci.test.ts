/**
 * Two `retention run` workers on a server: one is suspended during a run and loses its lease, the other takes over and is
 * killed (-9), and the first one continues.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { openLedger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { startCli } from '../support/cli.js'
import { until } from '../support/hand-clock.js'
import { repeated, serverDescribe } from '../support/length.js'
import { createTestDatabase } from '../support/postgres.js'

/** An erasure on a server takes most of a second. */
const COUNT = repeated(24, 12)
const IDS = Array.from({ length: COUNT }, (_none, at) => `talk ${String(at).padStart(2, '0')}`)

serverDescribe('two workers on a server', () => {
  let folder: string
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: Database
  const children = new Set<ChildProcess>()
  const open = () => openLedger({ store: database.address, keys: join(folder, 'keys'), erasable: true })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'retention-workers-'))
    database = await createTestDatabase()
    const ledger = await open()
    for (const id of IDS)
      await ledger.append(id, [
        { role: 'user', content: `an old text of ${id}`, created_at: '2020-01-01T00:00:00.000Z' },
      ])
    await ledger.append('young', [{ role: 'user', content: 'a young text' }])
    await ledger.admin.retention.set({ eraseAfter: '2 years' }, { reason: 'policy 7' })
    await ledger.close()
    db = await openPostgres(database.address)
  }, 120_000)
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    await db.close()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }, 60_000)

  function start() {
    const words = ['retention', 'run', '--yes', '--json', '--store', database.address, '--keys', join(folder, 'keys')]
    const child = startCli(words, { cwd: folder })
    children.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        output += String(part)
      })
    return { child, output: () => output }
  }

  const count = async (type: string): Promise<number> => {
    const [row] = await db.query<{ count: string }>('select count(*)::text as count from events where type = $1', [
      type,
    ])
    return Number(row?.count)
  }

  it('every conversation has one request and one receipt', async () => {
    const first = start()
    await until(async () => (await count('ErasureRequested')) >= Math.floor(COUNT / 2.4))
    first.child.kill('SIGSTOP')
    const second = start()
    await until(() => second.output().includes('runs a retention run already'))
    // The second worker takes over when the lease ends, and is killed between its receipts.
    await until(async () => (await count('ErasureCompleted')) >= Math.floor(COUNT / 4.8))
    second.child.kill('SIGKILL')
    await once(second.child, 'close')
    first.child.kill('SIGCONT')
    await until(() => first.output().includes('runs a retention run already'))
    await until(async () => (await count('RetentionRunCompleted')) === 1)
    first.child.kill('SIGKILL')
    await once(first.child, 'close')

    const ledger = await open()
    const types = new Map<string, string[]>()
    for (const id of IDS) {
      const of: string[] = []
      for await (const { type } of ledger.log(id)) if (type.startsWith('Erasure')) of.push(type)
      types.set(id, of)
    }
    expect(types).toEqual(new Map(IDS.map((id) => [id, ['ErasureRequested', 'ErasureCompleted']])))
    const { lastRun, due } = await ledger.admin.retention.status()
    expect(lastRun?.receipt?.erased.map(({ conversationId }) => conversationId).toSorted()).toEqual(IDS)
    expect([lastRun?.receipt?.kept, due]).toEqual([[], []])
    expect((await ledger.admin.retention.history()).map(({ type }) => type)).toEqual([
      'RetentionRulesSet',
      'RetentionRunStarted',
      'RetentionRunCompleted',
    ])
    expect(await ledger.admin.erasure.resume()).toEqual([])
    expect((await ledger.context('young')).messages[0]?.content).toBe('a young text')
    const verified = await ledger.admin.verify()
    expect([verified.problems, verified.observations]).toEqual([[], []])
    await ledger.close()
  }, 300_000)
})
