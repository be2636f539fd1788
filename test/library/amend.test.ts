/** Messages are taken back, and others said in their place, in one append. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
})
afterAll(() => ledger.close())

const contents = async (id: string): Promise<unknown[]> =>
  (await ledger.messages(id)).messages.map(({ content }) => content)

it('says something else in the place of what is taken back, and keeps that in the log', async () => {
  const { recorded } = await ledger.append('a', [
    { role: 'user', content: 'One.' },
    { role: 'assistant', content: 'Two.' },
  ])
  await ledger.amend('a', { withdraw: recorded.slice(1), append: [{ role: 'assistant', content: 'Another two.' }] })
  expect(await contents('a')).toEqual(['One.', 'Another two.'])
  const types: string[] = []
  for await (const { type } of ledger.log('a')) types.push(type)
  expect(types.slice(-3)).toEqual(['MessageAppended', 'MessagesWithdrawn', 'MessageAppended'])
  expect((await ledger.admin.verify('a')).problems).toEqual([])
})

it('records nothing where the conversation has moved on, or does not say what is to be taken back', async () => {
  const { revision, recorded } = await ledger.append('b', { role: 'user', content: 'One.' })
  await ledger.append('b', { role: 'user', content: 'Two.' })
  await expect(ledger.amend('b', { withdraw: recorded, expectedRevision: revision })).rejects.toMatchObject({
    kind: 'RevisionNotExpected',
  })
  await expect(ledger.amend('b', { withdraw: ['nobody'] })).rejects.toMatchObject({ kind: 'NotSaid' })
  // @ts-expect-error no list
  await expect(ledger.amend('b', { withdraw: 'one' })).rejects.toThrow(/withdraw/u)
  await expect(ledger.amend('b', { withdraw: [], append: [{ role: 'user' }] })).rejects.toThrow(/content/u)
  expect(await contents('b')).toEqual(['One.', 'Two.'])
})

it('takes back what is compacted, and the cycles that compacted it', async () => {
  const { recorded } = await ledger.append(
    'c',
    Array.from({ length: 60 }, (_none, at) => ({
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${String(at)}: ${'the crane at the west quay is out. '.repeat(5)}`,
    })),
  )
  await ledger.admin.waitForCompaction('c')
  expect((await ledger.context('c')).viewAt).toBe(0)
  await ledger.amend('c', { withdraw: 'all', append: [{ role: 'user', content: 'Anew.' }] })
  const { messages, viewAt } = await ledger.context('c')
  expect([messages.map(({ content }) => content), viewAt, recorded.length]).toEqual([['Anew.'], undefined, 60])
  expect((await ledger.admin.verify('c')).problems).toEqual([])
})

const compaction = { program: 'agent', sourceId: 's1' }
it.each([
  ['no trigger that there is', { trigger: 'now' }, /compaction\.trigger/u],
  ['a trigger of another type', { trigger: 1 }, /compaction\.trigger/u],
  ['no summary', { summary: null }, /compaction\.summary/u],
  ['a summary of another type', { summary: 'text' }, /compaction\.summary/u],
  ['a summary without its text', { summary: { kind: 'text' } }, /compaction\.summary/u],
  ['an empty text', { summary: { kind: 'text', text: '' } }, /compaction\.summary/u],
  ['a NUL in the text', { summary: { kind: 'text', text: 'a\0b' } }, /compaction\.summary/u],
  ['a context that is no list', { context: 'all' }, /compaction\.context/u],
  ['an entry that is none', { context: [null] }, /compaction\.context\[0\]/u],
  ['an entry of neither kind', { context: [{}] }, /compaction\.context\[0\]/u],
  ['an id of another type', { context: [{ messageId: 1 }] }, /compaction\.context\[0\]\.messageId/u],
  ['an empty id', { context: [{ messageId: '' }] }, /compaction\.context\[0\]\.messageId/u],
  ['a NUL in an id', { context: [{ messageId: 'a\0' }] }, /compaction\.context\[0\]\.messageId/u],
  ['a message that is none', { context: [{ inserted: {} }] }, /compaction\.context\[0\]\.inserted/u],
  [
    'a mark of another type',
    { context: [{ inserted: { role: 'user', content: 'x' }, isSummary: 'yes' }] },
    /compaction\.context\[0\]\.isSummary/u,
  ],
  ['a field that there is not', { contexts: [] }, /contexts/u],
])('a compaction with %s is refused by the name of the field, and nothing is recorded', async (_what, wrong, named) => {
  const { recorded, revision } = await ledger.append('d', { id: 'only', role: 'user', content: 'One.' })
  expect(recorded.length).toBeLessThan(2)
  const request = { withdraw: ['only'], compaction: { ...compaction, ...wrong } }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what JavaScript may hand over
  await expect(ledger.amend('d', request as never)).rejects.toThrow(named)
  expect((await ledger.context('d')).revision).toBe(revision)
})
