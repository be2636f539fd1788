/** The report file is written atomically and never overwrites a file. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { forgottenFound } from '../../src/page/reading/forgotten.js'
import { forgottenReportOf } from '../../src/page/forgotten-report.js'
import { writeReport } from '../../src/page/report-file.js'
import { SMALL, talk } from '../support/conversations.js'
import { hostileMessages } from '../support/page.js'

let folder: string
let ledger: Ledger

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'report-file-'))
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
  await rm(folder, { recursive: true })
})

describe('the file of a report', () => {
  it('is there whole, and nothing is left beside it', async () => {
    const file = join(folder, 'a.html')
    expect(await writeReport(file, async () => await Promise.resolve('whole é'))).toEqual({ bytes: 8 })
    expect(await readFile(file, 'utf8')).toBe('whole é')
    expect(await readdir(folder)).toEqual(['a.html'])
  })

  it('is not there where the report cannot be made', async () => {
    const failing = async (): Promise<string> => await Promise.reject(new Error('no such cycle'))
    await expect(writeReport(join(folder, 'b.html'), failing)).rejects.toThrow('no such cycle')
    expect(await readdir(folder)).toEqual(['a.html'])
  })

  it('is never written over, not even where somebody made it meanwhile', async () => {
    let made = 0
    const make = async (): Promise<string> => {
      made += 1
      await writeFile(join(folder, 'c.html'), 'theirs')
      return 'ours'
    }
    await expect(writeReport(join(folder, 'a.html'), make)).rejects.toMatchObject({ code: 'EEXIST' })
    expect(made).toBe(0)
    await expect(writeReport(join(folder, 'c.html'), make)).rejects.toMatchObject({ code: 'EEXIST' })
    expect(await readFile(join(folder, 'c.html'), 'utf8')).toBe('theirs')
    expect((await readdir(folder)).toSorted()).toEqual(['a.html', 'c.html'])
  })
})

describe('what compactions forgot, as a file', () => {
  it('shows the worst of many whole, and every one in a line', async () => {
    const { rows, whole, totals } = await forgottenFound(ledger, 'talk', { max: 3 })
    expect(rows).toHaveLength(totals.all.compactions)
    expect(rows.length).toBeGreaterThan(6)
    expect(whole).toHaveLength(3)
    const worst = (isWhole: boolean): number[] =>
      rows.filter((row) => row.isWhole === isWhole && row.behind.calls === 0).map(({ verdicts }) => verdicts.gone)
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
})
