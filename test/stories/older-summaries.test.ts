/**
 * Summaries that version 0.10.0 recorded: this version recomputes their requests with the recorded hashes, returns the
 * contexts that 0.10.0 printed, and continues the conversations. The log has a conversation for each strategy, and one
 * with a persona and a window so small that messages were shortened; each was re-summarized.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals'
import { openLogFile } from '../../src/adapters/file/log-file.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { copyLog, storeTarget } from '../../src/application/backup/migrate-log.js'
import type { Ledger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { checkRequest } from '../../src/application/summarizers/check-request.js'
import { createFoldInSummarizer } from '../../src/application/summarizers/index.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { sourceMessage } from '../support/summary-jobs.js'
import { keepEngines } from '../support/kept-engines.js'
import { sampled } from '../support/length.js'

keepEngines()

/** By conversation: its recorded summaries, and by revision the hash of the context that version 0.10.0 printed. */
type At = readonly [revision: number, hash: string]
const RECORDED: readonly (readonly [id: string, summaries: number, ...contexts: At[]])[] = [
  [
    'extractive',
    18,
    [47, 'b04941e978c790cf9222c679d4df01bd1f23102521b730f64a213a6a9629d6d1'],
    [95, '3802123bb3630dd15bca27315867dec945ebe306150b7c8057faaf7b6c4b8127'],
  ],
  [
    'fold-in',
    18,
    [47, '6b384f73a1bb448eceb1add18ced4e21ef5578dc7d754209907f561e8be08c87'],
    [95, '4ee98d0fa5d7d801cbd5ab49f3060a661b259e81b3b535402a9a8452cc665130'],
  ],
  [
    'structured',
    17,
    [46, 'a27697a0b3c0d167c8be37f6d5e5dc7805a4b55903f0c31b93faeddfbd76a0a3'],
    [93, '1febb0448dae69f5eb4921ce3c5674cf1e30392df2f8df6220f86a91773cb7fa'],
  ],
  [
    'ride-prefix',
    16,
    [56, '890444039d6e6b6d86a1094b707e4b37aff813af1fec167f8db31f2177d6d0d6'],
    [112, '325e9b160286bdc8775feb1e92382d941646630a007600e5ef5a772e8f7d37dc'],
  ],
  [
    'persona',
    13,
    [53, '7edefb037f7314d8a5255d1728745ef2f29eca8baab5a4feeacbe6c4d0992914'],
    [106, 'bd125854b25433800049537848781e660726b2f2f8d7fbb733ed12e5fff1722b'],
  ],
]

let db: Database
let ledger: Ledger
beforeAll(async () => {
  db = await openTestDatabase()
  await db.script('drop schema if exists context_ledger cascade')
  await migrateLog(db)
  const log = { name: 'restored', store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
  const copied = await copyLog(openLogFile('test/fixtures/log-files/0.10.0.clog.gz'), storeTarget(log))
  if (copied.difference !== undefined) throw new Error(copied.difference)
  const model = createScriptedLanguageModel(['The harbour office booked a berth for Marit and wrote the invoice.'])
  ledger = await ledgerOn(db, { summarizer: createFoldInSummarizer({ model }) })
})
afterAll(async () => {
  await ledger.close()
  await db.close()
})

describe.each(sampled(RECORDED, 3))('%s', (id, summaries, ...contexts) => {
  it('has requests that are recomputed with the recorded hashes', async () => {
    const report = await ledger.admin.verify(id)
    expect(report.problems).toEqual([])
    expect(report.summaries).toEqual({ recomputed: summaries, notRecomputed: 0 })
  })

  it('has the contexts that version 0.10.0 printed', async () => {
    for (const [at, hash] of contexts) expect(await ledger.context(id, { at })).toMatchObject({ hash })
  })

  it('continues, and is compacted by the current summarizer', async () => {
    await ledger.append(id, { role: 'user', content: 'Which berth does Marit have in June?' })
    await ledger.compact(id, { force: true })
    expect((await ledger.context(id)).messages.at(-1)?.content).toContain('Which berth does Marit have in June?')
    const report = await ledger.admin.verify(id)
    expect(report.problems).toEqual([])
    expect(report.summaries.notRecomputed).toBe(0)
    expect(report.summaries.recomputed).toBeGreaterThan(summaries)
  })
})

// Version 0.10.0 did not pass the flag of `ride-prefix` to the compaction, so its ledgers have no such request. The hash
// is the one that its summarizer prepared for this job.
test('a request of version 1 that follows the agent’s context is recomputed', async () => {
  const messages = [
    sourceMessage('user', 'Which berth is free on 3 May?', { createdAt: '2026-05-01T09:00:00.000Z' }),
    sourceMessage('assistant', '\n\nBerth 4 is free.', { createdAt: '2026-05-02T09:00:00.000Z' }),
  ]
  const { text, sha256 } = await ledger.admin.prompts.show('ride-prefix-1')
  const record = {
    strategy: 'ride-prefix',
    provider: 'scripted',
    model: 'scripted-1',
    parameters: {
      temperature: 0,
      maxOutputTokens: 214,
      maxSummaryTokens: 100,
      prefixMessages: 3,
      windowTokens: 128_000,
    },
    prompt: { name: 'ride-prefix-1', sha256 },
    formatterVersion: 1,
    requestHash: '0478c378b53b80dad7b731db1ad61bab8ae06f001f2e89ef2f129483adf91775',
    durationMs: 1,
  }
  const job = {
    kind: 'chunk' as const,
    temperature: 0,
    persona: '',
    messages,
    existingSummary: 'Berth 1 is closed.',
    prefix: [
      { role: 'system' as const, content: 'You are terse.' },
      { role: 'user' as const, content: 'Which berth is free on 3 May?' },
      { role: 'assistant' as const, content: '\n\nBerth 4 is free.' },
    ],
  }
  expect(checkRequest(record, job, text)).toBe('same')
  expect(checkRequest(record, { ...job, persona: 'You are Ada.' }, text)).toBe('other')
})

/** The default prompt up to 0.11.0. */
const FOLD_IN_2 = readFileSync('test/fixtures/fold-in-2.txt', 'utf8')

test('a request of version 2 with a repeated call id is recomputed', () => {
  const createdAt = '2026-05-01T09:00:00.000Z'
  const callOf = (name: string) =>
    sourceMessage('assistant', '', {
      createdAt,
      toolCalls: [{ id: '0', type: 'function', function: { name, arguments: '{}' } }],
    })
  const resultOf = (content: string) => sourceMessage('tool', content, { createdAt, toolCallId: '0' })
  const messages = [callOf('weather'), resultOf('Rain.'), callOf('tide'), resultOf('High.')]
  const record = {
    strategy: 'fold-in',
    provider: 'scripted',
    model: 'scripted-1',
    parameters: { temperature: 0, maxOutputTokens: 335, maxSummaryTokens: 100, windowTokens: 128_000 },
    prompt: { name: 'fold-in-2', sha256: 'dbfa14ecb80ed671ff612300078916250ff1b30ef9177063aa7709dc7421d515' },
    formatterVersion: 2,
    requestHash: 'f6f363c38d5bed0d6345eef574d049957be2af0bf568df9a11493cd6d50727ec',
    durationMs: 1,
  }
  const job = { kind: 'chunk' as const, temperature: 0, persona: '', messages, existingSummary: undefined }
  expect(checkRequest(record, job, FOLD_IN_2)).toBe('same')
  expect(checkRequest({ ...record, formatterVersion: 3 }, job, FOLD_IN_2)).toBe('other')
})
