/** A real Chromium for tests: the one that CONTEXT_LEDGER_TEST_CHROMIUM names, or that is installed. */
import axe from 'axe-core'
import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'

/** The path of the Chromium program; undefined if it is not installed. */
export const chromiumPath: string | undefined = [
  process.env['CONTEXT_LEDGER_TEST_CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path !== '' && existsSync(path))

/** Starts it. Its own sandbox does not work for root, and what it opens here is ours. */
export const startChromium = async (): Promise<Browser> =>
  await chromium.launch({ executablePath: chromiumPath ?? '', args: ['--no-sandbox', '--disable-dev-shm-usage'] })

/** A window that remembers what must not happen. */
export interface WatchedPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of scripts and of the console, dialogs, and requests that would have left this machine, since the last call. */
  readonly wrong: () => string[]
}

/** Opens a window; whatever it asks of another origin is refused, and remembered. */
export async function openWindow(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 }, ...options })
  const page = await context.newPage()
  let pageErrors: string[] = []
  page.on('pageerror', (error) => pageErrors.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') pageErrors.push(`console: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    pageErrors.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await context.route('**/*', async (route) => {
    const url = route.request().url()
    if (url.startsWith(`${origin}/`) || url.startsWith('file:')) {
      await route.continue()
      return
    }
    pageErrors.push(`request: ${url}`)
    await route.abort()
  })
  return {
    page,
    context,
    wrong() {
      const all = pageErrors
      pageErrors = []
      return all
    },
  }
}

/** What axe finds against a page, a line each; nothing where all is well. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return await page.evaluate<string[]>(`
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ target, failureSummary }) =>
        id + ' ' + target.join(' ') + ': ' + failureSummary.replace(/\\s+/g, ' '))))`)
}
