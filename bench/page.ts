/**
 * The page of a conversation with 10,000 messages: the first view of a server that has just started, measured at the
 * server and painted by Chromium, and the steps of the slider. The baseline is an empty route of the same server: the
 * cost of HTTP itself.
 */
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import { openLedger } from '../src/index.js'
import { startPage, type Page } from '../src/interfaces/page/server.js'
import { createBulkLog } from './support/bulk-log.js'
import { against, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { median, percentile } from './support/measure.js'
import { openDatabase } from './support/places.js'
import { randomOf } from './support/text.js'

const MESSAGES = 10_000
const WINDOW_TOKENS = 32_000
const STEPS = 300
const FIRST_VIEWS = 5

const program = [process.env['CONTEXT_LEDGER_TEST_CHROMIUM'] ?? '', '/usr/bin/chromium'].find(
  (path) => path !== '' && existsSync(path),
)

interface PageResponse {
  /** Milliseconds until the response is complete. */
  readonly ms: number
  readonly text: string
}

/** Requests pages as an authenticated browser does. */
async function visitor(page: Page): Promise<(path: string) => Promise<PageResponse>> {
  const { origin } = new URL(page.url)
  const entered = await fetch(page.url, { redirect: 'manual' })
  const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? ''
  return async (path) => {
    const start = performance.now()
    const answer = await fetch(`${origin}${path}`, { headers: { cookie } })
    const text = await answer.text()
    if (answer.status >= 400) throw new Error(`${path} was answered by ${String(answer.status)}: ${text.slice(0, 400)}`)
    return { ms: performance.now() - start, text }
  }
}

/** From the request to the first paint with a message, by the browser's own clock. */
async function painted(browser: Browser, page: Page, path: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 } })
  try {
    const window = await context.newPage()
    await window.goto(page.url)
    await window.goto(`${new URL(page.url).origin}${path}`)
    await window.waitForSelector('.msg')
    return await window.evaluate<number>(
      `new Promise((resolve) => { const asked = () => { const [paint] = performance.getEntriesByName('first-contentful-paint'); if (paint === undefined) setTimeout(asked, 10); else resolve(paint.startTime) }; asked() })`,
    )
  } finally {
    await context.close()
  }
}

/** Steps of the slider as the user sees them: from moving it to the context in the document. */
async function stepsSeen(browser: Browser, page: Page, conversation: string): Promise<readonly number[]> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 } })
  try {
    const window = await context.newPage()
    await window.goto(page.url)
    await window.goto(`${new URL(page.url).origin}/conversation?c=${conversation}`, { waitUntil: 'networkidle' })
    return await window.evaluate<readonly number[]>(`(async () => {
      const slider = document.querySelector('#revision')
      const times = []
      for (let step = 0; step < 100; step += 1) {
        const to = String((step * 6151) % ${String(MESSAGES)})
        const start = performance.now()
        slider.value = to
        slider.dispatchEvent(new Event('input'))
        while (document.querySelector('#step').dataset.revision !== to) await new Promise((resolve) => setTimeout(resolve, 1))
        times.push(performance.now() - start)
      }
      return times
    })()`)
  } finally {
    await context.close()
  }
}

async function run(bench: Bench): Promise<readonly Figure[]> {
  const { say } = bench
  const home = await bench.createPlace('page')
  let browser: Browser | undefined
  try {
    const db = await openDatabase(home.store)
    say(`writing two conversations of ${String(MESSAGES)} messages`)
    const log = await createBulkLog(db)
    await log.write('compacted', MESSAGES, { modelMaxTokens: WINDOW_TOKENS })
    await log.write('whole', MESSAGES, { modelMaxTokens: 100_000_000 }, { seed: 2 })
    await log.finish()
    await db.close()
    const ready = await openLedger({ store: home.store, ahead: false })
    await ready.admin.projections.catchUp()
    await ready.close()

    const views = { compacted: [] as number[], whole: [] as number[] }
    const paints: number[] = []
    const steps = { compacted: [] as number[], whole: [] as number[], bare: [] as number[] }
    let stepTimes: readonly number[] = []
    if (program !== undefined) browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
    for (let round = 0; round < FIRST_VIEWS; round += 1) {
      say(`first views, ${String(round + 1)} of ${String(FIRST_VIEWS)}`)
      for (const conversation of ['compacted', 'whole'] as const) {
        // A new ledger each time, with nothing of the conversation in memory.
        const ledger = await openLedger({ store: home.store, readOnly: true, ahead: false })
        const page = await startPage({ ledger, name: 'bench', port: 0 })
        try {
          const ask = await visitor(page)
          await ask('/')
          views[conversation].push((await ask(`/conversation?c=${conversation}`)).ms)
        } finally {
          await page.close()
          await ledger.close()
        }
      }
      if (browser === undefined) continue
      const ledger = await openLedger({ store: home.store, readOnly: true, ahead: false })
      const page = await startPage({ ledger, name: 'bench', port: 0 })
      try {
        paints.push(await painted(browser, page, '/conversation?c=compacted'))
      } finally {
        await page.close()
        await ledger.close()
      }
    }

    const ledger = await openLedger({ store: home.store, readOnly: true, ahead: false })
    const page = await startPage({ ledger, name: 'bench', port: 0 })
    try {
      const ask = await visitor(page)
      for (const conversation of ['compacted', 'whole'] as const) {
        say(`steps of the slider, ${conversation}`)
        await ask(`/course?c=${conversation}`)
        const random = randomOf(7)
        let since = MESSAGES - 1
        for (let step = 0; step < STEPS; step += 1) {
          const at = Math.floor(random() * MESSAGES)
          const { ms } = await ask(`/conversation/step?c=${conversation}&at=${String(at)}&since=${String(since)}`)
          steps[conversation].push(ms)
          since = at
          steps.bare.push((await ask('/assets/icon.svg')).ms)
        }
      }
      if (browser !== undefined) stepTimes = await stepsSeen(browser, page, 'compacted')
    } finally {
      await page.close()
      await ledger.close()
    }

    const bare = { name: 'a route that reads nothing', value: percentile(steps.bare, 0.95) }
    return [
      against(
        `first view of a conversation of ${MESSAGES.toLocaleString('en')} messages, at the server, p50`,
        median(views.compacted),
        { most: 300 },
        milliseconds,
        { name: 'a route that reads nothing', value: median(steps.bare) },
        `a ledger that was opened anew each time, window ${WINDOW_TOKENS.toLocaleString('en')} tokens`,
      ),
      reported(
        'the same where nothing was ever compacted: 10,000 messages in the context',
        median(views.whole),
        milliseconds,
      ),
      ...(paints.length === 0
        ? []
        : [
            against(
              'the same painted by a Chromium, p50',
              median(paints),
              { most: 1_000 },
              milliseconds,
              undefined,
              'first contentful paint, from the start of the navigation, on a ledger that was opened anew',
            ),
          ]),
      against(
        'a step of the slider to anywhere, p95',
        percentile(steps.compacted, 0.95),
        { most: 50 },
        milliseconds,
        bare,
      ),
      reported('a step of the slider to anywhere, p50', median(steps.compacted), milliseconds),
      ...(stepTimes.length === 0
        ? []
        : [
            reported(
              'the same in a Chromium, until the context is in the document, p95',
              percentile(stepTimes, 0.95),
              milliseconds,
              { name: 'p50', value: median(stepTimes) },
            ),
          ]),
      reported(
        'the same where nothing was ever compacted, p95',
        percentile(steps.whole, 0.95),
        milliseconds,
        undefined,
        'contexts of up to 10,000 messages, each made and hashed anew',
      ),
    ]
  } finally {
    await browser?.close()
    await home.remove()
  }
}

export const group: Group = { title: 'The page', run }
