/** A ledger that was closed says so, whatever it is asked for. */
import { expect, it } from '@jest/globals'
import { openLedger, type ProjectionStatus, type RebuildOptions } from '../../src/index.js'
import { say } from '../support/conversations.js'
import { longTest } from '../support/length.js'

/** Every function of an object and of the objects in it, by its path. */
function functionsOf(value: object, path = ''): Map<string, (...args: readonly unknown[]) => unknown> {
  const found = new Map<string, (...args: readonly unknown[]) => unknown>()
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (typeof member === 'function')
      found.set(`${path}${key}`, (...args) => Reflect.apply(member, value, args) as unknown)
    else if (typeof member === 'object' && member !== null)
      for (const [name, inner] of functionsOf(member, `${path}${key}.`)) found.set(name, inner)
  }
  return found
}

/** What each is asked with: nothing is wrong with it but that the ledger is closed. */
const ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  append: ['a', say(1)],
  amend: ['a', { withdraw: [] }],
  context: ['a'],
  messages: ['a'],
  diff: ['a', { from: 0 }],
  compact: ['a'],
  'editions.undo': ['a', { cycle: 1 }],
  'admin.waitForCompaction': [],
  search: ['berth', { conversationId: 'a' }],
  log: ['a'],
  'admin.follow': [{}],
  explain: ['a'],
  'admin.stats': [],
  forgotten: [],
  recall: ['a'],
  'rules.list': ['a'],
  'rules.confirmed': [],
  'rules.check': ['a'],
  'rules.review': ['a'],
  'rules.confirm': ['a', 'r0.1'],
  'rules.drop': ['a', 'r0.1'],
  'rules.add': ['a', 'Never push to main.'],
  'transcripts.import': ['session.jsonl'],
  'transcripts.open': ['session.jsonl', { from: 'claude-code' }],
  'transcripts.receive': [{ from: 'claude-code' }],
  'transcripts.observe': ['a', { program: 'somebody' }],
  'transcripts.handoff': ['a', { to: 'codex' }],
  list: [],
  totals: [],
  'admin.verify': [],
  'admin.identity': [],
  'editions.whatIf': ['all', { policies: [{ name: 'as it is', settings: {} }] }],
  'admin.projections.status': [],
  'admin.projections.rebuild': ['all'],
  'admin.projections.catchUp': [],
  'admin.projections.fillVectors': [],
  'editions.estimate': [{ conversations: 'all' }],
  'editions.replay': [{ conversations: 'all' }],
  'editions.evaluate': [{ conversations: 'all', candidates: [{ name: 'a', summarizer: 'extractive' }] }],
  'editions.estimateEvaluation': [{ conversations: 'all', candidates: [{ name: 'a', summarizer: 'extractive' }] }],
  'editions.list': [],
  'editions.show': ['5d41402abc4b'],
  'editions.compare': ['all', '5d41402abc4b'],
  'editions.adopt': ['a', '5d41402abc4b'],
  'editions.revert': ['a'],
  'editions.drop': ['a', '5d41402abc4b'],
  'admin.secrets.redactor': [],
  'admin.secrets.scan': [],
  'admin.prompts.list': [],
  'admin.proofs.createCheckpoint': [{ key: 'a key' }],
  'admin.proofs.draftCheckpoint': [],
  'admin.proofs.storeCheckpoint': [{ note: 'a note', verifierKey: 'a key' }],
  'admin.proofs.checkpoints': [],
  'admin.proofs.attach': [[], 1],
  'admin.proofs.inclusion': ['a', 0],
  'admin.proofs.consistency': [1, 1],
  'admin.proofs.evidence': ['a'],
  'admin.erasure.plan': [{ conversationId: 'a' }],
  'admin.erasure.run': [{ conversationId: 'a' }, { reason: 'asked' }],
  'admin.erasure.receipts': ['a'],
  'admin.erasure.resume': [],
  'admin.retention.set': [{ keepAtLeast: '1 day' }, { reason: 'law' }],
  'admin.retention.hold': [{ conversationId: 'a' }, { reason: 'case' }],
  'admin.retention.release': ['a', { reason: 'case' }],
  'admin.retention.status': [],
  'admin.retention.run': [],
  'admin.retention.history': [],
  'admin.prompts.show': ['extractive'],
}
/** Closing twice is no mistake; the other two never throw. */
const OTHERS = ['close', 'compress', 'conversation']

const isIterator = (answer: unknown): answer is { next(): Promise<unknown> } =>
  typeof answer === 'object' && answer !== null && 'next' in answer

/**
 * Calls a method, and reads the first element if it returns an async iterable. An error that is thrown synchronously,
 * and does not reject the promise, fails the test.
 */
function ask(run: () => unknown): Promise<unknown> {
  const answer = run()
  return isIterator(answer) ? answer.next() : Promise.resolve(answer)
}

it('every function of a closed ledger says that it is closed, and none is forgotten here', async () => {
  const ledger = await openLedger({ store: 'memory' })
  await ledger.append('a', say(0))
  const functions = functionsOf(ledger)
  expect([...functions.keys()].toSorted()).toEqual([...Object.keys(ARGUMENTS), ...OTHERS].toSorted())
  await ledger.close()

  const answers = new Map<string, unknown>()
  for (const [name, args] of Object.entries(ARGUMENTS)) {
    const run = functions.get(name)
    answers.set(
      name,
      await ask(() => run?.(...args)).catch((error: unknown) =>
        error instanceof Error && 'kind' in error ? { kind: error.kind } : error,
      ),
    )
  }
  expect(Object.fromEntries(answers)).toEqual(
    Object.fromEntries(Object.keys(ARGUMENTS).map((name) => [name, { kind: 'LedgerClosed' }])),
  )

  expect(await ledger.conversation('a').tools.list[0]?.execute({ query: 'berth' })).toContain('the ledger is closed')
  const history = [say(0), say(1)]
  expect(await ledger.compress(history, 'a')).toMatchObject({ history, batchesCreated: 0 })
  await ledger.close()
})

longTest('the types of what the read models take and answer can be named', async () => {
  const ledger = await openLedger({ store: 'memory' })
  try {
    await ledger.append('a', say(0))
    const options: RebuildOptions = { fresh: true }
    await ledger.admin.projections.rebuild(['live-messages'], options)
    const head = await ledger.admin.projections.catchUp()
    const status: readonly ProjectionStatus[] = await ledger.admin.projections.status()
    expect(status.map(({ position }) => position)).toEqual(status.map(() => head))
  } finally {
    await ledger.close()
  }
})
