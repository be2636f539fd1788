/** The evidence file in Chromium, from the disk and without a network. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { evidenceFile } from '../../src/interfaces/page/evidence-file.js'
import { axeViolations, chromiumPath, openWindow, startChromium } from '../support/chromium.js'
import { repeated } from '../support/length.js'
import { CONVERSATION, openProvableLedger, type ProvableLedger } from '../support/provable-ledger.js'

jest.setTimeout(600_000)

const inBrowser = chromiumPath === undefined ? describe.skip : describe
const NOWHERE = 'http://127.0.0.1:1'

inBrowser('the evidence file in a real Chromium', () => {
  let opened: ProvableLedger
  let browser: Browser
  let folder: string
  let file: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'evidence-page-'))
    opened = await openProvableLedger(40)
    await opened.ledger.admin.proofs.createCheckpoint({ key: opened.key })
    file = await evidenceFile(await opened.ledger.admin.proofs.evidence(CONVERSATION))
    browser = await startChromium()
  })
  afterAll(async () => {
    await browser.close()
    await opened.close()
    await rm(folder, { recursive: true })
  })

  /** Opens a file, and waits for its verdict. */
  async function open(page: Page, content: string | Uint8Array): Promise<string> {
    const path = join(folder, 'e.html')
    await writeFile(path, content)
    await page.goto(`file://${path}`)
    await page
      .locator('.steps, .verdict.failed > p:not(:text("It has not run"))')
      .first()
      .waitFor({ timeout: 3_000 })
      .catch(() => undefined)
    return await page
      .locator('.verdict')
      .first()
      .innerText({ timeout: 3_000 })
      .catch(() => 'no verdict')
  }

  it.each(['light', 'dark'] as const)(
    'verifies itself offline, %s: axe finds nothing, nothing is requested',
    async (colorScheme) => {
      const { page, context, wrong } = await openWindow(browser, NOWHERE, { offline: true, colorScheme })
      expect(await open(page, file)).toMatch(/^All \d+ checks passed/u)
      expect(await page.locator('.steps li:not(.ok)').count()).toBe(0)
      expect(await page.locator('.key').innerText()).toMatch(/^sha256:[0-9a-f]{64}$/u)
      expect(await axeViolations(page)).toEqual([])
      expect(wrong()).toEqual([])
      await context.close()
    },
  )

  it('compares the fingerprint that a reader pastes, and is green only if it is that of the key', async () => {
    const { page, context } = await openWindow(browser, NOWHERE, { offline: true })
    await open(page, file)
    const keyText = await page.locator('.key').innerText()
    const changedKey = keyText.replace(/.$/u, (digit) => (digit === '0' ? '1' : '0'))
    const pasted = async (text: string): Promise<readonly (string | null)[]> => {
      await page.getByLabel(/^Paste the fingerprint/u).fill(text)
      return [
        await page.locator('output').innerText(),
        await page.locator('.verdict').getAttribute('class'),
        await page.locator('.verdict b').innerText(),
      ]
    }
    const [none, same, wrong] = [await pasted(''), await pasted(keyText.toUpperCase()), await pasted(changedKey)]
    expect(none).toEqual(['', 'verdict open', expect.stringMatching(/^All \d+ checks passed$/u)])
    expect(same).toEqual([expect.stringMatching(/^The same key/u), 'verdict ok', none[2]])
    expect(wrong).toEqual([
      expect.stringMatching(/^Another key/u),
      'verdict failed',
      'Do not rely on this file: another key signed it',
    ])
    expect(await pasted(keyText.slice(0, -3))).toEqual([
      expect.stringMatching(/^This is no complete fingerprint/u),
      'verdict open',
      none[2],
    ])
    await context.close()
  })

  it('shows hostile texts as texts', async () => {
    const { page, context, wrong } = await openWindow(browser, NOWHERE, { offline: true })
    expect(await open(page, await evidenceFile(await opened.ledger.admin.proofs.evidence('other')))).toMatch(
      /^\d+ of \d+ checks passed, none failed/u,
    )
    expect(await page.locator('#content').innerText()).toContain('</script><b>&amp; "quoted"')
    expect(wrong()).toEqual([])
    await context.close()
  })

  it('without scripts says that it is not verified', async () => {
    const { page, context } = await openWindow(browser, NOWHERE, { javaScriptEnabled: false })
    expect(await open(page, file)).toMatch(/^Not verified/u)
    await context.close()
  })

  it('with a flipped bit, in any part of it, does not say that all checks passed', async () => {
    const { page, context } = await openWindow(browser, NOWHERE, { offline: true })
    const bytes = Buffer.from(file)
    const script = file.indexOf('<script type="module">')
    const passed: number[] = []
    for (let at = 20; at < 20 + repeated(40, 12); at += 1) {
      // Some in the frame, some in the script, and the rest in the evidence.
      const selector =
        at % 4 === 0
          ? at * 37
          : at % 4 === 1
            ? bytes.length - (file.length - script) + at * 41
            : (at * 7_919) % bytes.length
      const changed = Buffer.from(bytes)
      changed[selector] = (changed[selector] ?? 0) ^ (1 << (at % 5))
      if ((await open(page, changed)).startsWith('All ')) passed.push(selector)
    }
    expect(passed).toEqual([])
    await context.close()
  })
})
