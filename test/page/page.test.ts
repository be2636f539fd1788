/** The responses of the page server: access control, each view, and hostile texts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { html } from 'hono/html'
import { openLedger, type Ledger } from '../../src/index.js'
import { ASSET_CACHE, assetAddress } from '../../src/interfaces/page/assets.js'
import { createHistories, History } from '../../src/interfaces/page/reading/history.js'
import { createSteps } from '../../src/interfaces/page/reading/step.js'
import { reportOf } from '../../src/interfaces/page/report.js'
import { isOwnHost } from '../../src/interfaces/page/security.js'
import { layOut } from '../../src/interfaces/page/views/graph.js'
import { Plot, thinned } from '../../src/interfaces/page/views/plot.js'
import { recorded } from '../support/builders.js'
import { everyLine } from '../support/conversation-story.js'
import { SMALL, talk } from '../support/conversations.js'
import { openTestPage, COOKIE, HOST, HOSTILE, hostileMessages, TOKEN, type TestPage } from '../support/page.js'

const UNSEEN = /(?!\n)[\p{Cc}\p{Bidi_Control}]/u
const HOSTILE_ID = '"><script>alert(1)</script>\u202e/../..?&#'
let ledger: Ledger
let page: TestPage
let editionId = ''

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', policy: SMALL, ahead: false })
  for (const message of talk(60)) {
    await ledger.append('talk', message)
    await ledger.admin.waitForCompaction()
  }
  await ledger.append('short', talk(4), { scope: 'tenant' })
  for (const message of hostileMessages()) {
    await ledger.append(HOSTILE_ID, message)
    await ledger.admin.waitForCompaction()
  }
  await ledger.append(
    'long line',
    [
      { id: 'one', role: 'user', content: 'x'.repeat(1_000_000) },
      { id: 'two', role: 'assistant', content: 'word '.repeat(20_000) },
    ],
    { policy: { modelMaxTokens: 2_000_000 } },
  )
  ;({ editionId } = await ledger.editions.replay({ conversations: ['talk'], policy: { chunkSize: 6 } }))
  page = openTestPage(ledger)
})
afterAll(async () => {
  await ledger.close()
})

const body = async (path: string): Promise<string> => {
  const { status, text } = await page.get(path)
  expect({ path, status }).toEqual({ path, status: 200 })
  return text
}
const of = (path: string, query: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(query).toString()}`

describe('who is let in', () => {
  it.each([
    ['127.0.0.1:80', 80, true],
    ['localhost:4800', 4_800, true],
    ['[::1]:4800', 4_800, true],
    ['LOCALHOST:4800', 4_800, true],
    ['127.0.0.1', 80, true],
    ['127.0.0.1:4801', 4_800, false],
    ['evil.example:4800', 4_800, false],
    ['127.0.0.1.evil.example:4800', 4_800, false],
    ['127.0.0.1:4800@evil.example', 4_800, false],
    ['', 4_800, false],
    [undefined, 4_800, false],
  ])('a request for %s to port %i: %s', (host, port, expected) => {
    expect(isOwnHost(host, port)).toBe(expected)
  })

  it('nobody without the token, and nobody by another name', async () => {
    expect((await page.get('/', { host: HOST })).status).toBe(403)
    expect((await page.get('/', { host: HOST, cookie: `${COOKIE}x` })).status).toBe(403)
    expect((await page.get('/?token=wrong', { host: HOST })).status).toBe(403)
    expect((await page.get('/', { host: 'evil.example:4800', cookie: COOKIE })).status).toBe(421)
    expect((await page.get('/assets/page.js', { host: HOST })).status).toBe(403)
  })

  it('with an old token: it says where the new address is, and not the new token', async () => {
    for (const [path, headers] of [
      ['/?token=of-an-earlier-start', { host: HOST }],
      ['/conversation?c=talk', { host: HOST, cookie: COOKIE.replace(TOKEN, 'of-an-earlier-start') }],
    ] as const) {
      const { status, text, headers: answered } = await page.get(path, headers)
      expect(status).toBe(403)
      expect(text).toContain('the page was started at 2026-03-01 11:58 UTC')
      expect(text).toContain(`process ${String(process.pid)}`)
      expect(text).not.toContain(TOKEN)
      expect(answered.get('content-security-policy')).toContain("default-src 'none'")
    }
  })

  it('who has the token, once: it becomes a cookie that no script reads and no other site sends', async () => {
    const { status, headers } = await page.get(`/conversation?c=talk&at=3&token=${TOKEN}`, { host: HOST })
    expect(status).toBe(303)
    expect(headers.get('location')).toBe('/conversation?c=talk&at=3')
    const cookie = headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/; HttpOnly/u)
    expect(cookie).toMatch(/; SameSite=Strict/u)
    expect((await page.get('/conversation?c=talk&at=3', { host: HOST, cookie })).status).toBe(200)
  })

  it('only to read', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect((await page.get('/', { host: HOST, cookie: COOKIE }, method)).status).toBe(405)
  })

  it('under headers that let nothing run, and nothing leave', async () => {
    const paths = ['/', of('/conversation', { c: 'talk' }), '/nowhere', '/assets/page.js', of('/course', { c: 'talk' })]
    for (const path of [...paths, of('/conversation', { c: 'no such one' })]) {
      const { headers } = await page.get(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      // Nothing of the ledger stays in a cache of the browser; the page's own files do.
      expect(headers.get('cache-control')).toBe(path.startsWith('/assets/') ? ASSET_CACHE : 'no-store')
    }
  })

  it('with links that have no token in them', async () => {
    expect(await body(of('/conversation', { c: 'talk' }))).not.toContain(TOKEN)
  })
})

/** The link of a conversation in the list. */
const listed = (c: string): string => `class="name" href="${of('/conversation', { c })}"`

describe('each view, by its address', () => {
  it('the list: by day, with its course and what was lost; filtered and sorted', async () => {
    expect(await body('/')).toContain(`data-row="${of('/row', { c: 'talk' })}"`)
    expect(await body(of('/row', { c: 'talk' }))).toMatch(/^<li class="entry">/u)
    const text = await body('/')
    expect(text).toContain(listed('talk'))
    expect(text).toContain('a ledger &lt;of tests&gt;')
    expect(text).toMatch(/<span class="spark"><svg [^]*>[\d,]+ tokens<\/span>[^]*compactions/u)
    expect(text).toMatch(/<h2 class="day">\w+, \d+ \w+ \d{4}</u)
    const one = await body('/?grep=LONG')
    expect([one.includes(listed('long line')), one.includes(listed('talk'))]).toEqual([true, false])
    const inAnyOrder = await body('/?grep=line+LONG')
    expect(inAnyOrder).toContain(listed('long line'))
    expect(inAnyOrder).toContain(`href="${of('/search', { q: 'line LONG' })}"`)
    expect(await body('/?grep=%22line+LONG%22')).toContain('No conversations match')
    expect(await body('/?scope=tenant')).toContain(listed('short'))
    expect(await body('/?grep=nothing-has-this')).toContain('No conversations match')
    expect(await body('/?sort=id')).not.toContain('class="day"')
    const byLoss = await body('/?sort=lost')
    const lost = [...byLoss.matchAll(/>(\d+) loss(?:es)?</gu)].map(([, items]) => Number(items))
    expect(lost).toEqual(lost.toSorted((a, b) => b - a))
    expect(await body('/?since=2020-01-01&until=2020-01-02')).toContain('No conversations match')
    expect((await page.get('/?since=yesterday')).status).toBe(400)
  })

  it('a conversation now, and at a revision with what changed', async () => {
    const now = await body(of('/conversation', { c: 'talk' }))
    expect(now).toContain('Summary of the earlier messages')
    expect(now).toContain('id="plot"')
    const { revision } = await ledger.context('talk')
    expect(now).toContain(`data-revision="${String(revision)}"`)
    const at = await body(of('/conversation', { c: 'talk', at: '5', since: '2' }))
    expect(at).toContain('data-revision="5"')
    expect(at.match(/class="msg \w+ added"/gu)).toHaveLength(3)
  })

  it('the context exactly as the ledger gives it, at every revision, read before or not', async () => {
    const histories = createHistories(ledger)
    const history = await histories.read('talk')
    for (let at = 0; at <= history.head; at += 1)
      expect(history.contextAt(at)).toEqual(await ledger.context('talk', { at }))
    expect(history.stateAt(history.head + 1)).toBeUndefined()
  })

  it('of a conversation that is too large to be held, by the ledger: the same', async () => {
    const cached = createHistories(ledger)
    const uncached = createHistories(ledger, { ofOne: 100, ofAll: 100 })
    await cached.read('talk')
    const { course, ...history } = await uncached.read('talk')
    expect(course).toEqual((await cached.read('talk')).course)
    expect((await uncached.read('talk')).stateAt(5)).toBeUndefined()
    // It takes no room from others.
    expect(history.size).toBe(0)
    for (const [at, since] of [
      ['5', '2'],
      ['70', '30'],
      [undefined, undefined],
    ])
      expect(await createSteps(ledger, uncached).at('talk', at, since)).toEqual(
        await createSteps(ledger, cached).at('talk', at, since),
      )
  })

  it('shows what was recorded since it was read', async () => {
    await body(of('/cycles', { c: 'short' }))
    await ledger.append('short', { id: 'later', role: 'user', content: 'said later' })
    expect(await body(of('/conversation', { c: 'short' }))).toContain('said later')
    expect(await body(of('/course', { c: 'short' }))).toContain('and 6 events')
  })

  it('the course: a point for each fact, and its cycles', async () => {
    const { course } = await createHistories(ledger).read('talk')
    expect(course.revisions).toHaveLength(course.tokens.length)
    expect(course.turns.at(-1)).toBe(30)
    expect(Math.max(...course.tokens)).toBeLessThanOrEqual(course.hard.at(-1) ?? 0)
    const cycles = course.marks.filter(({ kind }) => kind === 'cycle')
    expect(cycles.length).toBeGreaterThan(2)
    const chart = await body(of('/course', { c: 'talk' }))
    expect(chart.match(/data-mark="/gu)).toHaveLength(course.marks.length)
    // The losses of the compactions are those of the report.
    const { totals } = await ledger.forgotten('talk')
    const lost = [...chart.matchAll(/>(\d+) lost</gu)].reduce((sum, [, number]) => sum + Number(number), 0)
    expect(lost).toBe(totals.all.losses)
  })

  it('a step of the slider, and a part of a context, as parts of the page', async () => {
    const step = await body(of('/conversation/step', { c: 'talk', at: '6', since: '5' }))
    expect(step.startsWith('<div id="step"')).toBe(true)
    expect(step).not.toContain('<html')
    expect(await body(of('/conversation/part', { c: 'talk', at: '6', part: '0' }))).toContain('class="msg')
  })

  it('a line, and where it comes from, in the drawer', async () => {
    const text = await body(of('/message', { c: 'talk', at: String((await ledger.context('talk')).revision), i: '4' }))
    const why = /why=(\d+\.\d+)[^"]*"[^>]*>Message \d+/u.exec(text)?.[1] ?? ''
    expect(why).not.toBe('')
    const open = await body(of('/conversation', { c: 'talk', why }))
    expect(open).toContain('<h2>Sources</h2>')
    expect(open).not.toMatch(/<aside id="drawer"[^>]*hidden/u)
    expect(await body(of('/conversation/why', { c: 'talk', why }))).toContain(
      'From a message that the model still gets in full',
    )
    expect(await body(of('/conversation/why', { c: 'talk', why: '99.99' }))).toContain('The line does not exist')
  })

  it('the cycles, and what one of them took out and put in', async () => {
    expect(await body(of('/cycles', { c: 'talk' }))).toContain('compaction 1 (')
    const text = await body(of('/difference', { c: 'talk', cycle: '2' }))
    // When, how much, then what the agent got, what it lost and kept, the cost, and the removed messages, folded.
    const order = [
      /<h2>Compaction 2<\/h2>/u,
      /<time [^>]*>[\d :-]+<\/time>: <b>\d+ messages<\/b> removed, <b>[\d,]+<\/b> → <b>[\d,]+ tokens/u,
      /aria-label="Added"/u,
      /<h4>lost \(\d+\)/u,
      /<h4>kept \(\d+\)/u,
      /<h3>Cost<\/h3>/u,
      /aria-label="Removed"/u,
      /<details class="removed /u,
    ].map((each) => text.search(each))
    expect(order[0]).toBeGreaterThan(0)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(text).not.toContain('<details class="removed user" open')
    expect(await body(of('/difference', { c: 'talk', from: '2', to: '5' }))).toContain('Difference')
    // A difference between other revisions lists the cycles in between.
    const whole = await body(of('/difference', { c: 'talk', from: '2', to: '60' }))
    expect(whole).toContain('Compactions in between')
    expect(whole).toMatch(/href="\/difference\?c=talk&amp;cycle=1&amp;/u)
    expect((await page.get(of('/difference', { c: 'talk', cycle: '999' }))).status).toBe(404)
  })

  it('what compactions forgot: the figures that the ledger gives, each cycle, and totals', async () => {
    const { totals } = await ledger.forgotten('talk')
    const text = await body(of('/forgotten', { c: 'talk' }))
    expect(text).toContain(`<b>${String(totals.all.compactions)}</b> compactions`)
    const { lost: lostItems } = totals.all.verdicts
    expect(text).toContain(`<b>${String(totals.all.losses)}</b> losses`)
    // The sentences and folded lines of a section are together all items with its verdict.
    const section = /<section aria-label="Lost">([^]*?)<\/section>/u.exec(text)?.[1] ?? ''
    expect(section.match(/class="headline lost"|<li><span class="kind">/gu)).toHaveLength(lostItems)
    // The list has the same number of losses, and names places by turn.
    const { conversations } = await ledger.list({ countLost: true })
    expect(conversations.find(({ conversationId }) => conversationId === 'talk')?.lost).toBe(totals.all.losses)
    expect(section).toMatch(/title="event \d+">turn \d+<\/a>/u)
    expect(section).not.toMatch(/>event \d/u)
    expect(text.match(/<section class="compaction"/gu)).toHaveLength(totals.all.compactions)
    expect(await body(of('/forgotten', { c: 'short' }))).toContain('Nothing has been compacted')
  })

  it('the graph, and one batch of it down to its messages', async () => {
    const text = await body(of('/graph', { c: 'talk' }))
    expect(text).toContain('<svg')
    const batch = /explain\?c=talk&amp;batch=([\w-]+)/u.exec(text)?.[1] ?? ''
    expect(await body(of('/graph', { c: 'talk', batch }))).toContain(batch.slice(0, 12))
    expect(await body(of('/explain', { c: 'talk', batch, open: '1' }))).toContain('the berth of the harbour')
    expect(await body(of('/graph', { c: 'short' }))).toContain('Nothing has been compacted')
    // On a narrow screen a list says the same: each batch of the drawing is in it.
    const [, list = '', drawing = ''] = /class="source-list">([^]*?)<div class="wide graph"([^]*)/u.exec(text) ?? []
    const batchesIn = (part: string): readonly string[] =>
      [...new Set([...part.matchAll(/explain\?c=talk&amp;batch=([\w-]+)/gu)].map(([, id = '']) => id))].toSorted()
    expect(batchesIn(list)).toEqual(batchesIn(drawing))
    expect(batchesIn(list).length).toBeGreaterThan(1)
  })

  it('a box of messages of the graph opens into each of them, and each leads to the message in its place', async () => {
    const closed = await body(of('/graph', { c: 'talk' }))
    const [, address = ''] = /href="(\/graph\?c=talk&amp;open=[\w-]+)#box-/u.exec(closed) ?? []
    const open = await body(address.replaceAll('&amp;', '&'))
    const links = [
      ...open.matchAll(/<a href="([^"]+)"><rect class="message".*?<title>(user|assistant): Message (\d+)/gu),
    ]
    const covered = Number(/aria-expanded="true">.*?<title>(\d+) messages: /u.exec(open)?.[1])
    expect(links.length).toBe(covered)
    expect(covered).toBeGreaterThan(1)
    for (const [, href = '', , number = ''] of links.slice(0, 3)) {
      const shownPage = await body(href.replaceAll('&amp;', '&'))
      expect(shownPage).toMatch(new RegExp(`class="msg \\w+[^"]* sought"[^]*?Message ${number}:`, 'u'))
    }
    // The expanded box collapses again, and an unknown batch is an error.
    expect(open).toMatch(/href="\/graph\?c=talk#box-/u)
    expect((await page.get(of('/graph', { c: 'talk', open: 'nobody' }))).status).toBe(404)
  })

  it('editions, and one beside what is in force; nothing is recorded of it', async () => {
    expect(await body(of('/editions', { c: 'talk' }))).toContain(editionId)
    const { comparedAt } = (await ledger.editions.list())[0] ?? {}
    const text = await body(of('/edition', { c: 'talk', e: editionId }))
    expect(text).toContain('Loss report')
    expect(text).toContain('tokens of the context')
    expect((await ledger.editions.list())[0]?.comparedAt).toBe(comparedAt)
    expect(await body(of('/editions', { c: 'short' }))).toContain('context-ledger replay short --chunk-size 10')
  })

  it('a search, and its hits in their places', async () => {
    const text = await body('/search?q=berth')
    expect(text).toContain('<mark>berth</mark>')
    // Each hit names its author, and the search can be limited to one.
    const authors = async (address: string): Promise<ReadonlySet<string>> =>
      new Set([...(await body(address)).matchAll(/data-hit[^>]*>([^<\d]+)/gu)].map(([, name = '']) => name.trim()))
    expect(await authors('/search?q=berth')).toEqual(new Set(['User', 'Assistant']))
    expect(await authors('/search?q=berth&from=user')).toEqual(new Set(['User']))
    expect(await body('/search?q=berth&from=tool')).toContain('Nothing found')
    const inside = await body(of('/conversation', { c: 'talk', q: 'berth' }))
    expect(inside).toMatch(/data-url="\/course\?c=talk&amp;hits=\d/u)
    const [, href = ''] = /href="(\/conversation\?[^"]+)" data-hit/u.exec(inside) ?? []
    expect(await body(href.replaceAll('&amp;', '&'))).toMatch(/class="msg \w+[^"]* sought"/u)
    expect((await page.get(of('/search', { c: 'talk', q: 'berth' }))).headers.get('location')).toBe(
      '/conversation?c=talk&q=berth',
    )
  })

  it('the log, a part of it, and one fact whole', async () => {
    const text = await body(of('/log', { c: 'talk' }))
    expect(text).toContain('ConversationConfigured')
    expect(await body(of('/log/part', { c: 'talk', part: '0' }))).toContain('MessageAppended')
    expect(await body(of('/event', { c: 'talk', r: '1' }))).toContain('&quot;messageId&quot;')
    expect((await page.get(of('/event', { c: 'talk', r: '100000' }))).status).toBe(400)
    const { revision: head } = await ledger.messages('talk')
    expect(await body(of('/event', { c: 'talk', r: String(head - 1) }))).toContain('>next</a>')
    expect(await body(of('/event', { c: 'talk', r: String(head) }))).not.toContain('>next</a>')
    // One kind of events, a page at a time: together they are all of that kind.
    const revisions: number[] = []
    let next: string | undefined = of('/log', { c: 'talk', kind: 'compactions' })
    while (next !== undefined) {
      const nextBody = await body(next)
      expect(nextBody).not.toContain('title="MessageAppended"')
      revisions.push(...[...nextBody.matchAll(/aria-label="event (\d+): /gu)].map(([, revision]) => Number(revision)))
      next = /<a href="([^"]+)">next</u.exec(nextBody)?.[1]?.replaceAll('&amp;', '&')
    }
    const expected: number[] = []
    for await (const { type, revision } of ledger.log('talk'))
      if (!['MessageAppended', 'ConversationConfigured'].includes(type)) expected.push(revision)
    expect(revisions).toEqual(expected)
    expect(await body(of('/log', { c: 'short', kind: 'tools' }))).toContain('No such events')
  })

  it('what verify finds, and the list knows of it: those that are verified, are not, and never were', async () => {
    const listedAs = async (verified: string): Promise<readonly string[]> => {
      const rows = (await body(of('/', { verified }))).split('id="found"')[1] ?? ''
      return ['talk', 'short', 'long line'].filter((name) => rows.includes(listed(name)))
    }
    /** The page after a verification has ended. */
    const verified = async (query: Readonly<Record<string, string>>): Promise<string> => {
      let text = await body(of('/verify', { ...query, run: '1' }))
      for (let tries = 0; text.includes('<h2>Running</h2>') && tries < 40; tries += 1)
        text = await body(of('/verify', query))
      return text
    }
    page = openTestPage(ledger)
    expect(await listedAs('never')).toEqual(['talk', 'short', 'long line'])
    expect(await listedAs('verified')).toEqual([])
    expect(await body(of('/verify', { c: 'talk' }))).toContain('Not verified yet')
    expect(await verified({ c: 'talk' })).toContain('Record intact')
    // The list shows the time, and nothing for unchecked conversations.
    expect(await body('/')).toMatch(/title="verified 2026-03-01 12:00:00"><span class="good">verified<\/span>/u)
    expect([await listedAs('verified'), await listedAs('never')]).toEqual([['talk'], ['short', 'long line']])
    // A verification of everything covers each conversation; later events are not verified.
    expect(await verified({})).toContain('Record intact')
    expect(await listedAs('verified')).toEqual(['talk', 'short', 'long line'])
    await ledger.append('short', { id: 'behind the proof', role: 'user', content: 'said behind the proof' })
    expect([await listedAs('not-verified'), await listedAs('never')]).toEqual([['short'], []])
    expect(await body('/')).toMatch(/up to event \d/u)
  })

  it('says in a sentence what cannot be shown', async () => {
    const { status, text } = await page.get(of('/conversation', { c: 'no such one' }))
    expect(status).toBe(404)
    expect(text).toContain('no such one')
    expect((await page.get('/conversation')).status).toBe(400)
    expect((await page.get('/nowhere')).status).toBe(404)
    expect((await page.get('/assets/..%2Fserver.js')).status).toBe(404)
    expect((await page.get(of('/conversation', { c: 'talk', at: '99999' }))).status).toBe(404)
  })
})

describe('texts that would be more than texts', () => {
  const views = (c: string): readonly string[] => [
    '/',
    of('/', { grep: c.slice(0, 20) }),
    of('/conversation', { c, q: HOSTILE[0] ?? '' }),
    of('/conversation', { c, at: '4', since: '1', why: '1.0' }),
    of('/conversation', { c, m: 'h1<i>"\'' }),
    of('/conversation/step', { c, at: '9', since: '3' }),
    of('/cycles', { c }),
    of('/graph', { c }),
    of('/log', { c }),
    of('/event', { c, r: '1' }),
    of('/verify', { c, run: '1' }),
    of('/explain', { c, line: '<img src=x onerror=document.title="run">' }),
    of('/explain', { c, batch: '<b>no</b>' }),
    of('/editions', { c }),
    of('/forgotten', { c }),
    of('/difference', { c, cycle: '1' }),
    of('/message', { c, at: '4', i: '1' }),
    of('/search', { q: '<img src=x onerror=alert(1)>' }),
    of('/conversation', { c: '<svg onload=alert(1)>' }),
  ]

  it('are data in every view', async () => {
    for (const path of views(HOSTILE_ID)) {
      const { text } = await page.get(path)
      // The only script element is the page's own, and no text becomes a handler or a style.
      expect({ path, scripts: text.match(/<script[^>]*>/gu) ?? [] }).toEqual({
        path,
        scripts: text.includes('<html') ? [`<script type="module" src="${assetAddress('page.js')}">`] : [],
      })
      expect({ path, tags: text.match(/<(?:img|h1>not|svg\/|style|iframe|object|base|b>bold)[^>]*>/giu) }).toEqual({
        path,
        tags: null,
      })
      expect({ path, handlers: text.match(/<[^>"]*(?:"[^"]*"[^>"]*)*\son\w+=/giu) }).toEqual({ path, handlers: null })
      expect({ path, links: text.match(/href="(?!\/|#)[^"]*"/gu) }).toEqual({ path, links: null })
      expect({ path, unseen: UNSEEN.test(text.replaceAll(/ value="[^"]*"/gu, '')) }).toEqual({
        path,
        unseen: false,
      })
    }
  })

  it('have no header line of an archived batch: that is for tools', async () => {
    const graph = await body(of('/graph', { c: 'talk' }))
    const batch = /explain\?c=talk&amp;batch=([\w-]+)/u.exec(graph)?.[1] ?? ''
    const lines = [
      of('/explain', { c: 'talk' }),
      of('/explain', { c: 'talk', batch, open: '1' }),
      of('/forgotten', { c: 'talk' }),
    ]
    const pages = [...lines, of('/difference', { c: 'talk', cycle: '2' }), of('/search', { q: 'berth', c: 'talk' })]
    const texts = await Promise.all(
      [...pages, ...views('talk').slice(0, 3)].map(async (path) => (await page.get(path)).text),
    )
    const report = await reportOf({ ledger, conversationId: 'talk', now: new Date(0) })
    expect(report).toContain('the berth of the harbour')
    expect([...texts, report].filter((text) => text.includes('[depth:'))).toEqual([])
  })

  it('show characters that turn others around by their number', async () => {
    expect(await body(of('/conversation', { c: HOSTILE_ID, at: '11' }))).toContain(
      'abc<span class="unseen">U+202E</span>gnp.exe',
    )
  })

  it('are cut where they are long, and are whole in slices', async () => {
    const text = await body(of('/conversation', { c: 'long line' }))
    expect(text.length).toBeLessThan(60_000)
    expect(text).toContain('more characters')
    const whole = await body(of('/message', { c: 'long line', at: '1', i: '0', from: '960000' }))
    expect(whole).toContain('x'.repeat(40_000))
    expect(whole).toContain('960,001 to 1,000,000')
    expect(await body(of('/message', { c: 'long line', at: '1', i: '7' }))).toContain('no such message')
  })

  it('of a message whole: each line leads to where it comes from', async () => {
    const whole = await body(of('/message', { c: 'talk', at: '5', i: '1' }))
    const [, href = ''] = /<a class="ln" href="([^"]+)"/u.exec(whole) ?? []
    expect(await body(href.replaceAll('&amp;', '&'))).toContain('From a message that the summary below covers')
  })
})

describe('the course', () => {
  it('has a mark for all that stands out', async () => {
    const conversationEvents = everyLine.filter((part) => !('editionId' in part)).flatMap(({ events }) => events)
    const history = new History('a')
    for (const event of await recorded('a', conversationEvents)) history.add(event)
    expect(history.course.marks.map(({ kind, revision }) => [kind, revision])).toEqual([
      ['cycle', 10],
      ['failure', 13],
      ['cycle', 16],
      ['could-not-help', 20],
      ['adoption', 21],
      ['revert', 22],
      ['undo', 23],
    ])
  })
})

describe('drawings', () => {
  it('a long line keeps its teeth when it is thinned', () => {
    const points = Array.from({ length: 10_000 }, (_none, x) => ({ x, y: x === 7_777 ? 100 : x % 50 }))
    const thin = thinned(points, 1_000)
    expect(thin.length).toBeLessThanOrEqual(1_000)
    expect(Math.max(...thin.map(({ y }) => y))).toBe(100)
    expect(thin.map(({ x }) => x)).toEqual(thin.map(({ x }) => x).toSorted((a, b) => a - b))
  })

  it('a course without limits has no line for them, and a limit that comes later begins where it is known', async () => {
    const course = (limits: readonly (number | null)[]) => ({
      revisions: [0, 1, 2],
      turns: [0, 1, 2],
      tokens: [1_234_567_890, 20, 30],
      soft: limits,
      hard: limits,
      marks: [],
    })
    const svg = async (limits: readonly (number | null)[]): Promise<string> =>
      (await html`${Plot({ course: course(limits) })}`).toString()
    const without = await svg([null, null, null])
    expect(without).not.toMatch(/class="(?:soft|hard)"/u)
    const [, line = ''] = /class="soft" d="([^"]*)"/u.exec(await svg([null, 40, 40])) ?? []
    expect(line).toMatch(/^M[\d.]+ [\d.]+L[\d.]+ [\d.]+$/u)
    // The labels are round, and the known limits have names.
    const ticks = [...without.matchAll(/class="tick" x="0" y="[\d.]+">([\d,]+)</gu)].map(([, text]) => text)
    expect(ticks).toEqual(['500,000,000', '1,000,000,000'])
    expect(await svg([null, 40, 40])).toContain('hard limit 40')
  })

  it('the greatest losses are written at their compactions, without overlapping, also if there are many', async () => {
    const revisions = Array.from({ length: 400 }, (_none, at) => at)
    const marks = Array.from({ length: 50 }, (_none, at) => ({
      kind: 'cycle' as const,
      revision: 7 * (at + 1),
      at: '2026-03-01T12:00:00Z',
      text: `compaction ${String(at + 1)}`,
    }))
    const limits = revisions.map(() => null)
    const course = { revisions, turns: revisions, tokens: revisions, soft: limits, hard: limits, marks }
    const losses = new Map(marks.map(({ revision }, at) => [revision, at === 25 ? 99 : 1]))
    const chart = (await html`${Plot({ course, losses })}`).toString()
    const labels = [...chart.matchAll(/class="(loss[^"]*)" x="([\d.]+)%"[^>]*>(\d+) lost/gu)].map(
      ([, name, x, lost]) => ({ isOnAll: name === 'loss', x: Number(x), lost }),
    )
    expect(labels.find(({ lost }) => lost === '99')?.isOnAll).toBe(true)
    const gaps = (texts: typeof labels): number[] => texts.slice(1).map(({ x }, at) => x - (texts[at]?.x ?? 0))
    // Percentages of the width: 4 on a wide screen, 14 on a phone.
    expect(labels.length).toBeGreaterThan(5)
    expect(Math.min(...gaps(labels.filter(({ x }) => x > 10 && x < 90)))).toBeGreaterThan(4)
    expect(Math.min(...gaps(labels.filter(({ isOnAll, x }) => isOnAll && x > 10 && x < 90)))).toBeGreaterThan(14)
  })

  it('a graph has a box for each batch and each of their chunks', async () => {
    const explanation = await ledger.explain('talk')
    if (explanation.kind !== 'view') throw new Error('not the view')
    const { nodes, omitted } = layOut('talk', explanation.batches)
    expect(omitted).toBe(0)
    expect(new Set(nodes.map(({ x, y }) => `${String(x)} ${String(y)}`)).size).toBe(nodes.length)
  })
})
