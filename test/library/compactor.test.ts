/**
 * `createCompactor` rejects wrong options immediately, returns problems as data, and survives a listener that throws.
 */
import { afterEach, expect, it, jest } from '@jest/globals'
import {
  createCompactor,
  type CompactorOptions,
  type Ledger,
  type MessageInput,
  type Summarizer,
} from '../../src/index.js'
import { problemReporter } from '../../src/library/report-problem.js'
import { guarded } from '../../src/application/summarizers/guarded.js'
import { talk, SMALL } from '../support/conversations.js'
import { createScriptedSummarizer } from '../support/harness.js'
import { jsonAs, passedOff } from '../support/json.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { longTest } from '../support/length.js'

const TIMEOUT_MS = 60_000

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function ledger(summarizer: Summarizer, onProblem?: (problem: unknown) => void): Promise<Ledger> {
  const db = await openTestDatabase()
  closing.push(() => db.close())
  const opened = await ledgerOn(db, {
    policy: { ...SMALL, fallback: 'none' },
    summarizer,
    ...(onProblem === undefined ? {} : { onProblem }),
  })
  closing.push(() => opened.close())
  return opened
}

const WRONG: readonly (readonly [string, object, RegExp])[] = [
  ['policy', { policy: { keepRecent: -1 } }, /policy: keepRecent/u],
  ['estimator', { estimator: 'nobody' }, /estimator/u],
  ['summarizer', { summarizer: { kind: 'nobody' } }, /summarizer/u],
  ['time limit', { summarizerTimeoutMs: 0.5 }, /summarizerTimeoutMs/u],
  ['listener', { onProblem: 'loudly' }, /onProblem/u],
  ['store', { store: '' }, /store/u],
  ['ledger', { ledger: {} }, /ledger/u],
  ['option beside a ledger, which has its own', { ledger: { compress: () => undefined }, policy: SMALL }, /policy/u],
]

it.each(WRONG)('a wrong %s is an exception when the compactor is made', (_name, options, sentence) => {
  expect(() =>
    createCompactor(passedOff<CompactorOptions>({ ...('ledger' in options ? {} : { store: 'memory' }), ...options })),
  ).toThrow(sentence)
})

it(
  'what goes wrong is in the result, with its kind and a sentence',
  async () => {
    const problems: unknown[] = []
    const made = createCompactor({
      ledger: await ledger(
        guarded({ ...createScriptedSummarizer(), summarize: () => Promise.reject(new Error('down')) }),
        (problem) => problems.push(problem),
      ),
    })
    const history = talk(22)
    expect(await made.compress(history, 'a')).toMatchObject({
      history,
      batchesCreated: 0,
      error: { kind: 'SummarizerFailed', failure: 'threw', message: expect.stringContaining('down') },
    })
    expect(
      (await made.compress(passedOff<MessageInput[]>([{ role: 'nobody', content: 'x' }]), 'a')).error,
    ).toMatchObject({ kind: 'BadMessage', field: 'history[0].role' })
    expect(problems.length).toBeGreaterThan(0)
  },
  TIMEOUT_MS,
)

it(
  'a summarizer that never answers fails at its time limit, whatever its signal says, and close comes back',
  async () => {
    const silent: Summarizer = { ...createScriptedSummarizer(), summarize: () => new Promise(() => undefined) }
    const opened = await ledger(guarded(silent, 30), () => undefined)
    const history = talk(22)
    expect(await createCompactor({ ledger: opened }).compress(history, 'a')).toMatchObject({
      history,
      error: { kind: 'SummarizerFailed', failure: 'timeout' },
    })
    await opened.close()
    expect((await createCompactor({ ledger: opened }).compress(history, 'a')).error).toMatchObject({
      kind: 'LedgerClosed',
    })
  },
  TIMEOUT_MS,
)

it(
  'a store that could not be opened is tried again, and a closed compactor says so',
  async () => {
    const made = createCompactor({ store: '/dev/null/nothing', onProblem: () => undefined })
    const [first, second] = [await made.compress(talk(1), 'a'), await made.compress(talk(1), 'a')]
    expect(first.error?.kind).toBe('FolderUnusable')
    expect(second.error?.kind).toBe('FolderUnusable')
    await made.close()
    expect((await made.compress(talk(1), 'a')).error?.kind).toBe('LedgerClosed')
  },
  TIMEOUT_MS,
)

longTest(
  'what was compacted is told whoever did it: the worker behind an append may come before compact and the tool',
  async () => {
    const opened = await ledger(createScriptedSummarizer())
    for (const conversationId of ['a', 'b']) {
      await opened.append(conversationId, talk(40))
      const tool = opened.conversation(conversationId).tools.list.find(({ name }) => name === 'compact_context')
      const expected =
        conversationId === 'a'
          ? await opened.compact(conversationId)
          : jsonAs<{ messagesCompressed: number; batchesCreated: number }>((await tool?.execute()) ?? '{}')
      const pruned = []
      for await (const event of opened.log(conversationId))
        if (event.type === 'MessagesPruned') pruned.push(...event.data.pruned)
      expect(expected).toMatchObject({
        batchesCreated: pruned.length,
        messagesCompressed: pruned.flatMap(({ messageIds }) => messageIds).length,
      })
      expect(expected.messagesCompressed).toBeGreaterThan(0)
    }
  },
  TIMEOUT_MS,
)

it('a listener that throws or rejects breaks nothing, and where nobody listens the process is warned once', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  try {
    for (const listener of [
      () => {
        throw new Error('deaf')
      },
      passedOff<() => void>(() => Promise.reject(new Error('deaf'))),
      undefined,
      undefined,
    ]) {
      problemReporter(listener)({ kind: 'LedgerClosed' })
      // An error that a listener throws is reported after the original problem.
      await new Promise(setImmediate)
    }
    expect(warn.mock.calls).toEqual([[expect.stringContaining('deaf'), { code: 'CONTEXT_LEDGER_PROBLEM' }]])
  } finally {
    warn.mockRestore()
  }
})

it(
  'anything else in the place of a list is a named failure',
  async () => {
    const opened = await ledger(createScriptedSummarizer(), () => undefined)
    for (const value of [
      undefined,
      null,
      'hello',
      { length: 1 },
      Object.assign([], { 1: { role: 'user', content: 'x' } }),
    ])
      expect(await opened.compress(passedOff<MessageInput[]>(value), 'c')).toMatchObject({
        history: Array.isArray(value) ? value : [],
        error: { kind: 'BadMessage' },
      })
  },
  TIMEOUT_MS,
)

longTest(
  'a list that its host changes meanwhile is taken as it was given',
  async () => {
    const opened = await ledger(createScriptedSummarizer())
    const first = await opened.compress(talk(60), 'c')
    const list: MessageInput[] = [...first.history, { role: 'user', content: 'the last one' }]
    const texts = list.map(({ content }) => content)
    const running = opened.compress(list, 'c')
    list.splice(1, 2)
    list.push({ role: 'user', content: 'one that came meanwhile' })
    const { history, error } = await running
    expect(error).toBeUndefined()
    expect(history === list ? texts : history.map(({ content }) => content)).toEqual(texts)
    expect((await opened.context('c')).messages.map(({ content }) => content)).toEqual(texts)
  },
  TIMEOUT_MS,
)
