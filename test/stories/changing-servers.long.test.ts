/**
 * A KurrentDB whose nodes are stopped, started, cut off and replaced by another leader, while a ledger appends, compacts,
 * reads and maintains its read models: no message is lost or repeated, and the rows follow from the events.
 * `CONTEXT_LEDGER_TEST_KILLS` is the number of incidents (default 6).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { say, SMALL } from '../support/conversations.js'
import { startWireCluster, type ClusterNode, type WireCluster } from '../support/kurrentdb/cluster.js'
import { startWireServer } from '../support/kurrentdb/server.js'

const TIMES = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 6)
const CONVERSATIONS = 6
/** Appends between two incidents; an incident happens while appends are running. */
const BETWEEN = 40

describe('servers that come and go', () => {
  let cluster: WireCluster
  let ledger: Ledger
  const problems: unknown[] = []

  beforeAll(async () => {
    cluster = await startWireCluster(3)
    ledger = await openLedger({
      store: cluster.connectionString,
      database: 'memory',
      policy: SMALL,
      onProblem: (problem) => {
        problems.push(problem)
      },
    })
  }, 60_000)
  afterAll(async () => {
    await ledger.close()
    await cluster.close()
  }, 60_000)

  it(
    `lose and repeat no message in ${String(TIMES)} incidents`,
    async () => {
      let leading = 0
      const node = (at: number): ClusterNode => {
        const found = cluster.nodes[at % cluster.nodes.length]
        if (found === undefined) throw new Error('the cluster has no nodes')
        return found
      }
      const next = (): void => {
        leading += 1
        cluster.elect(node(leading))
      }
      // Each happens while appends are running, and ends with a leader that answers.
      const incidents: readonly (() => Promise<void>)[] = [
        async () => {
          await node(leading).server.restart()
        },
        async () => {
          const former = node(leading).server
          await former.stop()
          next()
          await former.start()
        },
        async () => {
          node(leading).server.hideOutcome('deadline', 2)
        },
        async () => {
          const { server } = node(leading)
          const died = server.dieDuringAppends({ stored: 1, lost: 1 })
          // It dies after two appends of the writers below.
          await died
          await server.start()
        },
        async () => {
          next()
        },
        async () => {
          node(leading).server.hideOutcome('unavailable', 2)
        },
        async () => {
          const { server } = node(leading)
          await server.stop()
          await server.start()
          server.beNotReady()
          await new Promise((resolve) => {
            setTimeout(resolve, 100)
          })
          server.beReady()
        },
      ]

      const written = Array.from({ length: CONVERSATIONS }, () => 0)
      const ending = new AbortController()
      const target = { appends: BETWEEN }
      const total = (): number => written.reduce((sum, count) => sum + count, 0)
      async function write(conversation: number): Promise<void> {
        while (!ending.signal.aborted) {
          const at = written[conversation] ?? 0
          // Like an agent after a failed append: repeats the same message.
          const appended = await ledger.append(`conversation ${String(conversation)}`, say(at)).catch(() => undefined)
          if (appended !== undefined) written[conversation] = at + 1
          if (at % 10 === 9) await ledger.context(`conversation ${String(conversation)}`).catch(() => undefined)
        }
      }
      const writers = written.map((_none, conversation) => write(conversation))
      for (let time = 0; time < TIMES; time += 1) {
        while (total() < target.appends)
          await new Promise((resolve) => {
            setTimeout(resolve, 5)
          })
        await incidents[time % incidents.length]?.()
        target.appends = total() + BETWEEN
      }
      while (total() < target.appends)
        await new Promise((resolve) => {
          setTimeout(resolve, 5)
        })
      ending.abort()
      await Promise.all(writers)
      // An interrupted cycle is reported here; its retry waits for its backoff.
      await ledger.admin.waitForCompaction().catch((problem: unknown) => {
        problems.push(problem)
      })

      for (const [conversation, count] of written.entries()) {
        const ids: string[] = []
        for await (const event of ledger.log(`conversation ${String(conversation)}`))
          if (event.type === 'MessageAppended') ids.push(event.data.messageId)
        expect(ids).toEqual(Array.from({ length: count }, (_none, at) => `m${String(at)}`))
        const context = await ledger.context(`conversation ${String(conversation)}`)
        expect(context.tokens).toBeLessThanOrEqual(1_000)
        expect(context.messageIds.at(-1)).toBe(`m${String(count - 1)}`)
      }
      const verified = await ledger.admin.verify()
      expect(verified.problems).toEqual([])
      expect(verified.conversations).toBe(CONVERSATIONS)
      process.stdout.write(
        `${String(TIMES)} incidents, ${String(total())} messages, ${String(verified.events)} events, ${String(problems.length)} problems reported\n`,
      )
    },
    (TIMES + 10) * 20_000,
  )
})

describe('a server that accepts and never answers', () => {
  it('ends every call with a clear error within its deadline', async () => {
    const server = await startWireServer()
    const ledger = await openLedger({
      store: `${server.connectionString}&defaultDeadline=1000`,
      database: 'memory',
      policy: SMALL,
    })
    try {
      await ledger.append('silent', say(0))
      server.hang()
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        append: () => ledger.append('silent', say(1)),
        context: () => ledger.context('silent'),
        log: async () => {
          for await (const event of ledger.log('silent')) if (event.revision < 0) return
        },
        list: () => ledger.list(),
        search: () => ledger.search('berth'),
        compact: () => ledger.compact('silent'),
        verify: () => ledger.admin.verify('silent'),
        waiting: () => ledger.context('silent', { waitFor: 10 ** 12, timeout: 500 }),
      }
      for (const [name, call] of Object.entries(calls)) {
        const started = performance.now()
        const failure: unknown = await call().then(
          () => undefined,
          (error: unknown) => error,
        )
        expect([name, failure]).toEqual([
          name,
          expect.objectContaining({ message: expect.stringMatching(/127\.0\.0\.1|does not answer/u) }),
        ])
        // The deadline of a call is a second; an append is retried before it fails.
        expect(performance.now() - started).toBeLessThan(10_000)
      }
      server.resume()
      expect((await ledger.append('silent', say(1))).revision).toBeGreaterThan(0)
    } finally {
      await ledger.close()
      await server.close()
    }
  }, 120_000)
})
