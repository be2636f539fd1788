/** Message ids from before a pattern of secrets, the reasons of erasures, and erased texts in the list of a host. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { initialState } from '../../src/domain/conversation/conversation.js'
import { findEstimator } from '../../src/application/recording/estimators.js'
import type { Command } from '../../src/domain/decide/index.js'
import { redactCommands } from '../../src/application/recording/redaction.js'
import { openLedger, type Ledger, type MessageInput, type PolicySettings } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { createHarness } from '../support/harness.js'
import { plantedSecrets } from '../support/planted-secrets.js'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openLedger({
    store: 'memory',
    ahead: false,
    erasable: true,
    keys: createMemoryKeyVault(),
    summarizer: () => Promise.resolve('A summary.'),
    policy: SMALL,
  })
})
afterEach(() => ledger.close())

const ORDERS: PolicySettings = { secretPatterns: { 'shop-order': 'ORD-[0-9]{6}' } }

/** Messages with ids that a pattern matches. */
const orders = (length: number): MessageInput[] =>
  talk(length).map((message, at) => ({ ...message, id: `ORD-123456-${String(at)}` }))

async function eventsOf(conversationId: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of ledger.log(conversationId)) events.push(event)
  return events
}

it('messages with ids from before a pattern that matches them can be compacted', async () => {
  await ledger.append('shop', orders(30))
  await ledger.append('shop', { role: 'user', content: 'and now?' }, { policy: ORDERS })
  const { batchesCreated } = await ledger.compact('shop', { force: true })
  expect(batchesCreated).toBeGreaterThan(0)
})

it('their content can be replaced, and stay in the context of a compaction that is observed', async () => {
  const program = 'an-agent'
  await ledger.transcripts.observe('seen', { program, messages: orders(3) })
  await ledger.transcripts.observe(
    'seen',
    { program, edited: [{ messageId: 'ORD-123456-0', content: 'shorter', why: 'replaced' }] },
    { policy: ORDERS },
  )
  await ledger.transcripts.observe('seen', {
    program,
    compaction: {
      sourceId: 'c1',
      trigger: 'auto',
      summary: { kind: 'text', text: 'A summary of ORD-654321.' },
      context: [{ messageId: 'ORD-123456-2' }],
    },
  })
  const events = await eventsOf('seen')
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['ContributionEdited', 'CompactionObserved', 'MessagesPruned']),
  )
  expect(JSON.stringify(events)).not.toContain('ORD-654321')
})

it('an edit of a list with such ids withdraws only what it edits', async () => {
  const list = orders(4)
  await ledger.compress(list, 'listed')
  await ledger.append('listed', { id: 'last', role: 'user', content: 'last' }, { policy: ORDERS })
  await ledger.compress([...list, { id: 'last', role: 'user', content: 'edited' }], 'listed')
  await ledger.compress([...list.slice(0, 3), { id: 'ORD-123456-3', role: 'user', content: 'edited' }], 'listed')
  const withdrawn = (await eventsOf('listed')).flatMap(({ type, data }) =>
    type === 'MessagesWithdrawn' ? [JSON.stringify(data.messages.map(({ messageId }) => messageId))] : [],
  )
  expect(withdrawn).toEqual(['["last"]', '["ORD-123456-3","last~2"]'])
})

it('the reason of an erasure and its legal basis are recorded without secrets', async () => {
  const [one, two] = plantedSecrets(2, 17)
  await ledger.append('reasons', orders(3))
  await ledger.append('reasons', { role: 'user', content: 'and now?' }, { policy: ORDERS })
  const reason = `he wrote ${one?.text ?? ''} for ORD-654321`
  await ledger.admin.erasure.run(
    { conversationId: 'reasons', messageId: 'ORD-123456-1' },
    { reason, legalBasis: `see ${two?.text ?? ''}` },
  )
  await ledger.admin.erasure.run({ conversationId: 'reasons' }, { reason, legalBasis: `see ${two?.text ?? ''}` })
  const recorded = JSON.stringify(await eventsOf('reasons'))
  expect(recorded).toContain('ErasureCompleted')
  for (const secret of [one?.secret ?? '', two?.secret ?? '', 'ORD-654321']) expect(recorded).not.toContain(secret)
  expect(recorded).toContain('"messageId":"ORD-123456-1"')
})

it('no free text of an erasure passes a redaction of its command', async () => {
  const { log } = createHarness({ policy: SMALL })
  const state = initialState('c', findEstimator)
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 1_000 }), fc.string(), async (seed, words) => {
      const [planted] = plantedSecrets(1, seed)
      const text = `${words} ${planted?.text ?? ''} ${words}`
      const figures = { messages: 0, summaries: 0, editions: 0, keys: [], vault: 'v', rows: [], filesCleaned: true }
      const commands: Command[] = [
        {
          type: 'RequestErasure',
          erasureId: 'e',
          scope: 'conversation',
          reason: text,
          legalBasis: text,
          editions: [],
          epoch: 0,
        },
        { type: 'CompleteErasure', erasureId: 'e', receipt: { ...figures, legalBasis: text } },
      ]
      const redacted = await redactCommands(log, state, commands, { actor: 'a', correlationId: 'c', causationId: 'c' })
      expect(JSON.stringify(redacted)).not.toContain(JSON.stringify(planted?.secret).slice(1, -1))
    }),
    { numRuns: 30 },
  )
})

it('an erased text goes to no model any more, also if the list was compared before', async () => {
  const list: MessageInput[] = talk(6).map((message, at) => ({ ...message, id: `m${String(at)}` }))
  await ledger.compress(list, 'erased')
  // The comparison of an edited list reads the recorded messages.
  const edited = list.map((message, at) => (at === 5 ? { ...message, content: 'another end' } : message))
  await ledger.compress(edited, 'erased')
  await ledger.admin.erasure.run({ conversationId: 'erased', messageId: 'm2' }, { reason: 'r' })
  const { history } = await ledger.compress([...edited, { id: 'next', role: 'user', content: 'next' }], 'erased')
  expect(JSON.stringify(history)).toContain('[erased]')
  expect(JSON.stringify(history)).not.toContain(JSON.stringify(list[2]?.content).slice(1, -1))
})
