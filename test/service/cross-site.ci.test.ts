/**
 * A page of another site in a real Chromium, which is logged in to the page of a service with keys. The forms and scripts
 * of the other site change nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createServer, type Server } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { openService } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import type { ServiceStores } from '../../src/library/processes.js'
import { ROLES } from '../../src/ports/service-state.js'
import { routes } from '../../src/schema/index.js'
import type { Route } from '../../src/schema/route.js'
import type { AnsweredRequest } from '../../src/interfaces/service/requests.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { startService, type Server as StartedService } from '../../src/interfaces/service/server.js'
import { chromiumPath, startChromium } from '../support/chromium.js'
import { PEPPER } from '../support/service.js'
import { isLong } from '../support/length.js'

const changing = Object.values<Route>(routes)
  .filter(({ method }) => method !== 'get')
  .map(({ method, path }) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/gu, 'x') }))

/** Sends to each address what a page can: a form, and fetches with and without asking the service first. */
const ATTACK = `
const sent = []
const send = (url, init) => sent.push(fetch(url, { credentials: 'include', ...init }).then(() => 0, () => 0))
function post(url, enctype) {
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.name = 'frame' + String(document.querySelectorAll('iframe').length)
  const form = document.body.appendChild(document.createElement('form'))
  Object.assign(form, { action: url, method: 'post', enctype, target: frame.name })
  const field = form.appendChild(document.createElement('input'))
  Object.assign(field, { name: '{"key":"', value: '"}' })
  form.submit()
}
async function attack(urls) {
  const encodings = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']
  for (const [index, { url, method }] of urls.entries()) {
    post(url, encodings[index % encodings.length])
    send(url, { method: 'POST', mode: 'no-cors', body: '{}' })
    send(url, { method, headers: { 'content-type': 'application/json' }, ...(method === 'DELETE' ? {} : { body: '{}' }) })
  }
  await Promise.all(sent)
}`

const inBrowser = chromiumPath === undefined ? describe.skip : describe
inBrowser('a page of another site in a real Chromium', () => {
  let ledger: Ledger
  let stores: ServiceStores
  let service: StartedService
  let foreign: Server
  let browser: Browser
  let page: Page
  let foreignPort = 0
  let answered: AnsweredRequest[] = []

  beforeAll(async () => {
    ;({ ledger, ...stores } = await openService({ store: 'memory' }))
    await ledger.append('x', { role: 'user', content: 'Which berth is free?' })
    const show = (): Response => new Response('<h1>the page</h1>', { headers: { 'content-type': 'text/html' } })
    const onAnswer = (request: AnsweredRequest): void => {
      answered.push(request)
    }
    service = await startService({
      onAnswer,
      ledger,
      stores,
      pepper: PEPPER,
      page: show,
      host: '127.0.0.1',
      port: 0,
      mayBeOpen: false,
    })
    foreign = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end(`<!doctype html><body><script>${ATTACK}</script>`)
    })
    await new Promise<void>((resolve) => {
      foreign.listen(0, resolve)
    })
    const address = foreign.address()
    foreignPort = typeof address === 'object' && address !== null ? address.port : 0
    const { key } = await createKey(stores.keys, PEPPER, { name: 'all', roles: ROLES, bound: undefined })
    browser = await startChromium()
    page = await browser.newPage()
    await page.goto(`${service.url}/`)
    await page.fill('input[name=key]', key)
    await page.click('button')
    await page.waitForSelector('h1:has-text("the page")')
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    foreign?.close()
    await service?.close()
    await ledger?.close()
  })

  /** The events of all conversations, and the keys. */
  async function recorded(): Promise<unknown> {
    const events: string[] = []
    for await (const item of ledger.admin.follow({ untilHead: true }))
      if (item.kind === 'event') events.push(item.event.id)
    return { events, keys: await stores.keys.list() }
  }

  it.each([
    ['another site', 'localhost', 0],
    ['another port of this machine, which has the same cookies', '127.0.0.1', 1],
  ])('%s: each request that is not a GET is refused, by form and by script', async (_name, host, half) => {
    const before = await recorded()
    answered = []
    await page.goto(`http://${host}:${String(foreignPort)}/`)
    // CI sends half of them from here, and the others from there.
    const sent = changing.filter((_request, at) => isLong || at % 2 === half)
    const urls = sent.map(({ method, path }) => ({ method, url: service.url + path }))
    await page.evaluate(`attack(${JSON.stringify(urls)})`)
    // A form and a script. A frame has no event for an answer that it cannot show.
    const posted = (): number => answered.filter(({ method }) => method === 'POST').length
    for (let tries = 0; tries < 1_000 && posted() < 2 * urls.length; tries += 1) await page.waitForTimeout(50)
    expect(posted()).toBeGreaterThanOrEqual(2 * urls.length)
    expect(answered.filter(({ method, status }) => method !== 'GET' && status !== 403)).toEqual([])
    expect(await recorded()).toEqual(before)
    await page.goto(`${service.url}/`)
    expect(await page.textContent('h1')).toBe('the page')
  })
})
