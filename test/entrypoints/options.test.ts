/** Options that there are not: each call and each setting says which one was meant, and does nothing. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'

// What a caller without types may give.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const untyped = (given: unknown): never => given as never

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', ahead: false })
  await ledger.append('c', { id: 'm', role: 'user', content: 'the berth is booked twice' })
})
afterAll(() => ledger.close())

const first = async (items: AsyncIterable<unknown>): Promise<unknown> => await items[Symbol.asyncIterator]().next()

const calls: readonly (readonly [string, string, string, (options: never) => Promise<unknown>])[] = [
  ['append', 'polcy', 'policy', (options) => ledger.append('c', { role: 'user', content: 'x' }, options)],
  ['append', 'correlation_id', 'correlationId', (options) => ledger.append('c', { role: 'user', content: 'x' }, options)],
  ['context', 'wait_for', 'waitFor', (options) => ledger.context('c', options)],
  ['messages', 'timeOut', 'timeout', (options) => ledger.messages('c', options)],
  ['diff', 'form', 'from', (options) => ledger.diff('c', options)],
  ['compact', 'forced', 'force', (options) => ledger.compact('c', options)],
  ['undo', 'cycles', 'cycle', (options) => ledger.undo('c', options)],
  ['search', 'limti', 'limit', (options) => ledger.search('berth', options)],
  ['search', 'conversationID', 'conversationId', (options) => ledger.search('berth', options)],
  ['log', 'form', 'from', (options) => first(ledger.log('c', options))],
  ['list', 'scop', 'scope', (options) => ledger.list(options)],
  ['verify', 'onprogress', 'onProgress', (options) => ledger.verify('c', options)],
  ['explain', 'batch_id', 'batchId', (options) => ledger.explain('c', options)],
  ['stats', 'price', 'prices', (options) => ledger.stats('c', options)],
  ['whatIf', 'polices', 'policies', (options) => ledger.whatIf('all', options)],
  ['projections.rebuild', 'batch-size', 'batchSize', (options) => ledger.projections.rebuild('all', options)],
  ['editions.estimate', 'conversation', 'conversations', (options) => ledger.editions.estimate(options)],
  ['editions.replay', 'maxToken', 'maxTokens', (options) => ledger.editions.replay(options)],
  ['editions.adopt', 'max_cost', 'maxCost', (options) => ledger.editions.adopt('c', 'e', options)],
  ['editions.compare', 'question', 'questions', (options) => ledger.editions.compare('all', 'e', options)],
  ['openLedger', 'summariser', 'summarizer', (options) => openLedger(options)],
  ['openLedger', 'modelMaxTokens', '', (options) => openLedger(options)],
]

it.each(calls)('%s: %s', async (call, given, meant, run) => {
  const before = await ledger.projections.catchUp()
  // No near name: all that there are.
  const said = meant === '' ? `${given} is no option of ${call}; there are store, database, ` : `${given} is no option of ${call}: did you mean ${meant}?`
  await expect(run(untyped({ [given]: 1 }))).rejects.toMatchObject({ fault: 'input', failure: { kind: 'BadInput', field: given }, message: expect.stringContaining(said) })
  expect(await ledger.projections.catchUp()).toBe(before)
})

it.each([
  [{ policy: { keepRecnt: 3 } }, 'policy: keepRecnt is no setting of the policy: did you mean keepRecent?'],
  [{ policy: { keep_recent: 3 } }, 'policy: keep_recent is no setting of the policy: did you mean keepRecent?'],
  [{ summarizer: { kind: 'openai', model: 'm', baseURL: 'http://x' } }, 'summarizer.baseURL is no setting of a summarizer of kind openai: did you mean baseUrl?'],
  [{ summarizer: { kind: 'openai', model: 'm', prompt: { name: 'n', txt: 't' } } }, 'summarizer.prompt.'],
  [{ summarizer: { kind: 'extractive', model: 'm' } }, 'summarizer.model is no setting of a summarizer of kind extractive; there are kind'],
  [{ embedding: { modle: 'm' } }, 'embedding.modle is no setting of an embedding model: did you mean model?'],
  [{ prices: { m: { promptPerMilion: 1, completionPerMillion: 1, currency: 'USD' } } }, 'prices.m.'],
  [{ workers: 'outside' }, 'workers must be inside or elsewhere'],
  [{ store: undefined }, 'store is missing'],
  [{ store: 5 }, 'store must be a text'],
  [{ onProblem: 'log' }, 'onProblem must be a function'],
])('openLedger %j', async (given, said) => {
  await expect(openLedger(untyped({ store: 'memory', ...given }))).rejects.toThrow(said)
})

it('a policy to try has a name and settings', async () => {
  await expect(ledger.whatIf('all', untyped({ policies: [{ name: 'x', setings: {} }] }))).rejects.toThrow('policies[0].setings is no field of a policy to try: did you mean settings?')
  await expect(ledger.whatIf('all', { policies: [{ name: 'x', settings: untyped({ bufer: 1 }) }] })).rejects.toThrow('policy: bufer is no setting of the policy: did you mean buffer?')
})
