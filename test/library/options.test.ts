/** Options that there are not: each call and each setting says which one was meant, and does nothing. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openLedger, registerModelWindow, type Ledger } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { startOpenAiStub, stubAnswers } from '../support/openai-stub.js'

// Values that a caller without types may pass.
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
  [
    'append',
    'correlation_id',
    'correlationId',
    (options) => ledger.append('c', { role: 'user', content: 'x' }, options),
  ],
  ['context', 'wait_for', 'waitFor', (options) => ledger.context('c', options)],
  ['messages', 'timeOut', 'timeout', (options) => ledger.messages('c', options)],
  ['diff', 'form', 'from', (options) => ledger.diff('c', options)],
  ['compact', 'forced', 'force', (options) => ledger.compact('c', options)],
  ['editions.undo', 'cycles', 'cycle', (options) => ledger.editions.undo('c', options)],
  ['search', 'limti', 'limit', (options) => ledger.search('berth', options)],
  ['search', 'conversationID', 'conversationId', (options) => ledger.search('berth', options)],
  ['log', 'form', 'from', (options) => first(ledger.log('c', options))],
  ['list', 'scop', 'scope', (options) => ledger.list(options)],
  ['totals', 'proogram', 'program', (options) => ledger.totals(options)],
  ['admin.verify', 'onprogress', 'onProgress', (options) => ledger.admin.verify('c', options)],
  ['explain', 'batch_id', 'batchId', (options) => ledger.explain('c', options)],
  ['admin.stats', 'price', 'prices', (options) => ledger.admin.stats('c', options)],
  ['editions.whatIf', 'polices', 'policies', (options) => ledger.editions.whatIf('all', options)],
  [
    'admin.projections.rebuild',
    'batch-size',
    'batchSize',
    (options) => ledger.admin.projections.rebuild('all', options),
  ],
  ['admin.secrets.scan', 'conversation', 'conversationId', (options) => ledger.admin.secrets.scan(options)],
  ['editions.estimate', 'conversation', 'conversations', (options) => ledger.editions.estimate(options)],
  ['editions.replay', 'maxToken', 'maxTokens', (options) => ledger.editions.replay(options)],
  ['editions.adopt', 'max_cost', 'maxCost', (options) => ledger.editions.adopt('c', 'e', options)],
  ['editions.compare', 'question', 'questions', (options) => ledger.editions.compare('all', 'e', options)],
  ['openLedger', 'summariser', 'summarizer', (options) => openLedger(options)],
  ['openLedger', 'modelMaxTokens', '', (options) => openLedger(options)],
]

it.each(calls)('%s: %s', async (call, given, meant, run) => {
  const before = await ledger.admin.projections.catchUp()
  // No near name: all that there are.
  const message =
    meant === ''
      ? `${given} is no option of ${call}; there are store, database, `
      : `${given} is no option of ${call}: did you mean ${meant}?`
  await expect(run(untyped({ [given]: 1 }))).rejects.toMatchObject({
    fault: 'input',
    kind: 'BadInput',
    details: { field: given },
    message: expect.stringContaining(message),
  })
  expect(await ledger.admin.projections.catchUp()).toBe(before)
})

it.each([
  [{ policy: { keepRecnt: 3 } }, 'policy: keepRecnt is no setting of the policy: did you mean keepRecent?'],
  [{ policy: { keep_recent: 3 } }, 'policy: keep_recent is no setting of the policy: did you mean keepRecent?'],
  [
    { summarizer: { kind: 'openai', model: 'm', baseURL: 'http://x' } },
    'summarizer.baseURL is no setting of a summarizer of kind openai: did you mean baseUrl?',
  ],
  [{ summarizer: { kind: 'openai', model: 'm', prompt: { name: 'n', txt: 't' } } }, 'summarizer.prompt.'],
  [
    { summarizer: { kind: 'extractive', model: 'm' } },
    'summarizer.model is no setting of a summarizer of kind extractive; there are kind',
  ],
  [{ embedding: { modle: 'm' } }, 'embedding.modle is no setting of an embedding model: did you mean model?'],
  [{ prices: { m: { promptPerMilion: 1, completionPerMillion: 1, currency: 'USD' } } }, 'prices.m.'],
  [{ workers: 'outside' }, 'workers must be inside or elsewhere'],
  [{ store: undefined }, 'store is missing'],
  [{ store: 5 }, 'store must be a text'],
  [{ store: ':memory:' }, 'store ":memory:" is not "memory": did you mean memory?'],
  [{ store: 'Memory' }, 'did you mean memory?'],
  [{ store: 'localhost:5432' }, 'store "localhost:5432" has no scheme'],
  [{ onProblem: 'log' }, 'onProblem must be a function'],
])('openLedger %j', async (given, said) => {
  await expect(openLedger(untyped({ store: 'memory', ...given }))).rejects.toThrow(said)
})

it('a policy to try has a name and settings', async () => {
  await expect(ledger.editions.whatIf('all', untyped({ policies: [{ name: 'x', setings: {} }] }))).rejects.toThrow(
    'policies[0].setings is no field of a policy to try: did you mean settings?',
  )
  await expect(
    ledger.editions.whatIf('all', { policies: [{ name: 'x', settings: untyped({ bufer: 1 }) }] }),
  ).rejects.toThrow('policy: bufer is no setting of the policy: did you mean buffer?')
})

/** A list of two messages. The first is no message. */
function holed(): unknown[] {
  const list: unknown[] = []
  list[1] = { role: 'user', content: 'x' }
  return list
}

const values: readonly (readonly [string, string, () => Promise<unknown>])[] = [
  ['a list with a hole', 'messages[0].message', () => ledger.append('c', untyped(holed()))],
  [
    'a list that was taken away',
    'messages',
    () => {
      const revoked = Proxy.revocable([], {})
      revoked.revoke()
      return ledger.append('c', untyped(revoked.proxy))
    },
  ],
  [
    'options that were taken away',
    'options',
    () => {
      const revoked = Proxy.revocable({}, {})
      revoked.revoke()
      return ledger.append('c', { role: 'user', content: 'x' }, untyped(revoked.proxy))
    },
  ],
  ['a manifest that is none', 'against', () => ledger.admin.verify('c', { against: untyped({}) })],
  ['no manifest', 'against', () => ledger.admin.verify('c', { against: untyped(null) })],
  ['a time that is in no row', 'since', () => ledger.list({ since: new Date(8.64e15) })],
  ['a time before all', 'until', () => ledger.list({ until: new Date(-8.64e15) })],
  ...[Number.NaN, 0, -1, 1.5, '5'].map((batchSize): [string, string, () => Promise<unknown>] => [
    `a batch of ${String(batchSize)}`,
    'batchSize',
    () => ledger.admin.projections.rebuild('all', untyped({ batchSize })),
  ]),
  ...[Number.NaN, -1, 1.5, '5'].map((limit): [string, string, () => Promise<unknown>] => [
    `so many vectors as ${String(limit)}`,
    'limit',
    () => ledger.admin.projections.fillVectors(untyped({ limit })),
  ]),
  ['totals by a name that is no group', 'by', () => ledger.totals(untyped({ by: ['person'] }))],
  ['a listener of verify', 'onProgress', () => ledger.admin.verify('c', untyped({ onProgress: 5 }))],
  ['a listener of streams', 'onStream', () => ledger.admin.verify('c', untyped({ onStream: 5 }))],
  ['a listener of stats', 'onConversation', () => ledger.admin.stats('c', untyped({ onConversation: 5 }))],
  [
    'a listener of whatIf',
    'onConversation',
    () => ledger.editions.whatIf('all', untyped({ policies: [{ name: 'a', settings: {} }], onConversation: 5 })),
  ],
]

it.each(values)('%s is refused', async (_what, field, run) => {
  await expect(Promise.resolve().then(run)).rejects.toMatchObject({ fault: 'input', details: { field } })
})

it('a listener that rejects ends neither the call nor the process', async () => {
  const problems: unknown[] = []
  const failed = async (): Promise<void> => {
    throw new Error('a listener of somebody’s own')
  }
  await using own = await openLedger({ store: 'memory', ahead: false, onProblem: (problem) => problems.push(problem) })
  await own.append('c', { id: 'm', role: 'user', content: 'the berth is booked twice' })
  expect(await own.admin.verify('c', { onProgress: untyped(failed) })).toMatchObject({ ok: true })
  await own.admin.projections.rebuild(['live-messages'], { onProgress: untyped(failed) })
  expect(
    await own.editions.whatIf(['c'], { policies: [{ name: 'a', settings: {} }], onConversation: untyped(failed) }),
  ).toBeDefined()
  expect(new Set(problems.map(String))).toEqual(new Set(['Error: a listener of somebody’s own']))
})

it('the window of a model that a program made known is the one its conversations go by', async () => {
  registerModelWindow('lighthouse-3', 9_000)
  await ledger.append('known', { role: 'user', content: 'How far?' }, { policy: { model: 'lighthouse-3' } })
  const windows: number[] = []
  for await (const event of ledger.log('known'))
    if (event.type === 'ConversationConfigured') windows.push(event.data.policy.modelMaxTokens)
  expect(windows).toEqual([9_000])
})

it('the newest facts first, where that is asked for', async () => {
  await ledger.append('backwards', [
    { id: 'm1', role: 'user', content: 'one' },
    { id: 'm2', role: 'user', content: 'two' },
  ])
  const revisions: number[] = []
  for await (const { revision } of ledger.log('backwards', { direction: 'backwards', limit: 2 }))
    revisions.push(revision)
  expect(revisions).toEqual([2, 1])
  await expect(first(ledger.log('backwards', untyped({ direction: 'sideways' })))).rejects.toThrow(
    'direction must be one of forwards, backwards',
  )
})

it('the summarizer "openai" has the model, the address and the key of the environment', async () => {
  const saved = { ...process.env }
  const stub = await startOpenAiStub(stubAnswers.text('They talked about berths.'))
  delete process.env['CONTEXT_LEDGER_MODEL']
  delete process.env['OPENAI_MODEL']
  try {
    await expect(openLedger({ store: 'memory', summarizer: 'openai' })).rejects.toThrow(
      'summarizer is "openai" without a model: set CONTEXT_LEDGER_MODEL or OPENAI_MODEL',
    )
    Object.assign(process.env, { OPENAI_MODEL: 'gpt-4o-mini', OPENAI_BASE_URL: stub.baseUrl, OPENAI_API_KEY: 'k-1' })
    const opened = await openLedger({ store: 'memory', summarizer: 'openai', policy: SMALL, ahead: false })
    await opened.append('c', talk(40))
    await opened.compact('c')
    await opened.close()
    expect(stub.calls[0]).toMatchObject({ headers: { authorization: 'Bearer k-1' }, body: { model: 'gpt-4o-mini' } })
  } finally {
    for (const name of ['OPENAI_MODEL', 'OPENAI_BASE_URL', 'OPENAI_API_KEY']) delete process.env[name]
    Object.assign(process.env, saved)
    await stub.close()
  }
})
