/**
 * The page in Chromium: every view in light and dark, by keyboard, narrow, without scripts and as a report file, for
 * all conversations; and with hostile conversations.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { openLedger, type Ledger } from '../../src/index.js'
import { reportOf } from '../../src/interfaces/page/report.js'
import { writeNewFile } from '../../src/ports/new-file.js'
import { startPage, type Page as Served } from '../../src/interfaces/page/server.js'
import { isLong, repeated } from '../support/length.js'
import { axeViolations, chromiumPath, openWindow, startChromium, type WatchedPage } from '../support/chromium.js'
import { SMALL, talk } from '../support/conversations.js'
import { hostileMessages } from '../support/page.js'
import { hasAll, realConversations } from '../support/real-conversations.js'
import { realTranscripts } from '../support/real-transcripts.js'

/** Waits for an expression. It is evaluated from outside, because the content security policy forbids it inside. */
async function until(page: Page, expression: string): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await page.evaluate<boolean>(expression)) return
    await page.waitForTimeout(25)
  }
  throw new Error(`this does not come to be: ${expression}`)
}

/** Messages of a context that comes in parts. */
const LONG = repeated(10_000, 3_000)
/** When a view has loaded. A script that still loads something is seen at the next view. */
const LOADED = isLong ? 'networkidle' : 'load'
/** Selector of a finished verification. The page refreshes itself until then. */
const PROVED = '.verdict dl.made'
const PROOF = { timeout: 120_000 }
/** Opens every fold of the page. */
const UNFOLD = `document.querySelectorAll('details').forEach((each) => { each.open = true })`
const HOSTILE = '"><img src=x onerror=alert(1)>\u202e'
const inBrowser = chromiumPath === undefined ? describe.skip : describe

inBrowser(`the page in a real Chromium${chromiumPath === undefined ? ' (there is none here)' : ''}`, () => {
  let ledger: Ledger
  let served: Served
  let browser: Browser
  let origin = ''
  let first = ''
  let editionId = ''
  /** A session of another program, with its own summary and edits. */
  let session = ''
  const names: string[] = []
  const folder = mkdtempSync(join(tmpdir(), 'context-ledger-page-'))

  beforeAll(async () => {
    ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_400, buffer: 4 }, ahead: false })
    // The conversations of one kind have much in common: CI has five of them.
    const conversations = [...realConversations()]
    const step = Math.ceil(conversations.length / repeated(conversations.length, 5))
    for (const { id, messages } of conversations.filter((_each, index) => index % step === 0)) {
      await ledger.append(id, messages)
      names.push(id)
    }
    for (const { path } of hasAll ? await realTranscripts() : [])
      for (const { conversationId, revision } of (await ledger.transcripts.import(path)).conversations)
        // A run without output does not count.
        if (revision >= 0) names.push(conversationId)
    await ledger.append(HOSTILE, hostileMessages(), { policy: SMALL })
    await ledger.append(
      'one line of a million',
      { id: 'm', role: 'user', content: '<b>'.repeat(350_000) },
      {
        policy: { modelMaxTokens: 2_000_000 },
      },
    )
    for (let from = 0; from < LONG; from += 1_000)
      await ledger.append('thousands', talk(1_000, from), { policy: { modelMaxTokens: 100_000_000 } })
    await ledger.admin.waitForCompaction()
    // A conversation with all marks: cycles, one of them undone, and an edition.
    let undone = false
    for (const message of talk(60)) {
      await ledger.append('talk', message, { policy: SMALL })
      await ledger.admin.waitForCompaction()
      if (undone || (await ledger.context('talk')).viewAt === undefined) continue
      await ledger.editions.undo('talk', { cycle: 1 })
      undone = true
    }
    const [imported] = (await ledger.transcripts.import(join('examples', 'claude-code-session.jsonl'))).conversations
    session = imported?.conversationId ?? ''
    ;({ editionId } = await ledger.editions.replay({ conversations: ['talk'], policy: { chunkSize: 6 } }))
    first = names[0] ?? ''
    served = await startPage({ ledger, name: 'a ledger', port: 0 })
    origin = new URL(served.url).origin
    browser = await startChromium()
  }, 900_000)
  afterAll(async () => {
    await browser?.close()
    await served?.close()
    await ledger?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const at = (path: string, query: Readonly<Record<string, string>> = {}): string =>
    `${origin}${path}?${new URLSearchParams(query).toString()}`

  async function entered(options: Parameters<typeof openWindow>[2] = {}): Promise<WatchedPage> {
    const window = await openWindow(browser, origin, options)
    await window.page.goto(served.url)
    return window
  }

  const views = (): readonly (readonly [string, string])[] => [
    ['list', at('/')],
    ['list with filters', at('/', { program: 'claude-code', sort: 'tokens' })],
    ['totals', at('/totals')],
    ['list without a match', at('/', { grep: 'nothing-has-this' })],
    ['conversation', at('/conversation', { c: 'talk' })],
    ['conversation from its beginning', at('/conversation', { c: 'talk', part: '0' })],
    ['conversation of another program', at('/conversation', { c: session })],
    ['what another program forgot', at('/forgotten', { c: session })],
    ['difference by another program', at('/difference', { c: session, cycle: '1' })],
    ['conversation at a revision', at('/conversation', { c: 'talk', at: '40', since: '30' })],
    ['a line explained', at('/conversation', { c: 'talk', why: '0.4' })],
    ['hits', at('/conversation', { c: 'talk', q: 'berth' })],
    ['chart', at('/course', { c: 'talk' })],
    ['cycles', at('/cycles', { c: 'talk' })],
    ['difference', at('/difference', { c: 'talk', cycle: '2' })],
    ['forgotten', at('/forgotten', { c: 'talk' })],
    ['rules', at('/rules', { c: 'talk' })],
    ['graph', at('/graph', { c: 'talk' })],
    ['explain', at('/explain', { c: 'talk' })],
    ['editions', at('/editions', { c: 'talk' })],
    ['edition', at('/edition', { c: 'talk', e: editionId })],
    ['search', at('/search', { q: 'berth' })],
    ['search without a hit', at('/search', { q: 'zzzz' })],
    ['an empty search', at('/search')],
    ['log', at('/log', { c: 'talk' })],
    ['event', at('/event', { c: 'talk', r: '3' })],
    ['message', at('/message', { c: 'talk', at: '5', i: '1' })],
    ['verify', at('/verify', { c: 'talk', run: '1' })],
    ['verify, before it is asked', at('/verify', { c: 'short' })],
    ['a conversation that is not there', at('/conversation', { c: 'nobody' })],
  ]

  /** In CI every third view, as keys and print depend on the frame and on what a view lists. */
  const someViews = (): ReturnType<typeof views> => views().filter((_view, place) => isLong || place % 3 === 0)

  for (const colorScheme of ['light', 'dark'] as const) {
    // CI runs each scheme and each width once, and each view in one of the widths; `npm run test:all` runs all.
    for (const width of isLong ? [1_440, 390] : [colorScheme === 'light' ? 1_440 : 390]) {
      it(`every view, ${colorScheme}, ${String(width)} pixels wide: axe finds nothing, no script fails, nothing is asked elsewhere`, async () => {
        const { page, wrong, context } = await entered({ colorScheme, viewport: { width, height: 900 } })
        for (const [name, url] of views().filter((_view, place) => isLong || (place % 2 === 0) === width < 1_000)) {
          await page.goto(url, { waitUntil: LOADED })
          if (name === 'verify') await page.waitForSelector(PROVED, PROOF)
          // Unfolded, a view has everything that it has folded.
          const folded = isLong ? await axeViolations(page) : []
          expect({ name, folded }).toEqual({ name, folded: [] })
          await page.evaluate(UNFOLD)
          expect({ name, unfolded: await axeViolations(page) }).toEqual({ name, unfolded: [] })
          expect({
            name,
            wide: await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
          }).toEqual({
            name,
            wide: 0,
          })
          const missing = name === 'a conversation that is not there'
          expect({ name, wrong: wrong().filter((said) => !(missing && said.includes('404'))) }).toEqual({
            name,
            wrong: [],
          })
        }
        await context.close()
        // Each of some thirty views takes a few seconds on a machine with other work.
      }, 300_000)
    }
  }

  it('every conversation: its timeline, cycles, graph, log and what was forgotten', async () => {
    const { page, wrong, context } = await entered()
    const rest = ['/cycles', '/graph', '/log', '/forgotten', '/rules']
    for (const [place, c] of ['one line of a million', 'thousands', HOSTILE, ...names].entries())
      // CI shows one of the other views of an ordinary conversation.
      for (const path of [
        '/conversation',
        ...rest.filter((_path, each) => isLong || place < 2 || each === place % 4),
      ]) {
        const answer = await page.goto(at(path, { c }), { waitUntil: 'load' })
        expect({ c, path, status: answer?.status(), wrong: wrong() }).toEqual({ c, path, status: 200, wrong: [] })
      }
    await context.close()
  }, 900_000)

  it('texts that would be more than texts stay texts', async () => {
    const { page, wrong, context } = await entered()
    const query = { c: HOSTILE, at: '9', since: '1', q: '<script>alert(1)</script>' }
    for (const [path, more] of [
      ['/', {}],
      ['/search', { q: 'script onerror javascript' }],
      ...['/conversation', '/cycles', '/graph', '/log', '/explain', '/editions', '/verify', '/forgotten'].map(
        (each) => [each, query] as const,
      ),
      ['/conversation', { c: HOSTILE, part: '0' }],
      ['/message', { ...query, i: '1' }],
      ['/event', { c: HOSTILE, r: '2' }],
      ['/difference', { c: HOSTILE, from: '1', to: '9' }],
    ] as const) {
      await page.goto(at(path, more), { waitUntil: LOADED })
      await page.evaluate(UNFOLD)
      expect(await page.title()).not.toBe('run')
      expect(await page.locator('main img, main script, main iframe, main b b, h1:has-text("not ours")').count()).toBe(
        0,
      )
      const violations = isLong ? await axeViolations(page) : []
      expect({ path, violations }).toEqual({ path, violations: [] })
      expect({ path, wrong: wrong() }).toEqual({ path, wrong: [] })
    }
    await context.close()
  })

  it('all of it by keys', async () => {
    const { page, wrong, context } = await entered()
    await page.goto(at('/', { grep: 'talk' }))
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#plot svg.plot')
    const legend = await page.locator('.legend .key:visible').allInnerTexts()
    expect(legend.map((each) => each.trim())).toEqual([
      'tokens the model had',
      'soft limit 800',
      'hard limit 1,000',
      '▼ compaction',
      '↶ undo',
    ])
    const shownRevision = async (): Promise<number> => Number(await page.locator('#step').getAttribute('data-revision'))
    const head = await shownRevision()
    await page.keyboard.press('ArrowLeft')
    await page.waitForSelector(`#step[data-revision="${String(head - 1)}"]`)
    expect(new URL(page.url()).searchParams.get('at')).toBe(String(head - 1))
    await page.keyboard.press('Shift+ArrowLeft')
    await page.waitForSelector(`#step[data-revision="${String(head - 11)}"]`)
    await page.keyboard.press('[')
    await until(page, `document.querySelector('#step').dataset.revision < ${String(head - 11)}`)
    expect(await page.locator('#step .happened').getAttribute('data-type')).toBe('MessagesPruned')
    // Reloading the address shows the same revision.
    const before = await shownRevision()
    await page.reload()
    expect(await shownRevision()).toBe(before)
    await page.keyboard.press('j')
    await page.keyboard.press('J')
    await page.keyboard.press('J')
    await page.keyboard.press('e')
    await page.waitForSelector('#drawer:not([hidden]) h2')
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('drawer')
    expect(new URL(page.url()).searchParams.get('why')).toMatch(/^\d+\.\d+$/u)
    await page.keyboard.press('Escape')
    expect(await page.locator('#drawer').isHidden()).toBe(true)
    expect(await page.evaluate<boolean>('document.activeElement.matches("a.ln")')).toBe(true)
    await page.keyboard.press('?')
    expect(await page.locator('#keys').isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await page.keyboard.type('berth')
    await page.keyboard.press('Enter')
    await page.waitForSelector('a[data-hit]')
    // Keys work after the script has loaded.
    await page.waitForLoadState('load')
    await page.locator('main').focus()
    await page.keyboard.press('n')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.msg.sought mark')
    await page.waitForLoadState('load')
    for (const [key, path] of [
      ['2', '/forgotten'],
      ['3', '/rules'],
      ['4', '/cycles'],
      ['5', '/graph'],
      ['6', '/editions'],
      ['7', '/log'],
      ['8', '/verify'],
      ['1', '/conversation'],
    ] as const) {
      await page.keyboard.press(key)
      await page.waitForURL((url) => url.pathname === path)
    }
    expect(wrong()).toEqual([])
    await context.close()
  })

  it('every view by keys: the search, the shortcuts, what it lists, and the tabs', async () => {
    const { page, wrong, context } = await entered()
    const focused = async (selector: string): Promise<boolean> =>
      await page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`)
    for (const [name, url] of someViews()) {
      await page.goto(url, { waitUntil: LOADED })
      if (name === 'verify') await page.waitForSelector(PROVED, PROOF)
      await page.keyboard.press('/')
      expect({ name, isInSearch: await focused('[data-search]') }).toEqual({ name, isInSearch: true })
      await page.keyboard.press('Escape')
      await page.keyboard.press('?')
      expect({ name, hasKeys: await page.locator('#keys').isVisible() }).toEqual({ name, hasKeys: true })
      await page.keyboard.press('Escape')
      const listed = page.locator('.context .part > .msg, .events .event, .entry .name, .rows tbody tr a, .headline')
      const isListing = (await listed.count()) > 0
      await page.keyboard.press('j')
      expect({ name, isInMain: !isListing || (await focused('main *')) }).toEqual({ name, isInMain: true })
      if ((await page.locator('.tabs').count()) === 0) continue
      await Promise.all([page.waitForEvent('framenavigated'), page.keyboard.press('2')])
      expect(new URL(page.url()).pathname).toBe('/forgotten')
      await page.waitForLoadState('load')
    }
    expect(wrong().filter((each) => !each.includes('404'))).toEqual([])
    await context.close()
  }, 300_000)

  it('a conversation opens at its newest messages; its summary is a card; an edit is a diff', async () => {
    const { page, wrong, context } = await entered()
    await page.goto(at('/conversation', { c: 'thousands' }), { waitUntil: LOADED })
    expect(await page.locator('#step .msg').count()).toBeLessThan(30)
    expect(await page.locator('#step .msg').last().innerText()).toContain(`Message ${String(LONG - 1)}:`)
    await page.getByRole('link', { name: 'Previous messages' }).click()
    await page.waitForSelector('#step .part[data-part] .msg')
    await page.goto(at('/conversation', { c: 'thousands' }))
    await page.getByRole('link', { name: 'From the beginning' }).click()
    await page.waitForURL((url) => url.searchParams.get('part') === '0')
    expect(await page.locator('#step .msg').first().innerText()).toContain('Message 0:')
    await page.goto(at('/conversation', { c: session, part: '0' }), { waitUntil: LOADED })
    const card = page.locator('#step .summary')
    expect(await card.locator('summary').innerText()).toContain('Summary by claude-code')
    expect(await card.locator('.md').isVisible()).toBe(false)
    await card.locator('summary').click()
    expect(await card.locator('.md').isVisible()).toBe(true)
    const edit = page.locator('#step .call', { has: page.locator('.plus') }).first()
    await edit.locator('summary').first().click()
    expect(await edit.locator('ins.ln').first().isVisible()).toBe(true)
    expect(wrong()).toEqual([])
    await context.close()
  })

  it('the slider and the play button go through revisions', async () => {
    const { page, wrong, context } = await entered()
    await page.goto(at('/conversation', { c: first || 'talk', at: '2' }), { waitUntil: LOADED })
    await page.locator('#play').click()
    await until(page, `Number(document.querySelector('#step').dataset.revision) >= 5`)
    await page.locator('#play').click()
    expect(await page.locator('#play').getAttribute('aria-pressed')).toBe('false')
    await page.locator('#revision').fill('3')
    await page.waitForSelector('#step[data-revision="3"]')
    const box = await page.locator('#plot svg.plot').boundingBox()
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 40)
    await until(page, `Number(document.querySelector('#step').dataset.revision) > 5`)
    expect(wrong()).toEqual([])
    await context.close()
  })

  it(`${String(LONG)} messages in one context come in parts, and no more of them are there than are looked at`, async () => {
    const { page, wrong, context } = await entered()
    await page.goto(at('/conversation', { c: 'thousands', part: '0' }), { waitUntil: LOADED })
    expect(await page.locator('#step').getAttribute('data-messages')).toBe(String(LONG))
    for (const share of [0.5, 0.1, 0.9, 0]) {
      await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${String(share)})`)
      await until(
        page,
        `[...document.querySelectorAll('.msg')].some((each) => { const { top, bottom } = each.getBoundingClientRect(); return bottom > 0 && top < innerHeight })`,
      )
      expect(await page.locator('.msg').count()).toBeLessThan(700)
    }
    expect(wrong()).toEqual([])
    await context.close()
  })

  it('without a script the same is reached by links', async () => {
    const { page, context } = await entered({ javaScriptEnabled: false })
    await page.goto(at('/', { grep: 'talk' }))
    await page.locator('.entry .name').first().click()
    const head = Number(await page.locator('#step').getAttribute('data-revision'))
    await page.locator('#back').click()
    expect(await page.locator('#step').getAttribute('data-revision')).toBe(String(head - 1))
    await page.locator('#step .summary > summary').click()
    await page.locator('#step a.ln').first().click()
    expect(await page.locator('#drawer h2').textContent()).toBe('Sources')
    await page.goto(at('/conversation', { c: 'thousands', part: '0' }))
    await page.locator('.part > a.more').first().click()
    expect(await page.locator('.msg').count()).toBeGreaterThan(10)
    await context.close()
  })

  it('the report is one file that runs nothing and asks for nothing', async () => {
    for (const c of ['talk', HOSTILE]) {
      const file = join(folder, `${String(c.length)}.html`)
      const report = async (): Promise<string> => await reportOf({ ledger, conversationId: c, now: new Date() })
      await writeNewFile(file, report)
      const { page, wrong, context } = await openWindow(browser, origin)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.goto(`file://${file}`)
        expect(await page.locator('h1').textContent()).not.toBe('')
        expect(await page.locator('h1 + .figures').textContent()).toContain(c.slice(0, 4))
        expect(await page.locator('.course .plot').count()).toBe(1)
        await page.evaluate(UNFOLD)
        expect(
          await page.evaluate<string>('getComputedStyle(document.querySelector(".msg")).borderInlineStartStyle'),
        ).toBe('solid')
        expect({ c, violations: await axeViolations(page) }).toEqual({ c, violations: [] })
        expect(wrong()).toEqual([])
      }
      await context.close()
      await expect(writeNewFile(file, report)).rejects.toMatchObject({ kind: 'FileExists' })
    }
  })

  it('a box of the graph opens by keys, and each of its messages leads to its place', async () => {
    const { page, wrong, context } = await entered()
    await page.goto(at('/graph', { c: 'talk' }), { waitUntil: LOADED })
    const boxes = page.locator('.graph a[id^="box-"]')
    const id = (await boxes.first().getAttribute('id')) ?? ''
    await boxes.first().focus()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.has('open'))
    await until(page, `document.activeElement.id === ${JSON.stringify(id)}`)
    await page.keyboard.press('j')
    expect(await page.evaluate<boolean>('document.activeElement.querySelector("rect.message") !== null')).toBe(true)
    expect(await axeViolations(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForSelector('.msg.sought')
    await page.goBack()
    await page.waitForSelector('.graph rect.message')
    await page.locator(`[id="${id}"]`).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => !url.searchParams.has('open'))
    expect(await page.locator('.graph rect.message').count()).toBe(0)
    expect(wrong()).toEqual([])
    await context.close()
  })

  it('printed, it is a whole document of what is loaded, and says where the rest is', async () => {
    const { page, context } = await entered({ colorScheme: 'dark' })
    await page.emulateMedia({ media: 'print' })
    const cutOff = `[...document.querySelectorAll('main *')].filter((each) => {
      const { overflowY, overflowX, display, position } = getComputedStyle(each)
      return display !== 'none' && !each.closest('#plot') && (position === 'fixed' || position === 'sticky' ||
        (overflowY !== 'visible' && each.scrollHeight > each.clientHeight + 1) ||
        (overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1))
    }).map((each) => each.outerHTML.slice(0, 80))`
    for (const [name, url] of someViews()) {
      await page.goto(url, { waitUntil: LOADED })
      if (name === 'verify') await page.waitForSelector(PROVED, PROOF)
      expect({ name, cutOff: await page.evaluate<string[]>(cutOff) }).toEqual({ name, cutOff: [] })
      expect(await page.locator('.top').isVisible()).toBe(false)
      expect(await page.locator('.in-print').first().isVisible()).toBe(true)
      expect(await page.evaluate<string>('getComputedStyle(document.body).color')).toBe('rgb(28, 31, 35)')
    }
    await page.goto(at('/conversation', { c: 'talk' }))
    expect(await page.locator('#step .msg').first().isVisible()).toBe(true)
    // Collapsed parts are printed too.
    await page.goto(at('/difference', { c: 'talk', cycle: '2' }))
    expect(await page.locator('.fate.unknown li, .fate.kept details li').first().isVisible()).toBe(true)
    await page.goto(at('/conversation', { c: 'thousands', part: '0' }), { waitUntil: LOADED })
    const [height, says] = await page.evaluate<[number, string]>(`(() => {
      const part = document.querySelector('.part[data-lines]')
      return [part.getBoundingClientRect().height, getComputedStyle(part.querySelector('.more'), '::after').content]
    })()`)
    expect(height).toBeLessThan(60)
    expect(says).toMatch(/not printed\) at.*\/conversation\?c=thousands/u)
    expect((await page.pdf()).length).toBeGreaterThan(1_000)
    await context.close()
  })
})
