/** The log view of an imported conversation: when things were said, which tool answered, and one kind of events. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { openTestPage } from '../support/page.js'

let ledger: Ledger
let c = ''
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', ahead: false })
  const imported = await ledger.transcripts.import(join('examples', 'claude-code-session.jsonl'))
  c = imported.conversations[0]?.conversationId ?? ''
})
afterAll(async () => {
  await ledger.close()
})

async function logPage(query: Readonly<Record<string, string>> = {}): Promise<{ status: number; text: string }> {
  return await openTestPage(ledger).get(`/log?${new URLSearchParams({ c, ...query }).toString()}`)
}

/** The label, the time and the words of each line. */
const linesOf = (text: string): { label: string; at: string | undefined; words: string }[] =>
  [...text.matchAll(/<article class="event" aria-label="event \d+: ([^"]*)"([^]*?)<\/article>/gu)].map(
    ([, label = '', rest = '']) => ({
      label,
      at: /datetime="([^"]*)"/u.exec(rest)?.[1],
      words: (/<p>([^]*?)<a /u.exec(rest)?.[1] ?? '').trim(),
    }),
  )

/** The choices with their counts. */
const countsIn = (text: string): ReadonlyMap<string, number> =>
  new Map(
    [...text.matchAll(/>([^<>]+)<span class="number"> ([\d,]+)</gu)].map(([, name = '', number]) => [
      name,
      Number(number),
    ]),
  )

describe('the log of an import', () => {
  it('shows when things were said and done, never when they were imported', async () => {
    const lines = linesOf((await logPage()).text)
    expect(lines.length).toBeGreaterThan(40)
    expect(lines.filter(({ at }) => at !== undefined && !at.startsWith('2026-03-10T'))).toEqual([])
    // The compaction by the program, its summary and its removal have one time.
    const compaction = lines.findIndex(({ label }) => label === 'Compaction by the program')
    const three = lines.slice(compaction, compaction + 3)
    expect(three.map(({ label }) => label)).toEqual(['Compaction by the program', 'Summary stored', 'Compaction'])
    expect(new Set(three.map(({ at }) => at)).size).toBe(1)
    expect(three[0]?.at).toBeDefined()
  })

  it('has first words, and ids only in details', async () => {
    const lines = linesOf((await logPage()).text)
    expect(lines[2]).toMatchObject({ label: 'User', at: '2026-03-10T09:00:07.000Z' })
    expect(lines[2]?.words).toMatch(/^The nightly export of berth bookings loses rows/u)
    const words = lines.map((line) => line.words).join('\n')
    expect(words).not.toMatch(/batch-|toolu_|[\da-f]{8}-[\da-f]{4}-|claude-code-session\.jsonl/u)
  })

  it('names the tool of each result', async () => {
    const results = linesOf((await logPage({ kind: 'tools' })).text).filter(({ label }) => label.startsWith('Tool'))
    expect(results[0]?.label).toBe('Tool glob')
    expect(results.every(({ label }) => /^Tool \w+$/u.test(label))).toBe(true)
    // Also where the call is before the first revision that is shown.
    const late = linesOf((await logPage({ kind: 'tools', from: '5' })).text)
    expect(late[0]?.label).toBe('Tool glob')
  })

  it('has kinds with counts that make up everything, and each shows as many', async () => {
    const counts = countsIn((await logPage()).text)
    const { Everything: all, ...kinds } = Object.fromEntries(counts)
    expect(Object.keys(kinds)).toHaveLength(4)
    expect(Object.values(kinds).reduce((sum, each) => sum + each, 0)).toBe(all)
    for (const [kind, name] of [
      ['messages', 'Messages'],
      ['tools', 'Tool calls and results'],
      ['compactions', 'Compactions'],
      ['other', 'Settings and others'],
    ] as const) {
      const { text } = await logPage({ kind })
      expect([kind, linesOf(text).length]).toEqual([kind, counts.get(name)])
    }
  })

  it('says so if nothing matches, and names the kinds if there is no such kind', async () => {
    const { text } = await logPage({ kind: 'compactions', from: '9999' })
    expect(text).toContain('No such events from event 9,999 on')
    const unknown = await logPage({ kind: 'colours' })
    expect(unknown.status).toBe(400)
    expect(unknown.text).toContain('messages, tools, compactions, other')
  })
})

describe('the compactions of an import', () => {
  it('have the time of the transcript', async () => {
    const { text } = await openTestPage(ledger).get(`/cycles?${new URLSearchParams({ c }).toString()}`)
    expect(/<time datetime="([^"]*)"/u.exec(text)?.[1]).toMatch(/^2026-03-10T/u)
  })
})
