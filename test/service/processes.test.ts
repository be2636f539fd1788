/**
 * Services as processes run them: several over one database, each able to answer any request; a service that shuts down
 * and loses no accepted message; limits that answer with what to do.
 */
import { expect, it } from '@jest/globals'
import { openService } from '../../src/library/compose.js'
import type { Mount } from '../../src/interfaces/service/app.js'
import { startService, type Server, type ServerOptions } from '../../src/interfaces/service/server.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { startWireServer } from '../support/kurrentdb/server.js'
import { serverDescribe } from '../support/length.js'
import { createTestDatabase } from '../support/postgres.js'
import { startTestService, PEPPER } from '../support/service.js'

interface Running {
  readonly server: Server
  readonly stores: Omit<Awaited<ReturnType<typeof openService>>, 'ledger'>
  ask(path: string, body?: unknown, init?: RequestInit): Promise<{ status: number; headers: Headers; body: any }> // oxlint-disable-line typescript/no-explicit-any
  end(): Promise<void>
}

async function run(store: string, some: Partial<ServerOptions> = {}): Promise<Running> {
  const { ledger, ...stores } = await openService({ store })
  const server = await startService({
    ledger,
    stores,
    host: '127.0.0.1',
    port: 0,
    mayBeOpen: true,
    pepper: PEPPER,
    ...some,
  })
  return {
    server,
    stores,
    async ask(path, body, init = {}) {
      const response = await fetch(`${server.url}${path}`, {
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        ...init,
        headers: { 'content-type': 'application/json', ...Object.fromEntries(new Headers(init.headers)) },
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      }
    },
    async end() {
      await server.close()
      await ledger.close()
    },
  }
}

serverDescribe('two processes over one Postgres', () => {
  it('answer for each other’s conversations, keys, jobs and events; nothing is bound to one of them', async () => {
    const { address, drop } = await createTestDatabase()
    const [a, b] = [await run(address), await run(address)]
    try {
      // Each append goes to the other one, at the revision that the last answer gave.
      let etag: string | null = null
      for (let number = 0; number < 12; number += 1) {
        const process = number % 2 === 0 ? a : b
        const answer = await process.ask(
          '/v1/conversations/both/messages',
          { messages: [say(number)], policy: SMALL },
          {
            headers: etag === null ? { 'if-none-match': '*' } : { 'if-match': etag },
          },
        )
        // A compaction after the append may have raised the revision.
        if (answer.status === 412) {
          number -= 1
          etag = `"${String(answer.body.actual)}"`
          continue
        }
        expect(answer.status).toBe(200)
        etag = answer.headers.get('etag')
      }
      const retried = { messages: [{ role: 'user', content: 'once' }] }
      const headers = { 'idempotency-key': 'same' }
      const once = await a.ask('/v1/conversations/both/messages', retried, { headers })
      const twice = await b.ask('/v1/conversations/both/messages', retried, { headers })
      expect(twice.body).toEqual(once.body)
      const [left, right] = [
        await a.ask('/v1/conversations/both/context'),
        await b.ask('/v1/conversations/both/context'),
      ]
      expect(left.body).toEqual(right.body)
      const job = await a.ask('/v1/conversations/both/verifications', undefined, { method: 'POST' })
      const jobThroughB = await b.ask(`/v1/jobs/${String(job.body.id)}`, undefined, { headers: { prefer: 'wait=30' } })
      expect(jobThroughB.body).toMatchObject({ state: 'succeeded', result: { ok: true } })
      // A key that one process makes is asked for by both, though neither needed one before.
      const { key } = await createKey(a.stores.keys, PEPPER, { name: 'new', roles: ['read'], bound: undefined })
      for (const one of [a, b]) {
        let answer = await one.ask('/v1/conversations')
        for (let tries = 0; answer.status === 200 && tries < 100; tries += 1) {
          await new Promise((resolve) => setTimeout(resolve, 50))
          answer = await one.ask('/v1/conversations')
        }
        expect(answer.body.kind).toBe('KeyMissing')
        expect(
          (await one.ask('/v1/conversations', undefined, { headers: { authorization: `Bearer ${key}` } })).status,
        ).toBe(200)
      }
    } finally {
      await a.end()
      await b.end()
      await drop()
    }
  }, 60_000)
})

it('one that is told to end takes no more, and every append that it answered is recorded', async () => {
  const { ledger, ...stores } = await openService({ store: 'memory' })
  const server = await startService({ ledger, stores, host: '127.0.0.1', port: 0, mayBeOpen: true })
  const stream = await fetch(`${server.url}/v1/events`)
  const accepted: string[] = []
  let refused = 0
  let isOver = false
  const clients = Array.from({ length: 6 }, async (_none, client) => {
    for (let number = 0; !isOver; number += 1) {
      const id = `${String(client)}-${String(number)}`
      const response = await fetch(`${server.url}/v1/conversations/c${String(client)}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ messages: [{ id, role: 'user', content: id }] }),
      }).catch(() => undefined)
      if (response?.status === 200) accepted.push(id)
      else {
        refused += 1
        isOver = true
      }
    }
  })
  while (accepted.length < 40) await new Promise((resolve) => setTimeout(resolve, 5))
  await server.close()
  await Promise.all(clients)
  expect(refused).toBeGreaterThan(0)
  const recorded = new Set<string>()
  for (const { conversationId } of (await ledger.list()).conversations)
    for (const { messageId } of (await ledger.messages(conversationId)).messages) recorded.add(messageId)
  expect(accepted.filter((id) => !recorded.has(id))).toEqual([])
  // The stream ended as one does, and did not break off.
  expect(await stream.text()).toContain('facts follow')
  await ledger.close()
})

it('more requests than a key may make in a minute are refused, and told when to come back', async () => {
  const at = await startTestService({ keys: true, limits: { requestsPerMinute: 3 } })
  const [key, other] = [await at.key(['read']), await at.key(['read'])]
  const statuses = []
  // A minute that begins in between resets the count.
  for (let number = 0; number < 7; number += 1) statuses.push(await at.ask('/v1/conversations', { key }))
  const last = statuses.find(({ status }) => status === 429)
  expect(last?.body.kind).toBe('TooManyRequests')
  expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await at.ask('/v1/conversations', { key: other })).status).toBe(200)
  await at.close()
})

it('is ready while its log answers, and says so when it does not', async () => {
  const log = await startWireServer()
  const at = await startTestService({ store: log.connectionString, ledger: { database: 'memory' } })
  try {
    expect((await at.ask('/readyz')).body).toEqual({ status: 'ready' })
    await log.stop()
    const readiness = await at.service.app.request('/readyz')
    expect([readiness.status, await readiness.json()]).toEqual([503, { status: 'not ready' }])
    expect((await at.ask('/healthz')).status).toBe(200)
    await log.start()
    expect((await at.ask('/readyz')).status).toBe(200)
  } finally {
    await at.close()
    await log.close()
  }
})

it('a mistake of ours is told without its details, and they are told to whoever runs it', async () => {
  const at = await startTestService()
  Object.defineProperty(at.ledger, 'context', {
    value: () => {
      throw new TypeError('reading secret of undefined')
    },
  })
  const answer = await at.ask('/v1/conversations/x/context')
  expect([answer.status, answer.body.kind]).toEqual([500, 'Bug'])
  expect(JSON.stringify(answer.body)).not.toContain('secret')
  expect(String(at.problems[0])).toContain('secret')
  await at.close()
})

it('what is mounted is called once it is known who asks', async () => {
  const problems: unknown[] = []
  const mount: Mount = {
    path: '/proxy',
    roles: ['append'],
    keyHeader: 'x-context-ledger-key',
    fetch: async (request, access) => {
      problems.push([
        new URL(request.url).pathname,
        request.headers.get('authorization'),
        access.roles,
        await request.text(),
      ])
      return new Response('proxied', { headers: { 'content-type': 'text/plain' } })
    },
  }
  const at = await startTestService({ keys: true, mounts: [mount] })
  const [append, read] = [await at.key(['append']), await at.key(['read'])]
  const ask = (key: string): Promise<{ status: number }> =>
    at.ask('/proxy/v1/chat', { body: 'as it is', key: 'upstream', headers: { 'x-context-ledger-key': key } })
  expect((await ask(append)).status).toBe(200)
  expect((await ask(read)).status).toBe(403)
  expect((await ask('none')).status).toBe(401)
  expect(problems).toEqual([['/proxy/v1/chat', 'Bearer upstream', ['append'], 'as it is']])
  await at.close()
})

it('a job can be cancelled, also by a request that comes later', async () => {
  const at = await startTestService()
  await at.append('much', talk(40))
  const job = await at.ask('/v1/editions', {
    body: { conversations: 'all', policy: SMALL },
  })
  const cancelled = await at.ask(`/v1/jobs/${String(job.body.id)}`, { method: 'DELETE' })
  expect([202, 409]).toContain(cancelled.status)
  const answer = await at.ask(`/v1/jobs/${String(job.body.id)}`, { headers: { prefer: 'wait=30' } })
  expect(['cancelled', 'succeeded']).toContain(answer.body.state)
  expect((await at.ask('/v1/jobs')).body.jobs).toHaveLength(1)
  await at.close()
})
