/** Permissions: every role against every route. Conversations outside a key's scope return 404. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ROLES } from '../../src/ports/service-state.js'
import { routes } from '../../src/schema/index.js'
import type { Route } from '../../src/schema/route.js'
import { createBounds, EVERYTHING } from '../../src/interfaces/service/access.js'
import { say, talk } from '../support/conversations.js'
import { startTestService, type TestService } from '../support/service.js'

const all = Object.values<Route>(routes)
const filled = (path: string, conversation = 'theirs'): string =>
  path
    .replace('{conversation}', conversation)
    .replace('{tool}', 'memory_read')
    .replaceAll(/\{(?:revision|size)\}/gu, '1')
    .replaceAll(/\{\w+\}/gu, 'x')

let at: TestService
beforeAll(async () => {
  at = await startTestService({ keys: true, page: () => new Response('the page') })
  const operator = await at.key(['append'])
  for (const [id, scope] of [
    ['ours', 'us'],
    ['theirs', 'them'],
    ['nobodys', undefined],
    ['own-1', undefined],
    ['own-2', 'them'],
  ] as const)
    await at.ask(`/v1/conversations/${id}/messages`, {
      key: operator,
      body: { messages: talk(3), ...(scope === undefined ? {} : { scope }) },
    })
})
afterAll(async () => {
  await at.close()
})

const statusAndKind = async (route: Route, path: string, key?: string): Promise<readonly unknown[]> => {
  const { status, body } = await at.ask(path, {
    method: route.method.toUpperCase(),
    ...(key === undefined ? {} : { key }),
    ...(route.body === undefined ? {} : { body: {} }),
  })
  return [status, body.kind]
}

describe('every role against every route', () => {
  // An unknown parameter is refused after the role is checked, and before anything is recorded.
  const table = ROLES.map((role) => [role] as const)
  it.each(table)('%s', async (role) => {
    const key = await at.key([role])
    const wrong: unknown[] = []
    for (const route of all) {
      const answer = await statusAndKind(route, `${filled(route.path)}?no-such=1`, key)
      const expected = route.roles.includes(role) ? [400, 'BadRequest'] : [403, 'RoleMissing']
      if (String(answer) !== String(expected)) wrong.push([route.id, answer, expected])
    }
    expect(wrong).toEqual([])
  })

  it('without a key, with one that is none, and with one that was revoked', async () => {
    const { keys } = at.stores
    const revoked = await at.key(ROLES)
    await keys.revoke(revoked.split('_')[1] ?? '')
    const forged = `${revoked.slice(0, -4)}AAAA`
    for (const route of all) {
      expect([route.id, ...(await statusAndKind(route, filled(route.path)))]).toEqual([route.id, 401, 'KeyMissing'])
      for (const key of [revoked, forged, 'cl_x', 'Basic'])
        expect([route.id, ...(await statusAndKind(route, filled(route.path), key))]).toEqual([
          route.id,
          401,
          'KeyRefused',
        ])
    }
    // A key without the `Bearer` prefix gets an error that names the missing prefix, not "unknown key".
    const bare = await at.ask('/v1/jobs', { headers: { authorization: await at.key(ROLES) } })
    expect(bare.body).toMatchObject({ kind: 'KeyMissing', detail: expect.stringContaining('Bearer KEY') })
    expect(bare.headers.get('www-authenticate')).toContain('Bearer')
  })

  it('the page and the metrics too', async () => {
    const page = (key: string): Promise<Response> =>
      Promise.resolve(
        at.service.app.request('http://127.0.0.1/', {
          headers: { authorization: `Bearer ${key}` },
        }),
      )
    expect((await page(await at.key(['read']))).status).toBe(403)
    expect((await page(await at.key(['read', 'audit'], { scope: 'us' }))).status).toBe(403)
    expect((await page(await at.key(['read', 'audit']))).status).toBe(200)
    expect((await page('none')).headers.get('www-authenticate')).toContain('Bearer')
    expect((await at.ask('/metrics', { key: await at.key(['read']) })).status).toBe(403)
    expect((await at.ask('/metrics', { key: await at.key(['operate']) })).status).toBe(200)
    expect((await at.ask('/metrics')).status).toBe(401)
    expect((await at.ask('/healthz')).status).toBe(200)
  })
})

describe.each([
  ['a scope', { scope: 'us' }, 'ours'],
  ['a prefix', { prefix: 'own' }, 'own-1'],
])('a key that is bound to %s', (_what, bound, own) => {
  let key: string
  beforeAll(async () => {
    key = await at.key(ROLES, bound)
  })

  it('is told of others’ conversations what is told of none, by every route', async () => {
    const wrong: unknown[] = []
    for (const route of all) {
      if (route.stream !== undefined && route.reach === 'some') continue
      const answer = await statusAndKind(route, filled(route.path), key)
      if (route.reach === 'ledger' && String(answer) !== '403,KeyBound') wrong.push([route.id, answer])
      if (route.reach !== 'conversation') continue
      for (const conversation of ['theirs', 'nobodys', 'own-2']) {
        const otherAnswer = await statusAndKind(route, filled(route.path, conversation), key)
        if (String(otherAnswer) !== '404,NoSuchConversation') wrong.push([route.id, conversation, otherAnswer])
      }
    }
    expect(wrong).toEqual([])
    const sentence = async (id: string): Promise<unknown> =>
      String((await at.ask(`/v1/conversations/${id}`, { key })).body.detail).replace(id, '')
    expect(await sentence('theirs')).toBe(await sentence('n-such'))
  })

  it('sees its own in lists and searches, and nothing else', async () => {
    expect((await at.ask(`/v1/conversations/${own}/context`, { key })).status).toBe(200)
    const ids = async (query: string): Promise<unknown> =>
      (await at.ask(`/v1/conversations${query}`, { key })).body.conversations.map(
        ({ conversationId }: { conversationId: string }) => conversationId,
      )
    for (const query of ['', '?sort=updated', '?prefix=o', `?match=${own}`]) expect(await ids(query)).toEqual([own])
    for (const query of ['?scope=them', '?prefix=th', '?match=their']) expect(await ids(query)).toEqual([])
    const search = (body: object): Promise<{ status: number; body: { hits?: readonly object[] } }> =>
      at.ask('/v1/search', { key, body: { query: 'berth', ...body } })
    expect((await search({ conversationId: own })).body.hits).not.toEqual([])
    expect((await search({ conversationId: 'theirs' })).status).toBe(404)
    expect((await search({ scope: 'them' })).status).toBe(403)
  })

  it('begins jobs about its own alone, and sees none of others', async () => {
    for (const path of ['/v1/editions', '/v1/editions/estimates', '/v1/what-if', '/v1/editions/x/comparisons']) {
      const policies = path === '/v1/what-if' ? { policies: [{ name: 'a', settings: {} }] } : {}
      const ask = (conversations: unknown): Promise<{ status: number }> =>
        at.ask(path, { key, body: { conversations, ...policies } })
      expect([path, (await ask('all')).status]).toEqual([path, 403])
      expect([path, (await ask([own, 'theirs'])).status]).toEqual([path, 404])
    }
    const unbound = await at.key(['operate'])
    const job = await at.ask('/v1/conversations/theirs/verifications', { method: 'POST', key: unbound })
    expect((await at.ask(`/v1/jobs/${String(job.body.id)}`, { key })).body.kind).toBe('NoSuchJob')
    expect((await at.ask(`/v1/jobs/${String(job.body.id)}`, { method: 'DELETE', key })).body.kind).toBe('NoSuchJob')
    expect((await at.ask('/v1/jobs', { key })).body.jobs).toEqual([])
    expect(
      (await at.ask(`/v1/jobs/${String(job.body.id)}`, { key: unbound, headers: { prefer: 'wait=20' } })).body.state,
    ).toBe('succeeded')
  })
})

it('reads the store for another’s conversation as for one that does not exist', async () => {
  const reads: string[] = []
  const counted = {
    log: (...given: Parameters<typeof at.ledger.log>) => {
      reads.push(given[0])
      return at.ledger.log(...given)
    },
  }
  const bounds = createBounds(counted)
  const access = { ...EVERYTHING, bound: { scope: 'us' } }
  for (let round = 0; round < 3; round += 1)
    for (const id of ['ours', 'theirs', 'nowhere']) await bounds.check(access, id).catch(() => undefined)
  expect(reads.toSorted()).toEqual(['nowhere', 'nowhere', 'nowhere', 'ours', 'theirs', 'theirs', 'theirs'])
})

it('a conversation that a key of a scope begins is of that scope', async () => {
  const key = await at.key(['append', 'read'], { scope: 'us' })
  expect((await at.append('our-new-one', [say(0)], { key })).status).toBe(200)
  expect((await at.ask('/v1/conversations/our-new-one', { key })).body.scope).toBe('us')
  expect(
    (await at.ask('/v1/conversations/x/messages', { key, body: { messages: [say(0)], scope: 'them' } })).body.kind,
  ).toBe('KeyBound')
})

it('a rotated key is another one, and the old one is let in for as long as was said', async () => {
  const { keys } = at.stores
  const { rotateKey } = await import('../../src/interfaces/service/keys.js')
  const { PEPPER } = await import('../support/service.js')
  const old = await at.key(['audit'])
  const id = old.split('_')[1] ?? ''
  const once = await rotateKey(keys, PEPPER, id, 3_600)
  expect((await at.ask('/v1/jobs', { key: once?.key ?? '' })).status).toBe(200)
  expect((await at.ask('/v1/jobs', { key: old })).status).toBe(200)
  const rotated = await rotateKey(keys, PEPPER, id, 0)
  expect(rotated?.key).not.toBe(once?.key)
  // The stored hash is no key: neither it nor a part of it is accepted.
  const record = await keys.find(id)
  expect(JSON.stringify(record)).not.toContain(rotated?.key.slice(-43))
  expect((await at.ask('/v1/jobs', { key: `cl_${id}_${(record?.hash ?? '').slice(0, 43)}` })).status).toBe(401)
})

it('every use is noted: who, which route, what was answered', async () => {
  const key = await at.key(['read'])
  const id = key.split('_')[1]
  // A string that is no valid conversation id does not prevent a key use from being recorded.
  const odd = ['%00', '%0A', 'x'.repeat(3_000)]
  for (const name of odd)
    expect((await at.ask(`/v1/conversations/${name}/messages`, { key })).body).toMatchObject({
      kind: 'BadId',
      field: 'conversationId',
    })
  await at.ask('/v1/conversations/ours', { key, headers: { 'x-request-id': 'mine-1' } })
  await at.ask('/v1/conversations/ours/log', { key, headers: { 'x-request-id': 'mine-2' } })
  // A secret in a name, after uses of names without one.
  const secret = ['ghp', 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2'].join('_')
  await at.ask('/v1/conversations/ours', { key, headers: { 'x-request-id': secret } })
  for (let time = 0; time < 2; time += 1) await at.ask(`/v1/conversations/${secret}`, { key })
  const auditor = await at.key(['audit'])
  type Use = { readonly keyId?: string }
  let uses: readonly Use[] = []
  for (let tries = 0; tries < 100 && uses.length < 8; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const { body } = await at.ask('/v1/key-uses?limit=1000', { key: auditor })
    uses = body.uses.filter(({ keyId }: Use) => keyId === id)
  }
  expect(JSON.stringify(uses)).not.toContain(secret)
  expect(uses).toEqual([
    ...[404, 404, 200].map((status) => expect.objectContaining({ route: 'getConversation', status })),
    expect.objectContaining({ route: 'getLog', conversationId: 'ours', status: 403, requestId: 'mine-2' }),
    expect.objectContaining({ route: 'getConversation', conversationId: 'ours', status: 200, requestId: 'mine-1' }),
    ...odd.map(() => expect.objectContaining({ route: 'getMessages', status: 400 })),
  ])
  expect(uses.filter((use) => 'conversationId' in use)).toHaveLength(5)
})

it('what no conversation can be called is refused by every route that names one', async () => {
  const key = await at.key(ROLES)
  for (const route of Object.values<Route>(routes).filter(({ reach }) => reach === 'conversation')) {
    const path = route.path.replace('{conversation}', '%00').replaceAll(/\{\w+\}/gu, '1')
    const { status, body } = await at.ask(path, {
      key,
      method: route.method.toUpperCase(),
      ...(route.body === undefined ? {} : { body: {} }),
    })
    expect([route.id, status, body.kind]).toEqual([route.id, 400, 'BadId'])
  }
})

it('a key of a scope compresses and observes within it, and begins nothing outside of it', async () => {
  const key = await at.key(['append', 'read'], { scope: 'us' })
  const compress = async (id: string): Promise<readonly unknown[]> => {
    const { status, body } = await at.ask(`/v1/conversations/${id}/compressions`, { key, body: { messages: talk(3) } })
    return [status, body.kind]
  }
  expect(await compress('ours')).toEqual([200, undefined])
  expect(await compress('theirs')).toEqual([404, 'NoSuchConversation'])
  // A list names no scope, so a conversation that it began would belong to no key.
  expect(await compress('begun-by-a-list')).toEqual([404, 'NoSuchConversation'])
  const observation = { program: 'somebody', messages: [say(0)] }
  await at.ask('/v1/conversations/seen/observations', { key, body: { observation } })
  expect((await at.ask('/v1/conversations/seen', { key })).body.scope).toBe('us')
})
