/**
 * Passes unusual values to every public entry of the library. Each value is rejected with a message that names its
 * field, or accepted. Afterwards a process that opens the ledger can list, read, search, rebuild and verify everything,
 * and another conversation works throughout. Values are tested in groups of 60, each group in a new ledger.
 * CONTEXT_LEDGER_TEST_ODD sets the total number of values (default 120).
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { policySettings } from '../../src/domain/values/policy-settings.js'
import { faultOf } from '../../src/library/problem.js'
import { openLedger, registerEstimator, type Ledger, type Summarizer, type Summary } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { guarded } from '../../src/application/summarizers/guarded.js'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import { answering, calling, SMALL, talk } from '../support/conversations.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { isLong } from '../support/length.js'

const REQUESTED = Number(process.env['CONTEXT_LEDGER_TEST_ODD'] ?? (isLong ? 120 : 30))
const GROUP = 60

let db: Database
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(async () => {
  await db.close()
})

// --- Values ---

const cycle: unknown[] = []
cycle.push(cycle)
const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
const throwing = {
  get role(): string {
    throw new Error('not now')
  },
  get type(): string {
    throw new Error('not now')
  },
}
const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error('hands off')
    },
    ownKeys: () => {
      throw new Error('hands off')
    },
  },
)

/** Each value with a name, because some of them cannot be printed. */
const values: readonly (readonly [string, unknown])[] = [
  ['nothing', undefined],
  ['null', null],
  ['true', true],
  ['false', false],
  ['0', 0],
  ['-0', -0],
  ['-1', -1],
  ['1', 1],
  ['1.5', 1.5],
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['2^31', 2 ** 31],
  ['2^31-1', 2 ** 31 - 1],
  ['2^53', 2 ** 53],
  ['2^53-1', 2 ** 53 - 1],
  ['1e300', 1e300],
  ['1e-300', 1e-300],
  ['-1n', -1],
  ['5n', 5],
  ['2^70n', 2 ** 70],
  ['empty', ''],
  ['blank', '  '],
  ['a word', 'harbour'],
  ['NUL', 'a\0b'],
  ['lone high', 'a\ud800'],
  ['lone low', '\udc00b'],
  ['a pair', '🛶'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['4,000 letters', 'x'.repeat(4_000)],
  ['4,000 random', Array.from({ length: 400 }, (_, at) => ((at * 2_654_435_761) % 2 ** 31).toString(36)).join('')],
  ['200,000 letters', 'the harbour '.repeat(17_000)],
  ['lines', 'a\r\nb\u2028c\u0085d'],
  ['control', '\u001b[31mred\u0007'],
  ['right to left', '\u202eabc'],
  ['a time', '2026-03-01T12:30:00Z'],
  ['the year 0', '0000-01-01T00:00:00.000Z'],
  ['29 February', '2025-02-29T00:00:00Z'],
  ['a zoneless time', '2026-03-01T12:30:00'],
  ['a number as a text', '12'],
  ['a long number as a text', '9'.repeat(40)],
  ['a dash', '-'],
  ['a path', '../../etc/passwd'],
  ['SQL', `'; drop table events; --`],
  ['a list', []],
  ['a list of nothing', [undefined]],
  ['a sparse list', Array.from({ length: 3 }).concat([1])],
  ['a list of texts', ['a', 'b']],
  ['an object', {}],
  ['an object with __proto__', JSON.parse('{"__proto__":{"role":"user"},"a":1}')],
  ['an object without a prototype', Object.create(null)],
  ['a cycle', cycle],
  ['3,000 deep', deep(3_000)],
  ['a date', new Date(0)],
  ['no date', new Date(Number.NaN)],
  ['a far date', new Date(8.64e15)],
  ['a map', new Map([['a', 1]])],
  ['a symbol', Symbol('odd')],
  ['a function', () => 'odd'],
  ['a JSON of its own', { toJSON: () => 7 }],
  [
    'a JSON that throws',
    {
      toJSON: () => {
        throw new Error('no JSON')
      },
    },
  ],
  ['a getter that throws', throwing],
  ['a proxy that throws', hostile],
  ['bytes', new Uint8Array(3)],
  ['a promise', Promise.resolve(1)],
  ['a text part', { type: 'text', text: 'harbour' }],
  ['parts', [{ type: 'text', text: 'harbour' }]],
  ['a part of another API', [{ type: 'tool_result', content: 'x' }]],
  ['a part with NUL', [{ type: 'text', text: 'a\0b\ud800' }]],
  ['a part that changes its type', [{ type: 'text', text: 'x', toJSON: () => 5 }]],
  ['a message', { role: 'user', content: 'harbour' }],
  ['a call', [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }]],
  ['a call with odd names', [{ id: 'c\0', type: 'function', function: { name: 'f\ud800', arguments: '\0' } }]],
]

// --- Entries ---

/** Passes a value to one parameter, in a ledger that has the conversations `odd` and `good`. */
type Entry = (ledger: Ledger, value: never) => unknown
const user = { role: 'user', content: 'harbour' } as const
const drained = async (items: AsyncIterable<unknown>): Promise<void> => {
  for await (const _item of items);
}
const inMessage =
  (field: string): Entry =>
  (ledger, value) =>
    ledger.append('odd', { ...user, [field]: value })
const inAppend =
  (field: string): Entry =>
  (ledger, value) =>
    ledger.append('odd-2', user, { [field]: value })

const entries: Readonly<Record<string, Entry>> = {
  'append.conversationId': (ledger, value) => ledger.append(value, user),
  'append.messages': (ledger, value) => ledger.append('odd', value),
  'append.messages[1]': (ledger, value) => ledger.append('odd', [user, value]),
  'append.options': (ledger, value) => ledger.append('odd', user, value),
  ...Object.fromEntries(
    [
      'id',
      'role',
      'content',
      'name',
      'tool_calls',
      'tool_call_id',
      'created_at',
      'pinned',
      'attributes',
      'answers',
      'kind',
      'is_error',
      'refusal',
      '__proto__',
    ].map((field) => [`append.messages.${field}`, inMessage(field)]),
  ),
  'append.messages.content[0].text': (ledger, value) =>
    ledger.append('odd', { ...user, content: [{ type: 'text', text: value }] }),
  'append.messages.content[0].type': (ledger, value) => ledger.append('odd', { ...user, content: [{ type: value }] }),
  'append.messages.content[0].more': (ledger, value) =>
    ledger.append('odd', { ...user, content: [{ type: 'image_url', image_url: value }] }),
  'append.messages.attributes.a': (ledger, value) =>
    ledger.append('odd', { ...user, attributes: { a: value, __proto__: value } }),
  'append.messages.tool_calls[0].id': (ledger, value) =>
    ledger.append('odd', {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: value, type: 'function', function: { name: 'f', arguments: '{}' } }],
    }),
  'append.messages.tool_calls[0].function': (ledger, value) =>
    ledger.append('odd', {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call', type: 'function', function: value }],
    }),
  'append.messages.tool_calls[0].function.name': (ledger, value) =>
    ledger.append('odd', {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call', type: 'function', function: { name: value, arguments: '{}' } }],
    }),
  'append.messages.tool_calls[0].function.arguments': (ledger, value) =>
    ledger.append('odd', {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call', type: 'function', function: { name: 'f', arguments: value } }],
    }),
  ...Object.fromEntries(
    ['actor', 'correlationId', 'scope', 'policy'].map((field) => [`append.options.${field}`, inAppend(field)]),
  ),
  ...Object.fromEntries(
    Object.keys(policySettings).map((field): [string, Entry] => [
      `append.options.policy.${field}`,
      (ledger, value) => ledger.append('odd-3', talk(3), { policy: { [field]: value } }),
    ]),
  ),
  'context.conversationId': (ledger, value) => ledger.context(value),
  'context.at': (ledger, value) => ledger.context('odd', { at: value }),
  'context.view': (ledger, value) => ledger.context('odd', { view: value }),
  'context.waitFor': (ledger, value) => ledger.context('good', { waitFor: value, timeout: 1 }),
  'messages.at': (ledger, value) => ledger.messages('good', { at: value }),
  'diff.from': (ledger, value) => ledger.diff('good', { from: value }),
  'diff.to': (ledger, value) => ledger.diff('good', { from: 0, to: value }),
  'diff.cycle': (ledger, value) => ledger.diff('good', { cycle: value }),
  'compact.conversationId': (ledger, value) => ledger.compact(value),
  'compact.force': (ledger, value) => ledger.compact('odd', { force: value }),
  'undo.cycle': (ledger, value) => ledger.editions.undo('odd', { cycle: value }),
  'settled.conversationId': (ledger, value) => ledger.admin.waitForCompaction(value),
  'search.query': (ledger, value) => ledger.search(value),
  'search.conversationId': (ledger, value) => ledger.search('harbour', { conversationId: value }),
  'search.scope': (ledger, value) => ledger.search('harbour', { scope: value }),
  'search.limit': (ledger, value) => ledger.search('harbour', { limit: value }),
  'search.include': (ledger, value) => ledger.search('harbour', { include: value }),
  'search.waitFor': (ledger, value) => ledger.search('harbour', { waitFor: value, timeout: 1 }),
  'search.timeout': (ledger, value) => ledger.search('harbour', { waitFor: 0, timeout: value }),
  'log.conversationId': (ledger, value) => drained(ledger.log(value)),
  'log.from': (ledger, value) => drained(ledger.log('good', { from: value })),
  'log.limit': (ledger, value) => drained(ledger.log('good', { limit: value })),
  'list.scope': (ledger, value) => ledger.list({ scope: value }),
  'list.options': (ledger, value) => ledger.list(value),
  'totals.by': (ledger, value) => ledger.totals({ by: value }),
  'totals.since': (ledger, value) => ledger.totals({ since: value }),
  'totals.unscoped': (ledger, value) => ledger.totals({ unscoped: value }),
  ...Object.fromEntries(
    ['match', 'since', 'until', 'sort', 'limit'].map((field): [string, Entry] => [
      `list.${field}`,
      (ledger, value) => ledger.list({ [field]: value }),
    ]),
  ),
  'verify.conversationId': (ledger, value) => ledger.admin.verify(value),
  'explain.batchId': (ledger, value) => ledger.explain('good', { batchId: value }),
  'explain.line': (ledger, value) => ledger.explain('good', { line: value }),
  'stats.conversationId': (ledger, value) => ledger.admin.stats(value),
  'stats.prices': (ledger, value) => ledger.admin.stats('good', { prices: value }),
  'conversation.conversationId': async (ledger, value) => ledger.conversation(value),
  'user.content': (ledger, value) => ledger.conversation('odd').user(value),
  'record.completion': (ledger, value) => ledger.conversation('odd').record(value),
  'runTools.completion': (ledger, value) => ledger.conversation('odd').runTools(value),
  'chat.context.options': (ledger, value) => ledger.conversation('good').context(value),
  'pin.messageId': (ledger, value) => ledger.conversation('odd').pin(value),
  'unpin.messageId': (ledger, value) => ledger.conversation('odd').unpin(value),
  'projections.rebuild.names': (ledger, value) => ledger.admin.projections.rebuild(value),
  'whatIf.conversationIds': (ledger, value) =>
    ledger.editions.whatIf(value, { policies: [{ name: 'a', settings: {} }] }),
  'whatIf.policies': (ledger, value) => ledger.editions.whatIf(['good'], { policies: value }),
  'editions.replay.conversations': (ledger, value) => ledger.editions.replay({ conversations: value }),
  'editions.replay.policy': (ledger, value) => ledger.editions.replay({ conversations: ['good'], policy: value }),
  'editions.replay.price': (ledger, value) => ledger.editions.replay({ conversations: ['good'], price: value }),
  'editions.replay.concurrency': (ledger, value) =>
    ledger.editions.replay({ conversations: ['good'], concurrency: value }),
  'editions.replay.maxTokens': (ledger, value) => ledger.editions.replay({ conversations: ['good'], maxTokens: value }),
  'editions.show': (ledger, value) => ledger.editions.show(value),
  'editions.adopt': (ledger, value) => ledger.editions.adopt('odd', value),
  'editions.revert': (ledger, value) => ledger.editions.revert('odd', value),
  'editions.drop': (ledger, value) => ledger.editions.drop('odd', value),
  'prompts.show': (ledger, value) => ledger.admin.prompts.show(value),
}

/** `compress` never throws; it reports failures in another way. */
const compressed: Entry = (ledger, value) => ledger.compress(value, 'odd-4')

const usual = createExtractiveSummarizer()
const custom = (changed: object): Summarizer => ({
  ...usual,
  strategy: 'mine',
  provider: 'me',
  model: 'mine-1',
  ...changed,
})
const customAnswering = (answer: (text: string) => unknown): Summarizer =>
  custom({
    summarize: (prepared: Parameters<Summarizer['summarize']>[0]) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a summarizer in JavaScript can answer anything
      Promise.resolve(answer('They spoke of the harbour.'.slice(0, prepared.job.maxSummaryTokens * 4)) as Summary),
  })

/** Custom summarizers with a value in one field. */
const summarizers: Readonly<Record<string, (value: unknown) => Summarizer>> = {
  'summarizer.answer': (value) => customAnswering(() => value),
  'summarizer.text': (value) => customAnswering(() => ({ text: value, durationMs: 1 })),
  'summarizer.durationMs': (value) => customAnswering((text) => ({ text, durationMs: value })),
  'summarizer.responseId': (value) => customAnswering((text) => ({ text, durationMs: 1, responseId: value })),
  'summarizer.usage': (value) => customAnswering((text) => ({ text, durationMs: 1, usage: value })),
  'summarizer.usage.promptTokens': (value) =>
    customAnswering((text) => ({ text, durationMs: 1, usage: { promptTokens: value, completionTokens: 1 } })),
  'summarizer.sections': (value) => customAnswering((text) => ({ text, durationMs: 1, sections: value })),
  'summarizer.sections.decisions': (value) =>
    customAnswering((text) => ({
      text,
      durationMs: 1,
      sections: { completedWork: [], decisions: [value], currentState: [], pendingWork: [], errors: [] },
    })),
  'summarizer.throws': (value) =>
    custom({
      summarize: () => {
        throw value
      },
    }),
  'summarizer.prepare': (value) => custom({ prepare: () => value }),
  ...Object.fromEntries(
    [
      'strategy',
      'provider',
      'model',
      'parameters',
      'prompt',
      'persona',
      'formatterVersion',
      'requestHash',
      'request',
    ].map((field) => [
      `summarizer.prepare.${field}`,
      (value: unknown) =>
        custom({ prepare: (job: Parameters<Summarizer['prepare']>[0]) => ({ ...usual.prepare(job), [field]: value }) }),
    ]),
  ),
}

// Without `store` and `database`: a text for them is a directory, which would be created.
const OPEN_OPTIONS = [
  'policy',
  'estimator',
  'persona',
  'embedding',
  'workers',
  'prices',
  'ahead',
  'actor',
  'clock',
  'onProblem',
  'summarizer',
] as const
let estimators = 0

/** Internal errors: values that an entry neither accepted nor rejected properly. */
const internalErrors: string[] = []

async function tried(entry: string, name: string, call: () => unknown): Promise<void> {
  try {
    await call()
  } catch (error) {
    const { fault, message } = faultOf(error)
    if (fault === 'bug') internalErrors.push(`${entry} with ${name}: ${message.slice(0, 200)}`)
  }
}

async function tryOne(ledger: Ledger, entry: string, name: string, value: unknown): Promise<void> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a caller in JavaScript can pass anything
  const input = value as never
  const call = entries[entry]
  if (call !== undefined) await tried(entry, name, () => call(ledger, input))
  else if (entry === 'compress') await compressed(ledger, input)
  else if (entry.startsWith('openLedger.')) {
    // A log in KurrentDB also needs a database, so a value that is not rejected fails there, and nothing is opened.
    await tried(entry, name, () =>
      openLedger({ store: 'esdb://127.0.0.1:1', [entry.slice('openLedger.'.length)]: input }),
    )
  } else if (entry === 'registerEstimator.name') {
    try {
      registerEstimator({ name: input, text: () => 1 })
    } catch (error) {
      if (!(error instanceof Error && /estimator/u.test(error.message))) throw error
    }
  } else if (entry === 'estimator') {
    estimators += 1
    registerEstimator({ name: `odd-${String(estimators)}`, text: () => input })
    const withEstimator = await ledgerOn(db, { policy: SMALL, estimator: `odd-${String(estimators)}` })
    await tried(entry, name, () => withEstimator.append('odd-5', user))
    await withEstimator.close()
  } else {
    const summarizer = summarizers[entry]
    if (summarizer === undefined) throw new Error(entry)
    const withSummarizer = await ledgerOn(db, {
      policy: SMALL,
      summarizer: guarded(summarizer(value)),
      onProblem: () => undefined,
    })
    estimators += 1
    await withSummarizer.append(`odd-${String(estimators)}-summarized`, talk(25))
    await withSummarizer.admin.waitForCompaction()
    await withSummarizer.close()
  }
}

const parameters = [
  ...Object.keys(entries),
  'compress',
  'estimator',
  'registerEstimator.name',
  ...Object.keys(summarizers),
  ...OPEN_OPTIONS.map((option) => `openLedger.${option}`),
]

/**
 * Pairs of a parameter and a value, the same in every run: first a random selection of the values above, and if `count`
 * is larger than all of them, generated values.
 */
function pairs(count: number): (readonly [entry: string, name: string, value: unknown])[] {
  const named = parameters.flatMap((entry) => values.map(([name, value]) => [entry, name, value] as const))
  const seed = 20_261_122
  const mixed =
    fc.sample(
      fc.shuffledSubarray(named, {
        minLength: Math.min(count, named.length),
        maxLength: Math.min(count, named.length),
      }),
      { numRuns: 1, seed },
    )[0] ?? []
  const made = fc.oneof(
    fc.anything({
      withBigInt: true,
      withDate: true,
      withNullPrototype: true,
      withSparseArray: true,
      withObjectString: true,
    }),
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.bigInt(),
  )
  const more = fc
    .sample(fc.tuple(fc.constantFrom(...parameters), made), { numRuns: Math.max(1, count - mixed.length), seed })
    .slice(0, Math.max(0, count - mixed.length))
  return [...mixed, ...more.map(([entry, value]) => [entry, fc.stringify(value), value] as const)]
}

// Every parameter is tested with a proxy that throws at each access, which is the value that checks most often forget.
const all = [
  ...[...Object.keys(entries), ...OPEN_OPTIONS.map((option) => `openLedger.${option}`)].map(
    (entry) => [entry, 'a proxy that throws', hostile] as const,
  ),
  ...pairs(REQUESTED),
]
const batches = Array.from({ length: Math.ceil(all.length / GROUP) }, (_, at) =>
  all.slice(at * GROUP, (at + 1) * GROUP),
)

/** Tests a group of values; returns the faults that a process finds which opens the ledger afterwards. */
async function faultsAfter(group: typeof all): Promise<string[]> {
  const wrong: string[] = []
  const ledger = await ledgerOn(db, { policy: SMALL, onProblem: () => undefined })
  try {
    await ledger.append('good', { role: 'user', content: 'The harbour is closed.' })
    await ledger.append('odd', [...talk(12), calling('calls', ['call-1']), answering('answers', 'call-1')])
    for (const [at, [entry, name, value]] of group.entries()) {
      await tryOne(ledger, entry, name, value)
      if (at % 10 !== 0) continue
      await ledger.append('good', { role: 'user', content: `Still here, ${String(at)}.` })
      if ((await ledger.context('good')).messages.at(-1)?.content !== `Still here, ${String(at)}.`)
        wrong.push('the other conversation does not work')
    }
    await ledger.admin.waitForCompaction()
  } finally {
    await ledger.close()
  }
  const later = await ledgerOn(db, {
    policy: SMALL,
    onProblem: (problem) => {
      wrong.push(String(problem))
    },
  })
  try {
    const { conversations: listed } = await later.list()
    wrong.push(...listed.flatMap(({ stopped }) => stopped ?? []))
    for (const { conversationId } of listed) {
      await later.search('harbour', { conversationId })
      await drained(later.log(conversationId))
    }
    if ((await later.search('harbour closed', { conversationId: 'good' })).hits[0]?.text !== 'The harbour is closed.')
      wrong.push('the other conversation is not found')
    await later.admin.projections.rebuild('all')
    wrong.push(
      ...(await later.admin.projections.status()).flatMap(({ stopped }) => stopped.map(({ reason }) => reason)),
    )
    wrong.push(
      ...(await later.admin.verify()).problems.map(
        ({ stream, rule, detail }) => `${rule} ${stream}: ${detail.slice(0, 200)}`,
      ),
    )
  } catch (error) {
    wrong.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  } finally {
    await later.close()
  }
  return wrong.length === 0 ? [] : [...wrong, ...group.map(([entry, name]) => `  after ${entry}: ${name.slice(0, 60)}`)]
}

it(`after ${String(all.length)} unusual values every conversation can be read, listed, searched, rebuilt and verified`, async () => {
  const wrong: string[] = []
  for (const group of batches) {
    await db.script('drop schema context_ledger cascade; create schema context_ledger')
    wrong.push(...(await faultsAfter(group)), ...internalErrors.splice(0))
  }
  expect(wrong).toEqual([])
}, 3_600_000)
