/**
 * Several services over one Postgres, or over one KurrentDB with a Postgres, are each killed while clients append and
 * listeners read. Every acknowledged message exists once and in order, and a resumed stream misses no event.
 * `CONTEXT_LEDGER_TEST_SECONDS`, `CONTEXT_LEDGER_TEST_CLIENTS` and `CONTEXT_LEDGER_TEST_KILLS` make the test longer.
 */
import { isLedgerError } from '../../src/lib/ledger-error.js'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { createClient, type CloudEvent } from '../../src/interfaces/client/index.js'
import { openLedger } from '../../src/index.js'
import { startCli } from '../support/cli.js'
import { startWireServerProcess } from '../support/kurrentdb/wire-server-process.js'
import { createTestDatabase, testServer } from '../support/postgres.js'
import { isLong } from '../support/length.js'

// Without a server these are counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

const SECONDS = Number(process.env['CONTEXT_LEDGER_TEST_SECONDS'] ?? 8)
const CLIENTS = Number(process.env['CONTEXT_LEDGER_TEST_CLIENTS'] ?? 16)
const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 1)
const SERVICES = 3
const LISTENERS = 3

interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly url: string
}

const served = z.object({ url: z.string() })

/** A log, and its database where that is another. */
interface Place {
  readonly store: string
  readonly database?: string
}

async function serve({ store, database }: Place, port: string): Promise<Running> {
  const databaseFlags = database === undefined ? [] : ['--database', database]
  const child = startCli(['serve', '--store', store, ...databaseFlags, '--port', port, '--rate', '10000000', '--json'])
  const errors: string[] = []
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk.toString()))
  for await (const line of createInterface(child.stdout)) {
    const { url } = served.parse(JSON.parse(line))
    return { child, url }
  }
  throw new Error(`serve ended: ${errors.join('')}`)
}

const contentOf = (at: number): string => `message ${String(at)}: `.padEnd(200, 'the berth is booked twice, ')

/** What ends the services, also where the test failed. */
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

describeOnServer.each(isLong ? ['Postgres', 'KurrentDB'] : ['Postgres'])('services on a %s that are killed', (kind) => {
  it(
    `lose nothing that they acknowledged to ${String(CLIENTS)} clients, double nothing, and streams go on without a gap`,
    async () => {
      const { address, drop } = await createTestDatabase()
      const log = kind === 'KurrentDB' ? await startWireServerProcess() : undefined
      const where = log === undefined ? { store: address } : { store: log.connectionString, database: address }
      const running: Running[] = []
      ends.push(async () => {
        for (const { child } of running) child.kill('SIGKILL')
        await log?.kill()
        await drop()
      })
      for (let at = 0; at < SERVICES; at += 1) running.push(await serve(where, '0'))
      const urls = running.map(({ url }) => url)
      const stop = new AbortController()
      const clients = urls.map((url) => createClient({ url, retries: 0, timeoutMs: 20_000 }))
      const acknowledged = new Map<string, number>()

      /** A client appends one message after another, and repeats each request until a service answers. */
      async function client(number: number): Promise<void> {
        const conversation = `c${String(number)}`
        for (let messageNumber = 0; !stop.signal.aborted; messageNumber += 1) {
          for (let tries = number; ; tries += 1) {
            const reached = clients[tries % clients.length]
            const answered = await reached?.calls
              .appendMessages({
                params: { conversation },
                headers: { 'idempotency-key': `${conversation}-${String(messageNumber)}` },
                body: {
                  messages: [
                    { role: messageNumber % 2 === 0 ? 'user' : 'assistant', content: contentOf(messageNumber) },
                  ],
                },
              })
              .catch((error: unknown) => error)
            if (!(answered instanceof Error)) break
            // A service that is down or shutting down gets a retry. Every other refusal is a defect.
            if (!isLedgerError(answered) || answered.status < 500) throw answered
            await delay(20)
          }
          acknowledged.set(conversation, messageNumber + 1)
        }
      }

      const received: CloudEvent[][] = []
      const listening = new AbortController()
      /** A listener that reconnects to a different service each time, after the last event that it has. */
      async function listen(number: number): Promise<void> {
        const facts: CloudEvent[] = []
        received[number] = facts
        for (let at = number; !listening.signal.aborted; at += 1) {
          const turn = new AbortController()
          const end = (): void => {
            turn.abort()
          }
          const timer = setTimeout(end, 3_000)
          listening.signal.addEventListener('abort', end)
          const last = facts.at(-1)
          const from = last === undefined ? 0 : last.sequence + 1
          for await (const fact of clients[at % clients.length]?.events({ from, signal: turn.signal }) ?? [])
            facts.push(fact)
          clearTimeout(timer)
          listening.signal.removeEventListener('abort', end)
        }
      }
      const listeners = Array.from({ length: LISTENERS }, (_none, at) => listen(at))
      const talking = Array.from({ length: CLIENTS }, (_none, at) => client(at))
      const talked = Promise.all(talking)
      talked.catch(() => {
        stop.abort()
      })

      const began = performance.now()
      const every = (SECONDS * 1_000) / (KILLS * SERVICES + 1)
      for (let kill = 0; kill < KILLS * SERVICES; kill += 1) {
        await delay(every, undefined, { signal: stop.signal }).catch(() => undefined)
        const at = kill % SERVICES
        const { child, url } = running[at] ?? {}
        child?.kill('SIGKILL')
        if (child !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
        running[at] = await serve(where, new URL(url ?? '').port)
      }
      await delay(Math.max(0, SECONDS * 1_000 - (performance.now() - began)), undefined, { signal: stop.signal }).catch(
        () => undefined,
      )
      stop.abort()
      await talked

      const ledger = await openLedger(where)
      const ids: string[] = []
      for (const [conversation, said] of acknowledged) {
        const contents: unknown[] = []
        for await (const { type, data, id } of ledger.log(conversation)) {
          ids.push(id)
          if (type === 'MessageAppended') contents.push(data.content)
        }
        expect(contents).toEqual(Array.from({ length: said }, (_none, at) => contentOf(at)))
      }
      expect(acknowledged.size).toBe(CLIENTS)
      // The listeners come to the end of what is there.
      const deadline = performance.now() + 60_000
      while (received.some((facts) => facts.length < ids.length) && performance.now() < deadline) await delay(100)
      listening.abort()
      await Promise.all(listeners)
      for (const facts of received) {
        expect(facts.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
        const places = facts.map(({ sequence }) => sequence)
        expect(places.every((place, at) => at === 0 || place > (places[at - 1] ?? 0))).toBe(true)
      }
      const { ok, problems } = await ledger.admin.verify()
      expect([ok, problems]).toEqual([true, []])
      process.stdout.write(
        `${String(ids.length)} facts, ${String([...acknowledged.values()].reduce((sum, each) => sum + each, 0))} messages acknowledged in ${String(SECONDS)} s, ${String(KILLS * SERVICES)} kills\n`,
      )
      await ledger.close()
    },
    (SECONDS + 240) * 1_000,
  )
})
