/** The report of what compactions forgot. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { forgottenFound } from '../../src/interfaces/page/reading/forgotten.js'
import { forgottenReportOf } from '../../src/interfaces/page/forgotten-report.js'
import { SMALL, talk } from '../support/conversations.js'
import { hostileMessages } from '../support/page.js'

let ledger: Ledger

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', policy: SMALL, ahead: false })
  for (const message of talk(120)) {
    await ledger.append('talk', message)
    await ledger.admin.waitForCompaction()
  }
  for (const message of hostileMessages()) {
    await ledger.append('<b>hostile', message)
    await ledger.admin.waitForCompaction()
  }
  for (const message of talk(30)) {
    await ledger.append('<b>hostile', message)
    await ledger.admin.waitForCompaction()
  }
})
afterAll(async () => {
  await ledger.close()
})

describe('what compactions forgot, as a file', () => {
  it('shows the worst of many whole, and every one in a line', async () => {
    const { rows, whole, totals } = await forgottenFound(ledger, 'talk', { max: 3 })
    expect(rows).toHaveLength(totals.all.compactions)
    expect(rows.length).toBeGreaterThan(3)
    expect(whole).toHaveLength(3)
    const worst = (isWhole: boolean): number[] =>
      rows.filter((row) => row.isWhole === isWhole && row.behind.calls === 0).map(({ losses }) => losses)
    expect(Math.max(...worst(false))).toBeLessThanOrEqual(Math.min(...worst(true)))
    expect(rows.filter(({ isWhole }) => isWhole).map(({ revision }) => revision)).toEqual(
      whole.map(({ revision }) => revision),
    )
  })

  it('has texts that would be more than texts as texts', async () => {
    const { text } = await forgottenReportOf({ ledger, conversationId: undefined, now: new Date(0) })
    expect(text).toContain('&lt;b&gt;hostile')
    expect(text).not.toMatch(/<script|<img|<svg\/|<b>hostile|\son\w+=(?!")[a-z]/iu)
    for (const [, address = ''] of text.matchAll(/href="([^"]*)"/gu)) expect(address).toMatch(/^#compaction-\d+$/u)
  })

  it('begins each section with the losses that matter, and folds names and files', async () => {
    await ledger.transcripts.import('examples/claude-code-session.jsonl')
    const conversationId = 'claude-code/3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'
    const { text, found } = await forgottenReportOf({ ledger, conversationId, now: new Date(0) })
    expect(text).toContain(`<b>${String(found.totals.all.losses)}</b> losses`)
    const [, lost = ''] = /<section aria-label="Lost">([^]*?)<\/section>/u.exec(text) ?? []
    expect(lost.match(/<p class="what">[^<]*/gu)).toEqual([
      '<p class="what">Never touch the production database: work on the copy at db-copy.harbour.example, port 5544. … The export has to keep its CSV columns in the same order, the port authority reads it by position. … And it must be done by Friday 13 March.',
    ])
    expect(lost).toContain('needed again in')
    const folded = lost.slice(lost.indexOf('<details'))
    expect(folded).toContain('<span class="kind">number</span>')
    const { conversations } = await ledger.list({ countLost: true })
    expect(conversations.find((each) => each.conversationId === conversationId)?.lost).toBe(found.totals.all.losses)
  })
})
