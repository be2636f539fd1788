/** What one key has under way takes nothing from the others. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { ROLES } from '../../src/ports/service-state.js'
import type { Mount } from '../../src/interfaces/service/app.js'
import { latch } from '../support/latch.js'
import { talk } from '../support/conversations.js'
import { startTestService, type TestService } from '../support/service.js'

let at: TestService
/** Opens when the mounts answer. */
const answering = latch()
beforeAll(async () => {
  const mount = (path: string): Omit<Mount, 'forwards'> => ({
    path,
    roles: ['append'],
    keyHeader: 'authorization',
    fetch: async () => {
      await answering.opened
      return new Response('answered')
    },
  })
  at = await startTestService({
    keys: true,
    limits: { requestsOfKey: 20, searchesOfKey: 3, streamsOfKey: 2 },
    mounts: [mount('/own'), { ...mount('/model'), forwards: true }],
  })
  await at.ask('/v1/conversations/ours/messages', { key: await at.key(ROLES), body: { messages: talk(3) } })
})
afterAll(async () => {
  await at.close()
})

const counted = (statuses: readonly number[], status: number): number =>
  statuses.filter((each) => each === status).length

it('a flood of searches of one key is refused beyond its share, and another key searches meanwhile', async () => {
  const [loud, quiet] = [await at.key(ROLES), await at.key(ROLES)]
  const search = (key: string) => at.ask('/v1/search', { key, body: { query: 'berth' } })
  const flood = Array.from({ length: 15 }, () => search(loud))
  expect((await search(quiet)).status).toBe(200)
  const answers = await Promise.all(flood)
  const statuses = answers.map(({ status }) => status)
  expect(counted(statuses, 200)).toBeGreaterThanOrEqual(3)
  expect(counted(statuses, 429)).toBe(15 - counted(statuses, 200))
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.headers.get('retry-after')).toBe('1')
  expect(refused?.body).toMatchObject({ kind: 'TooManyRequests', limit: 3 })
  expect((await search(loud)).status).toBe(200)
})

it('requests of one key leave their places, also those that fail', async () => {
  const [loud, quiet] = [await at.key(ROLES), await at.key(ROLES)]
  const read = (key: string, id: string) => at.ask(`/v1/conversations/${id}/context`, { key })
  for (let round = 0; round < 2; round += 1) {
    const flood = Array.from({ length: 30 }, (_none, each) => read(loud, each % 2 === 0 ? 'ours' : 'nowhere'))
    expect((await read(quiet, 'ours')).status).toBe(200)
    const statuses = (await Promise.all(flood)).map(({ status }) => status)
    expect(counted(statuses, 200) + counted(statuses, 404) + counted(statuses, 429)).toBe(30)
    expect(counted(statuses, 429)).toBeGreaterThan(0)
  }
  expect((await read(loud, 'ours')).status).toBe(200)
})

it('requests that wait for a model take no places of their key', async () => {
  const [loud, quiet] = [await at.key(ROLES), await at.key(ROLES)]
  const read = (key: string) => at.ask('/v1/conversations/ours/context', { key })
  const forwarded = Array.from({ length: 30 }, () => at.ask('/model', { key: loud, body: {} }))
  expect((await read(loud)).status).toBe(200)
  const ownRequests = Array.from({ length: 30 }, () => at.ask('/own', { key: quiet, body: {} }))
  // The others wait.
  expect(await Promise.race(ownRequests)).toMatchObject({ status: 429, body: { kind: 'TooManyRequests' } })
  answering.open()
  expect(
    counted(
      (await Promise.all(forwarded)).map(({ status }) => status),
      200,
    ),
  ).toBe(30)
  expect(
    counted(
      (await Promise.all(ownRequests)).map(({ status }) => status),
      200,
    ),
  ).toBe(20)
  expect((await read(quiet)).status).toBe(200)
})

it('event streams of one key are refused beyond its share', async () => {
  const [loud, quiet] = [await at.key(ROLES), await at.key(ROLES)]
  const opened: Response[] = []
  const open = async (key: string): Promise<number> => {
    const response = await at.service.app.request(
      'http://127.0.0.1/v1/events',
      {
        headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
      },
      {},
    )
    opened.push(response)
    return response.status
  }
  expect([await open(loud), await open(loud), await open(loud), await open(quiet)]).toEqual([200, 200, 429, 200])
  expect(opened[2]?.headers.get('retry-after')).toBe('10')
  await opened[0]?.body?.cancel()
  expect(await open(loud)).toBe(200)
  for (const { body } of opened) await body?.cancel().catch(() => undefined)
})

it('a body with more JSON values than a service works through at once is refused by name', async () => {
  const extra = Object.fromEntries(Array.from({ length: 11_000 }, (_none, each) => [`k${String(each)}`, each]))
  const parts = Array.from({ length: 5_000 }, () => ({ type: 'text', text: 'a' }))
  const key = await at.key(ROLES)
  for (const message of [
    { role: 'user', content: 'x', extra },
    { role: 'user', content: parts },
  ]) {
    const answer = await at.ask('/v1/conversations/talk/messages', { key, body: { messages: [message] } })
    expect(answer).toMatchObject({ status: 413, body: { kind: 'TooManyValues' } })
  }
})
