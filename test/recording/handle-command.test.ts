/**
 * Load, decide, append: commands are decided again after conflicts, appended again after unknown outcomes, and compared
 * with earlier recordings of the same ids.
 */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { conversationStream, derivedMessageId } from '../../src/domain/values/ids.js'
import { answering, calling, nameless, say, SMALL, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness, createTroubledStore } from '../support/harness.js'

const PROVENANCE = { actor: 'test', correlationId: 'request-1', causationId: 'request-1' }

describe('a conflict', () => {
  it('decides again on the current state', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    const rival = harness.restart()
    harness.store.beforeAppend = async () => {
      await rival.appended(say(1))
    }
    expect((await harness.appended([say(2), say(3)])).recorded).toEqual(['m2', 'm3'])
    expect((await harness.context()).messageIds).toEqual(['m0', 'm1', 'm2', 'm3'])
  })

  it('gives a message without an id the index that it really has', async () => {
    const harness = createHarness({ policy: SMALL })
    const rival = harness.restart()
    await harness.appended(say(0))
    harness.store.beforeAppend = async () => {
      await rival.appended(nameless(say(1)))
    }
    await harness.appended(nameless(say(1)))
    const ids = (await harness.eventsOf('MessageAppended')).map((event) => event.data.messageId)
    expect(new Set(ids).size).toBe(3)
  })

  it('over the same message records it once', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    const rival = harness.restart()
    harness.store.beforeAppend = async () => {
      await rival.appended(say(1))
    }
    expect((await harness.appended([say(1), say(2)])).recorded).toEqual(['m2'])
  })

  it('over the very first message decides again too', async () => {
    const harness = createHarness({ policy: SMALL })
    const rival = harness.restart()
    harness.store.beforeAppend = async () => {
      await rival.appended(say(0))
    }
    expect((await harness.appended(say(1))).recorded).toEqual(['m1'])
    expect(await harness.eventsOf('ConversationConfigured')).toHaveLength(1)
  })
})

describe('an append by another process', () => {
  it('is read before a rejection', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    await harness.restart().appended(calling('c', ['x']))
    expect((await harness.appended(answering('r', 'x'))).recorded).toEqual(['r'])
  })
})

describe('an append whose outcome is unknown', () => {
  it.each(['unknown-before', 'unknown-after'] as const)('%s is retried, and records once', async (fault) => {
    const harness = createHarness({ policy: SMALL })
    harness.store.faults.push(fault, fault === 'unknown-before' ? fault : undefined)
    expect((await harness.appended(talk(2))).recorded).toEqual(['m0', 'm1'])
    expect((await harness.events()).map((event) => event.type)).toEqual([
      'ConversationConfigured',
      'MessageAppended',
      'MessageAppended',
    ])
  })

  it('that stays unknown is a failure, and the same command later records once', async () => {
    const harness = createHarness({ policy: SMALL })
    harness.store.faults.push('unknown-after', 'unknown-before', 'unknown-before', 'unknown-before')
    expect(await harness.append(talk(2))).toMatchObject({ left: { kind: 'StoreUnavailable' } })
    expect((await harness.appended(talk(2))).recorded).toEqual([])
    expect(await harness.eventsOf('MessageAppended')).toHaveLength(2)
  })
})

describe('recorded events', () => {
  it('have the actor and the request; their time never decreases', async () => {
    let now = 5_000
    const harness = createHarness({
      policy: SMALL,
      clock: { now: () => new Date((now -= 1_000)), newId: () => 'unused' },
    })
    await harness.conversations.handle(
      CONVERSATION,
      [{ type: 'Configure', settings: SMALL, scope: undefined, summarizerWindowTokens: 1_000 }],
      PROVENANCE,
    )
    await harness.conversations.handle(
      CONVERSATION,
      [{ type: 'AppendMessages', messages: [{ role: 'user', content: 'x' }], now: '2026-01-01T00:00:00.000Z' }],
      PROVENANCE,
    )
    const [first, second] = (await harness.events()).map((event) => event.metadata)
    expect(second).toMatchObject({ ...PROVENANCE, schemaVersion: 2, previousHash: first?.hash })
    expect(second?.recordedAt).toBe(first?.recordedAt)
  })

  it('of one call are one append, and its commands are decided in order', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended([calling('c', ['x']), answering('r', 'x')])
    expect(harness.store.appends.map(({ types }) => types)).toEqual([
      ['ConversationConfigured', 'MessageAppended', 'MessageAppended'],
    ])
  })

  it('a body above 64 KiB is stored outside the log and restored in full', async () => {
    const harness = createHarness()
    const content = '决定'.repeat(40_000)
    await harness.appended({ id: 'large', role: 'user', content })
    for await (const stored of harness.store.readStream(conversationStream(CONVERSATION)))
      expect(stored.data.length).toBeLessThan(5_000)
    expect((await harness.restart().context()).messages[0]?.content).toBe(content)
  })
})

it('commands of one conversation are serialized, those of others do not wait', async () => {
  const harness = createHarness({ policy: SMALL })
  await Promise.all(talk(20).map((message) => harness.appended(message)))
  expect((await harness.context()).messageIds).toHaveLength(20)
  expect(harness.store.appends.filter(({ stream }) => stream === conversationStream(CONVERSATION))).toHaveLength(20)
})

describe.each(['always', 'at-its-revision'] as const)(
  'a message without an id, in a store that recognizes %s',
  (recognizes) => {
    it('is never rejected because its derived id is in use, and never uses the id of another message', async () => {
      const conflicts: string[] = []
      /** Indexes with ids that other messages have; the number of messages in between; the number of withdrawals. */
      const histories = fc.record({
        taken: fc.uniqueArray(fc.nat(140), { minLength: 1, maxLength: 30 }),
        row: fc.nat(90),
        between: fc.integer({ min: 0, max: 30 }),
        withdrawn: fc.nat(4),
        many: fc.integer({ min: 1, max: 4 }),
      })
      await fc.assert(
        fc.asyncProperty(histories, async ({ taken, row, between, withdrawn, many }) => {
          const memory = createMemoryEventStore()
          const append: typeof memory.append =
            (...asked) =>
            async () => {
              const result = await memory.append(...asked)()
              if (E.isLeft(result) && result.left.kind === 'IdsRecorded') conflicts.push(result.left.kind)
              return result
            }
          let harness = createHarness({ policy: SMALL, store: createTroubledStore({ ...memory, recognizes, append }) })
          const places = new Set([...taken, ...Array.from({ length: row }, (_none, at) => taken.length + at)])
          for (const index of places) await harness.appended(say(index, { id: derivedMessageId(CONVERSATION, index) }))
          const { window } = await harness.conversations.load(CONVERSATION)
          await harness.conversations.handle(
            CONVERSATION,
            [
              {
                type: 'WithdrawMessages',
                messageIds: window.slice(-withdrawn || window.length).map(({ messageId }) => messageId),
                why: 'removed',
              },
            ],
            PROVENANCE,
          )
          for (const message of talk(between)) await harness.appended(message)
          await harness.compact()
          harness = harness.restart()
          for (let at = 0; at < 6; at += 1) {
            expect(
              (
                await harness.appended(
                  Array.from({ length: many }, (_none, more) => nameless(say(500 + at * many + more))),
                )
              ).recorded,
            ).toHaveLength(many)
            await harness.compact()
          }
          const ids = (await harness.eventsOf('MessageAppended')).map(({ data }) => data.messageId)
          expect(new Set(ids).size).toBe(places.size + between + 6 * many)
          expect(ids).toHaveLength(places.size + between + 6 * many)
        }),
        // With fewer histories there may be no conflict.
        { numRuns: 12 },
      )
      // Such a store detects no duplicates, so none may be sent to it.
      expect(recognizes === 'always' ? conflicts.length > 0 : conflicts.length === 0).toBe(true)
    }, 60_000)

    it('gets a different id from one that is given in the same append', async () => {
      const harness = createHarness({ policy: SMALL })
      const message = say(1, { id: derivedMessageId(CONVERSATION, 0) })
      expect((await harness.appended([nameless(say(0)), message])).recorded).toEqual([
        derivedMessageId(CONVERSATION, 1),
        message.id,
      ])
    })
  },
)
