/** Invalid input of `transcripts.observe`: each error names the field, and nothing is recorded. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openLedger, type Ledger, type Observation } from '../../src/index.js'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
})
afterAll(() => ledger.close())

const program = 'other'
const trigger = 'auto'

it.each<[field: string, given: object]>([
  ['messages', { program, messages: {} }],
  ['messages', { program, messages: 'Hello' }],
  ['withdrawn', { program, withdrawn: 'm1' }],
  ['edited', { program, edited: { messageId: 'm1' } }],
  ['compaction', { program, compaction: {} }],
  ['compaction', { program, compaction: { sourceId: 'c1', trigger, summary: { kind: 'none' }, context: {} } }],
  ['compaction', { program, compaction: { sourceId: 'c1', trigger, summary: 'short', context: [] } }],
  ['compaction', { program, compaction: { sourceId: 'c1', trigger, summary: { kind: 'text' }, context: [] } }],
])('%s: %j', async (field, given) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as a JavaScript caller may pass it
  const observed = ledger.transcripts.observe('c', given as Observation)
  await expect(observed).rejects.toMatchObject({ fault: 'input', message: expect.stringContaining(field) })
  expect((await ledger.list()).conversations).toEqual([])
})
