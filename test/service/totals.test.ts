/** Totals of usage: a key sums only what it reaches; branches, erasures and prices. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInput, UsageTotals } from '../../src/index.js'
import { startTestService, type TestService } from '../support/service.js'

const folder = mkdtempSync(join(tmpdir(), 'totals-'))
let at: TestService

beforeAll(async () => {
  const prices = { dear: { promptPerMillion: 10, cacheReadPerMillion: 1, completionPerMillion: 100, currency: 'EUR' } }
  at = await startTestService({ keys: true, ledger: { erasable: true, prices } })
})

afterAll(async () => {
  await at.close()
  rmSync(folder, { recursive: true, force: true })
})

const answer = (id: string, model: string): MessageInput => ({
  id,
  role: 'assistant',
  content: 'So it is.',
  attributes: { model, usage: { inputTokens: 1_000_000, outputTokens: 10_000, cacheReadTokens: 900_000 } },
})

const totals = async (query = '', key?: string): Promise<UsageTotals> => {
  const { status, body } = await at.ask(`/v1/totals${query}`, key === undefined ? {} : { key })
  expect(status).toBe(200)
  return body
}

it('a key sums the conversations that it reaches', async () => {
  await at.ledger.append('free', [{ id: 'f1', role: 'user', content: 'Is it so?' }, answer('f2', 'dear')])
  await at.ledger.append('a/1', answer('a1', 'dear'))
  await at.ledger.append('a/2', answer('a2', 'unlisted'), { scope: 'one' })
  await at.ledger.append('b/1', answer('b1', 'unlisted'), { scope: 'one' })
  const ofAll = await totals('', await at.key(['read']))
  expect(ofAll).toMatchObject({ groupCount: 1, groups: [{ conversations: 4 }] })
  expect(ofAll.total).toMatchObject({
    conversations: 4,
    messages: 5,
    // 100,000 tokens at 10, 900,000 from the cache at 1, 10,000 at 100, each twice.
    cost: [{ currency: 'EUR', amount: 2 * (1 + 0.9 + 1) }],
    unpriced: ['unlisted'],
    unreported: 0,
  })
  const scoped = await at.key(['read'], { scope: 'one' })
  const prefixed = await at.key(['read'], { prefix: 'a/' })
  expect((await totals('', scoped)).total).toMatchObject({ conversations: 2, cost: [], unpriced: ['unlisted'] })
  expect((await totals('', prefixed)).total).toMatchObject({ conversations: 1, unpriced: [] })
  for (const [query, key] of [
    ['?scope=two', scoped],
    ['?scope=one', prefixed],
    ['?prefix=b/', prefixed],
    ['?prefix=free', prefixed],
  ] as const)
    expect(await totals(query, key)).toMatchObject({ groups: [], total: { conversations: 0, messages: 0, models: [] } })
})

it('a branch does not count the answers of its parent again, and an erased answer has no usage', async () => {
  const key = await at.key(['read'])
  const example = readFileSync(join('examples', 'claude-code-session.jsonl'), 'utf8')
  const [first = ''] = example.split('\n')
  const sessionId = /"sessionId": "([^"]+)"/u.exec(first)?.[1] ?? ''
  const branch = 'aaaaaaaa-7d1e-4b0a-9a86-5d0f2c7e9b11'
  for (const [name, text] of [
    [sessionId, example],
    [
      branch,
      example.replaceAll(
        `"sessionId": "${sessionId}"`,
        `"sessionId": "${branch}", "forkedFrom": {"sessionId": "${sessionId}"}`,
      ),
    ],
  ] as const) {
    const file = join(folder, `${name}.jsonl`)
    writeFileSync(file, text)
    await at.ledger.transcripts.import(file, { from: 'claude-code' })
  }
  const whole = await totals('?program=claude-code&by=project', key)
  const parent = await totals(`?prefix=claude-code/${sessionId}`, key)
  expect(parent.total.models.length).toBeGreaterThan(0)
  expect(parent.total.cost).not.toEqual([])
  expect(whole.total).toMatchObject({ conversations: 2, models: parent.total.models, cost: parent.total.cost })
  expect(whole.groups).toEqual([{ project: '/srv/harbour', ...whole.total }])

  await at.ledger.admin.erasure.run({ conversationId: 'free' }, { reason: 'r' })
  expect((await totals('?prefix=free', key)).total).toMatchObject({ messages: 2, cost: [], unreported: 1 })
  expect((await at.ledger.admin.verify()).problems).toEqual([])
})
