/** A page of another site can make a browser send requests: none of them changes anything, with keys and without. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ROLES } from '../../src/ports/service-state.js'
import { routes } from '../../src/schema/index.js'
import type { Route } from '../../src/schema/route.js'
import { createService, type Service } from '../../src/interfaces/service/app.js'
import { PEPPER, startTestService, type TestService } from '../support/service.js'

const changing = Object.values<Route>(routes).filter(({ method }) => method !== 'get')
const filled = (path: string): string =>
  path
    .replace('{tool}', 'memory_read')
    .replaceAll(/\{(?:revision|size)\}/gu, '1')
    .replaceAll(/\{\w+\}/gu, 'x')

const JSON_TYPE = { 'content-type': 'application/json' }
/** Headers that a browser adds for a page of another site, or content types that a form has. */
const FOREIGN: readonly Readonly<Record<string, string>>[] = [
  { ...JSON_TYPE, origin: 'https://evil.example' },
  { ...JSON_TYPE, origin: 'http://127.0.0.1:9999' },
  { ...JSON_TYPE, origin: 'null' },
  { ...JSON_TYPE, 'sec-fetch-site': 'cross-site' },
  { ...JSON_TYPE, 'sec-fetch-site': 'same-site' },
  { ...JSON_TYPE, 'sec-fetch-site': 'none', origin: 'chrome-extension://abcdefgh' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': 'text/plain;charset=utf-8' },
]

describe.each([true, false])('with keys: %s,', (keys) => {
  let at: TestService
  let key: { readonly key?: string }
  const paths: string[] = []
  beforeAll(async () => {
    const mounts = (['/mcp', '/proxy'] as const).map((path) => ({
      path,
      roles: ['read' as const],
      keyHeader: 'authorization' as const,
      ...(path === '/proxy' ? { forwards: true as const } : {}),
      fetch: () => {
        paths.push(path)
        return new Response('done')
      },
    }))
    at = await startTestService({ keys, mounts, page: () => new Response('the page') })
    key = keys ? { key: await at.key(ROLES) } : {}
  })
  afterAll(async () => {
    await at.close()
  })

  it.each(FOREIGN)('every request that is not a GET is refused with %j', async (headers) => {
    const accepted: unknown[] = []
    const ask = async (method: string, path: string): Promise<void> => {
      const { status, body } = await at.ask(path, {
        method,
        headers,
        ...key,
        ...(['DELETE', 'GET'].includes(method) ? {} : { body: '{}' }),
      })
      if (![403, 415, 421].includes(status)) accepted.push([method, path, status, body])
    }
    for (const { method, path } of changing) await ask(method.toUpperCase(), filled(path))
    for (const path of ['/mcp', '/mcp/scopes/x', '/v1/none', '/conversation']) await ask('POST', path)
    if (!('content-type' in headers) || headers['content-type'] === 'application/json') {
      for (const method of ['GET', 'POST']) await ask(method, '/proxy/v1/models')
      await ask('POST', '/login')
    }
    expect(accepted).toEqual([])
    expect(paths).toEqual([])
    expect(at.problems).toEqual([])
  })

  it('a program without these headers is served', async () => {
    expect(await at.append('talk', [{ role: 'user', content: 'x' }], key)).toMatchObject({ status: 200 })
    expect(await at.ask('/v1/conversations', { headers: { origin: 'http://127.0.0.1' }, ...key })).toMatchObject({
      status: 200,
    })
  })
})

describe('the login of the page', () => {
  let at: TestService
  beforeAll(async () => {
    at = await startTestService({ keys: true, page: () => new Response('the page') })
  })
  afterAll(async () => {
    await at.close()
  })
  const HTML = { accept: 'text/html,*/*' }
  const logIn = async (key: string, next = '/search?q=x') =>
    await at.ask('/login', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ key, next }).toString(),
    })
  const cookieOf = ({ headers }: { readonly headers: Headers }): string =>
    (headers.get('set-cookie') ?? '').split(';')[0] ?? ''

  it('leads to a session that the page accepts, and nothing else', async () => {
    const key = await at.key(ROLES)
    const form = await at.service.app.request('http://127.0.0.1/search?q=%22%3E%3Cb', { headers: HTML })
    expect(form.status).toBe(401)
    // With `no-referrer`, the browser would send the form with the origin `null`.
    expect(form.headers.get('referrer-policy')).toBe('same-origin')
    const html = await form.text()
    expect(html).toContain('value="/search?q=%22%3E%3Cb"')
    expect(html).toContain('<form method="post" action="/login">')
    const answer = await logIn(key)
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toBe('/search?q=x')
    expect(answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict$/u)
    const cookie = cookieOf(answer)
    expect(await at.ask('/search', { headers: { ...HTML, cookie } })).toMatchObject({ status: 200, body: 'the page' })
    for (const { method, path } of Object.values<Route>(routes))
      expect((await at.ask(filled(path), { method: method.toUpperCase(), headers: { cookie } })).status).toBe(401)
    expect((await at.ask('/metrics', { headers: { cookie } })).status).toBe(401)
  })

  it('leads to this service only, and ends with its key', async () => {
    for (const next of ['//evil.example', 'https://evil.example/', '/\\evil.example', ''])
      expect((await logIn(await at.key(ROLES), next)).headers.get('location')).toBe('/')
    const key = await at.key(ROLES)
    const cookie = cookieOf(await logIn(key))
    const forged = cookie.slice(0, -4) + (cookie.endsWith('AAAA') ? 'BBBB' : 'AAAA')
    expect((await at.ask('/', { headers: { cookie: forged } })).status).toBe(401)
    // Another process reads the keys again.
    await at.stores.keys.revoke(key.split('_')[1] ?? '')
    const second = createService({ ...at, pepper: PEPPER, page: () => new Response('the page') })
    expect((await second.app.request('http://127.0.0.1/', { headers: { cookie } })).status).toBe(401)
    await second.stop()
  })

  it('takes a key that may read and audit the whole ledger', async () => {
    expect((await logIn(await at.key(['read']))).status).toBe(403)
    expect((await logIn(await at.key(ROLES, { scope: 'us' }))).status).toBe(403)
  })

  it('is read in a room of its own and for a short time, since nobody knows yet who sends it', async () => {
    const created = (loginMs: number): Service =>
      createService({
        ...at,
        pepper: PEPPER,
        page: () => new Response('the page'),
        limits: { requestsAtOnce: 2, loginsAtOnce: 2, loginMs },
      })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const send = async (to: Service, body: ReadableStream | string): Promise<string> => {
      const init: RequestInit & { readonly duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' }
      const answer = await to.app.request('http://127.0.0.1/login', init, {})
      return `${String(answer.status)} ${await answer.text()}`
    }
    const [patient, quick] = [created(100_000), created(20)]
    const closers: (() => void)[] = []
    const waiting = (): ReadableStream =>
      new ReadableStream({
        start(controller) {
          closers.push(() => {
            controller.close()
          })
        },
      })
    const logins = [send(patient, waiting()), send(patient, waiting())]
    expect(await send(patient, 'key=x')).toMatch(/^503 .*TooBusy/u)
    const authorization = `Bearer ${await at.key(ROLES)}`
    const read = await patient.app.request('http://127.0.0.1/v1/conversations', { headers: { authorization } }, {})
    expect(read.status).toBe(200)
    for (const close of closers) close()
    for (const login of logins) expect(await login).toMatch(/^401 /u)
    expect(await send(patient, 'key=x')).toMatch(/^401 /u)
    expect(await send(quick, new ReadableStream())).toMatch(/^408 .*BodyTooSlow/u)
    await Promise.all([patient.stop(), quick.stop()])
  })

  it('is no Basic authentication, which a browser would send to the API too', async () => {
    const authorization = `Basic ${Buffer.from(`me:${await at.key(ROLES)}`).toString('base64')}`
    for (const path of ['/', '/v1/conversations', '/metrics'])
      expect((await at.ask(path, { headers: { authorization } })).status).toBe(401)
  })
})
