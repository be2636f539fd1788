/** A summarizer that is one function. */
import { afterEach, expect, it } from '@jest/globals'
import { openLedger, type ChatMessage, type Ledger, type SummarizeMessages } from '../../src/index.js'
import { isLong, longTest } from '../support/length.js'

let ledger: Ledger
afterEach(() => ledger.close())

async function talk(
  summarizer: (messages: readonly ChatMessage[], signal?: AbortSignal) => Promise<string>,
): Promise<void> {
  ledger = await openLedger({
    store: 'memory',
    summarizer,
    ahead: false,
    policy: { modelMaxTokens: 2_000, chunkMinTokens: 0, fallback: 'none' },
    onProblem: () => undefined,
  })
  for (let at = 0; at < 80; at += 1)
    await ledger.append('c', {
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `Message ${String(at)} about the berths of the harbour, and who booked which of them.`,
    })
  await ledger.admin.waitForCompaction('c')
}

it('summarizes, and is recorded by its name', async () => {
  const requests: (readonly ChatMessage[])[] = []
  await talk(async function briefly(messages) {
    requests.push(messages)
    return await Promise.resolve(`${String(messages.length)} messages about berths`)
  })
  expect(requests[0]?.[0]).toEqual({ role: 'user', content: expect.stringMatching(/^Message 0 /u) })
  expect(JSON.stringify((await ledger.context('c')).messages)).toContain('messages about berths')
  const made: unknown[] = []
  for await (const event of ledger.log('c')) if (event.type === 'ChunkSummarized') made.push(event.data.summarizer)
  expect(made[0]).toMatchObject({ strategy: 'function', provider: 'own', model: 'briefly' })
  expect(await ledger.admin.verify()).toMatchObject({ ok: true })
})

longTest('that is down is told of though the fallback does its work', async () => {
  const problems: unknown[] = []
  ledger = await openLedger({
    store: 'memory',
    summarizer: () => Promise.reject(new Error('no credit')),
    ahead: false,
    policy: { modelMaxTokens: 2_000, chunkMinTokens: 0 },
    onProblem: (problem) => problems.push(problem),
  })
  await ledger.append(
    'c',
    Array.from({ length: 120 }, (_, at) => ({
      role: 'user' as const,
      content: `Message ${String(at)} about the berths of the harbour, and who booked which of them.`,
    })),
  )
  await ledger.admin.waitForCompaction('c')
  let standsIn = false
  for await (const event of ledger.log('c'))
    if (event.type === 'ChunkSummarized') standsIn ||= event.data.summarizer.fallback === true
  expect(standsIn).toBe(true)
  expect(problems).toContainEqual(expect.objectContaining({ kind: 'SummarizerFailed', failure: 'threw' }))
})

const WRONG_ANSWERS: readonly (readonly [string, SummarizeMessages, string])[] = [
  ['throws', () => Promise.reject(new Error('no credit')), 'threw'],
  ['answers nothing', () => Promise.resolve(' '), 'empty'],
]

it.each(isLong ? WRONG_ANSWERS : WRONG_ANSWERS.slice(0, 1))(
  'that %s is a failure with its kind, and nothing is lost',
  async (_how, summarizer, kind) => {
    await talk(summarizer)
    const failures: unknown[] = []
    for await (const event of ledger.log('c')) if (event.type === 'CompactionFailed') failures.push(event.data)
    expect(JSON.stringify(failures)).toContain(`"${kind}"`)
    expect((await ledger.messages('c')).messages).toHaveLength(80)
  },
)

longTest('that answers too much is shortened, and the whole answer is recorded', async () => {
  const answer = 'The berth is booked. '.repeat(2_000)
  await talk(() => Promise.resolve(answer))
  const shortened: unknown[] = []
  for await (const event of ledger.log('c'))
    if (event.type === 'ChunkSummarized') shortened.push(event.data.summarizer.shortened?.text)
  expect(shortened.length).toBeGreaterThan(0)
  expect(shortened.every((text) => text === answer)).toBe(true)
})
