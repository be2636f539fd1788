/**
 * The pictures of the page in README and the docs, from the examples: `npx tsx scripts/pictures.ts`. It needs Chromium
 * (`CONTEXT_LEDGER_TEST_CHROMIUM`, or an installed one) and the built page (`npm run build`).
 */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openLedger, type Ledger } from '../src/index.js'
import { startPage } from '../src/interfaces/page/server.js'
import { startChromium } from '../test/support/chromium.js'
import { sampleConversation } from '../test/support/real-conversations.js'

/** All pictures together. */
const MAX_BYTES = 120_000
/** Wide enough for the rail next to the chat. */
const VIEWPORT = { width: 1_180, height: 720 }

/** Writes what the window shows as WebP, which Playwright itself does not write. */
async function save(page: Page, name: string): Promise<number> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 70 })
  const file = join('docs', `${name}.webp`)
  writeFileSync(file, Buffer.from(data, 'base64'))
  return statSync(file).size
}

/** A session of a coding agent with a compaction, and a day's work that the ledger compacts. */
async function examples(ledger: Ledger): Promise<{ readonly session: string; readonly day: string }> {
  const imported = await ledger.transcripts.import(join('examples', 'claude-code-session.jsonl'))
  const { id: day, messages } = sampleConversation()
  for (const message of messages) {
    await ledger.append(day, message, { policy: { modelMaxTokens: 2_400 } })
    await ledger.admin.waitForCompaction()
  }
  return { session: imported.conversations[0]?.conversationId ?? '', day }
}

const ledger = await openLedger({ store: 'memory', ahead: false })
const { session, day } = await examples(ledger)
const served = await startPage({ ledger, name: 'examples', port: 0 })
const browser = await startChromium()
const context = await browser.newContext({ viewport: VIEWPORT, colorScheme: 'light', deviceScaleFactor: 1.5 })
const page = await context.newPage()
await page.goto(served.url)
let bytes = 0
for (const [name, path, c] of [
  ['forgotten', '/forgotten', session],
  ['conversation', '/conversation', day],
] as const) {
  const address = new URL(path, served.url)
  address.search = new URLSearchParams({ c }).toString()
  await page.goto(address.href, { waitUntil: 'networkidle' })
  bytes += await save(page, name)
}
await browser.close()
await served.close()
await ledger.close()
if (bytes > MAX_BYTES)
  throw new Error(`the pictures have ${String(bytes)} bytes; at most ${String(MAX_BYTES)} are allowed`)
console.log(`docs/forgotten.webp and docs/conversation.webp: ${String(bytes)} bytes`)
