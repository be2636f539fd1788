/** `projections run`: its messages while working, after an event stops a projection, and at shutdown. */
import { expect, test } from '@jest/globals'
import { createServer } from 'node:net'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { LedgerError } from '../../src/lib/ledger-error.js'
import { runProjections } from '../../src/interfaces/cli/workers/projections.js'
import { appended as message } from '../support/builders.js'
import { startChild, type Child } from '../support/child.js'
import { appended, eventNamed } from '../support/events.js'
import { serverDescribe } from '../support/length.js'
import { openTestSchema } from '../support/postgres.js'
import { record } from '../support/projections.js'

const untouched = async (): Promise<never> => await Promise.reject(new Error('nothing is to be opened'))
const options = { partitions: undefined, metricsPort: undefined, metricsHost: '127.0.0.1', json: false }

test('a folder belongs to the process that has it open', async () => {
  await expect(runProjections({ store: 'some-folder' }, options, untouched)).rejects.toThrow(LedgerError)
  await expect(runProjections({ store: 'some-folder' }, options, untouched)).rejects.toThrow(
    'the process that opens it also updates the read models',
  )
})

test('numbers that make no sense are told', async () => {
  await expect(
    runProjections({ store: 'postgres://nowhere' }, { ...options, partitions: 0 }, untouched),
  ).rejects.toThrow('--partitions must be from 1 to 64')
  await expect(
    runProjections({ store: 'postgres://nowhere' }, { ...options, metricsPort: 70_000 }, untouched),
  ).rejects.toThrow('--metrics-port must be at most 65535')
})

serverDescribe('projections run', () => {
  const lineOfKind = async (child: Child, kind: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const line = child.lines.find((one) => one.includes(`"kind":"${kind}"`))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own line
      if (line !== undefined) return JSON.parse(line) as Record<string, unknown>
      await child.said(child.lines.length + 1)
    }
  }
  const health = async (url: string): Promise<{ status: number; body: string }> => {
    const answer = await fetch(`${url}/health`)
    return { status: answer.status, body: await answer.text() }
  }

  test('it works, says so in metrics and health, names the conversation that it goes on without, and ends when it is told to', async () => {
    const { db, schema, drop } = await openTestSchema()
    const store = createPostgresEventStore(db)
    await record(store, 'a', [message('m0'), message('m1')])
    const child = startChild('run-projections', [schema])
    try {
      const url = String((await lineOfKind(child, 'metrics'))['url'])
      await lineOfKind(child, 'working')
      while (
        !(await (await fetch(`${url}/metrics`)).text()).includes(
          'context_ledger_projection_lag_events{projection="live-messages",partition="1"} 0',
        )
      )
        await new Promise((resolve) => setTimeout(resolve, 20))
      expect(await health(url)).toMatchObject({ status: 200 })
      await appended(store, 'conversation-a', [eventNamed('odd')])
      expect((await lineOfKind(child, 'stopped'))['reason']).toContain(
        'cannot apply Noted at revision 2 of conversation-a',
      )
      expect((await health(url)).body).toContain('"revision":"2"')
      expect(await health(url)).toMatchObject({ status: 200 })
      expect(await (await fetch(`${url}/metrics`)).text()).toMatch(
        /projection_stopped_conversations\{projection="live-messages",partition="\d"\} 1/u,
      )
      process.kill(child.pid, 'SIGTERM')
      await lineOfKind(child, 'ended')
      // The process ends by itself: its output ends without a kill.
      await expect(child.said(1_000)).rejects.toThrow('the process ended')
      expect(await db.query(`select * from compaction_claims where key = 'projections'`)).toEqual([])
    } finally {
      await child.kill()
      await db.close()
      await drop()
    }
  })

  test('a port that is taken ends it before it touches anything', async () => {
    const { db, schema, drop } = await openTestSchema()
    const blocker = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => blocker.once('listening', resolve))
    const address = blocker.address()
    const child = startChild('run-projections', [schema, String(typeof address === 'object' ? address?.port : 0)])
    try {
      await expect(child.said(1_000)).rejects.toThrow('another program uses this port')
      expect(await db.query(`select to_regclass('projection_checkpoints') as made`)).toEqual([{ made: null }])
    } finally {
      blocker.close()
      await child.kill()
      await db.close()
      await drop()
    }
  })
})
