/** `compaction run`: rejected options, messages, metrics and shutdown. */
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { createMemoryTokenBudget } from '../../src/adapters/memory/token-budget.js'
import { createMemoryWorkQueue } from '../../src/adapters/memory/work-queue.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import { runCompaction, type RunCompactionOptions } from '../../src/interfaces/cli/workers/compaction.js'
import type { OpenCompactionProcess } from '../../src/library/processes.js'
import { systemClock } from '../../src/ports/clock.js'
import {
  createExtractiveSummarizer,
  createFoldInSummarizer,
  type SummarizerConfig,
} from '../../src/application/summarizers/index.js'
import { createPrompt } from '../../src/application/summarizers/prompts.js'
import { SMALL, talk } from '../support/conversations.js'
import { until } from '../support/hand-clock.js'
import { createHarness, type Harness } from '../support/harness.js'
import { chunkJob } from '../support/summary-jobs.js'

const options: RunCompactionOptions = {
  concurrency: undefined,
  tokensPerMinute: undefined,
  tokensPerDay: undefined,
  metricsPort: undefined,
  metricsHost: '127.0.0.1',
  json: false,
}
const SERVER = 'postgres://nobody@nowhere/db'

/** Captures standard error. */
function captureStderr(): { readonly text: () => string; readonly lines: () => string[] } {
  let text = ''
  jest.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  return { text: () => text, lines: () => text.split('\n').filter((line) => line !== '') }
}
afterEach(() => {
  jest.restoreAllMocks()
})

const never: OpenCompactionProcess = () => Promise.reject(new Error('was opened'))

function over(harness: Harness): { readonly open: OpenCompactionProcess; readonly closed: () => boolean } {
  let closed = false
  return {
    closed: () => closed,
    open: async () => ({
      log: harness.log,
      name: 'a log in memory',
      // A provider name, so that its tokens count as spent.
      summarizer: { ...createExtractiveSummarizer(), provider: 'somebody' },
      fallback: createExtractiveSummarizer(),
      claims: createMemoryClaims(systemClock),
      queue: createMemoryWorkQueue(systemClock),
      budget: (limits) => createMemoryTokenBudget(limits, systemClock),
      async close() {
        closed = true
      },
    }),
  }
}

describe('compaction run', () => {
  it.each(['.context-ledger', '/some/folder'])(
    'on %s says that the process which has it compacts by itself',
    async (store) => {
      await expect(runCompaction({ store }, options, never)).rejects.toMatchObject({
        name: 'LedgerError',
        message: expect.stringContaining('the process that opens it also compacts'),
      })
    },
  )

  it.each([
    ['--concurrency', { concurrency: 0 }],
    ['--concurrency', { concurrency: 1_000 }],
    ['--tokens-per-minute', { tokensPerMinute: 0 }],
    ['--tokens-per-day', { tokensPerDay: -5 }],
    ['--metrics-port', { metricsPort: 70_000 }],
  ] as const)('refuses a %s that is none', async (flag, invalid) => {
    await expect(runCompaction({ store: SERVER }, { ...options, ...invalid }, never)).rejects.toMatchObject({
      name: 'LedgerError',
      message: expect.stringContaining(flag),
    })
  })

  it('says what it follows and what it did, a line each, serves metrics, and ends when it is told to', async () => {
    const harness = createHarness({ policy: { ...SMALL, maxSummaryTokens: 24 } })
    const { open, closed } = over(harness)
    const stderr = captureStderr()
    const running = runCompaction(
      { store: SERVER },
      { ...options, concurrency: 2, tokensPerDay: 1_000_000, metricsPort: 0 },
      open,
    )
    await until(() => stderr.text().includes('follows'))
    await harness.appended(talk(18), 'ahead')
    await harness.appended(talk(20), 'due')
    await until(() => stderr.text().includes('due: ') && stderr.text().includes('ahead: '))
    const url = /metrics at (\S+),/u.exec(stderr.text())?.[1] ?? ''
    const metrics = await (await fetch(url)).text()
    const health = await fetch(url.replace('/metrics', '/health'))
    process.emit('SIGTERM')
    await running
    expect(stderr.lines()).toEqual(
      expect.arrayContaining([
        'follows a log in memory, summarizer extractive-5, 2 conversations concurrently, at most 1,000,000 tokens per day for all workers together',
        expect.stringMatching(/^ahead: 5 summaries ahead of need \(5 calls, [\d,]+ tokens\)$/u),
        expect.stringMatching(/^due: \d+ messages became \d+ batches: 800 → \d+ tokens \(\d+ calls, [\d,]+ tokens\)$/u),
        'stopped',
      ]),
    )
    expect(metrics).toMatch(/^context_ledger_compaction_calls_total [1-9]\d*$/mu)
    expect(metrics).toMatch(/^context_ledger_compaction_cycles_total 1$/mu)
    expect(metrics).toContain('context_ledger_compaction_queue{state="waiting"} 0')
    expect([health.status, closed()]).toEqual([200, true])
  })

  it('takes a prompt by its name from the log that it follows, and warns of one that shows no messages', async () => {
    const harness = createHarness({ policy: SMALL })
    const register = createRegisterPrompt(harness.log, systemClock)
    for (const text of ['First: {messages}', 'Say something.'])
      await register(
        createFoldInSummarizer({
          model: createScriptedLanguageModel(['A summary.']),
          prompt: createPrompt('mine', text),
        }).prepare(chunkJob()),
        { actor: 'test', correlationId: 'c', causationId: 'c' },
        undefined,
      )
    const { open } = over(harness)
    const stderr = captureStderr()
    const byModel = { store: SERVER, summarizer: 'openai', model: 'm', 'api-key': 'k' }
    const summarizers: ('extractive' | SummarizerConfig)[] = []
    const opening: OpenCompactionProcess = async (where) => {
      summarizers.push(await where.summarizerFor(harness.log))
      return await open(where)
    }
    for (const prompt of ['mine@1', 'mine']) {
      const text = stderr.text().length
      const running = runCompaction({ ...byModel, prompt }, options, opening)
      await until(() => stderr.text().slice(text).includes('follows'))
      process.emit('SIGTERM')
      await running
    }
    expect(summarizers).toMatchObject([
      { prompt: { name: 'mine', text: 'First: {messages}' } },
      { prompt: { name: 'mine', text: 'Say something.' } },
    ])
    expect(stderr.lines().filter((line) => line.startsWith('warning: '))).toEqual([
      expect.stringContaining('the prompt mine has no {messages}'),
    ])
    await expect(runCompaction({ ...byModel, prompt: 'nobody’s' }, options, opening)).rejects.toMatchObject({
      name: 'LedgerError',
      message: expect.stringContaining('the ledger has no prompt "nobody’s"'),
    })
  })

  it('is not well where the log does not answer, and says the same failure once', async () => {
    const harness = createHarness({ policy: SMALL })
    const { open } = over(harness)
    const stderr = captureStderr()
    let isAway = false
    let attempts = 0
    const away = (): never => {
      throw new Error('the log is away')
    }
    const tried = (): never => {
      attempts += 1
      return away()
    }
    const running = runCompaction({ store: SERVER }, { ...options, metricsPort: 0 }, async (where) => {
      const process = await open(where)
      const store: typeof process.log.store = {
        ...harness.store,
        head: async () => (isAway ? away() : await harness.store.head()),
      }
      return {
        ...process,
        log: { ...process.log, store },
        queue: { ...process.queue, take: (asked) => (isAway ? tried() : process.queue.take(asked)) },
      }
    })
    await until(() => stderr.text().includes('follows'))
    const health = `${/metrics at (\S+)\/metrics,/u.exec(stderr.text())?.[1] ?? ''}/health`
    expect((await fetch(health)).status).toBe(200)
    isAway = true
    expect((await fetch(health)).status).toBe(503)
    // Workers poll every second.
    await until(() => attempts > 1)
    process.emit('SIGTERM')
    await running
    expect(stderr.lines().filter((line) => line.includes('retrying'))).toEqual(['retrying: the log is away'])
  })

  it('says it as lines of JSON where that is asked for, a failure by its limit included', async () => {
    const harness = createHarness({ policy: { ...SMALL, fallback: 'none' } })
    const { open } = over(harness)
    const stderr = captureStderr()
    const running = runCompaction({ store: SERVER }, { ...options, tokensPerDay: 5, json: true }, open)
    await harness.appended(talk(20), 'c')
    await until(() => stderr.text().includes('"failed"'))
    process.emit('SIGINT')
    await running
    const events = stderr.lines().map((line): unknown => JSON.parse(line))
    expect(events).toEqual([
      { kind: 'working', log: 'a log in memory', summarizer: 'extractive-5', concurrency: 4, tokensPerDay: 5 },
      {
        kind: 'failed',
        conversationId: 'c',
        detail: expect.stringContaining('the limit of 5 tokens a day: 0 are used'),
      },
      { kind: 'ending' },
      { kind: 'ended' },
    ])
  })
})
