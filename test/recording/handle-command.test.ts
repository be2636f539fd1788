/**
 * Load, decide, append: conflicts decide again, unknown outcomes are asked again, and what is known from long ago is
 * compared with it.
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
  it('decides again on what is there now', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    const rival = harness.restart()
    harness.store.beforeAppend = async () => {
      await rival.appended(say(1))
    }
    expect((await harness.appended([say(2), say(3)])).recorded).toEqual(['m2', 'm3'])
    expect((await harness.context()).messageIds).toEqual(['m0', 'm1', 'm2', 'm3'])
  })

  it('gives a message without an id the place that it really has', async () => {
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

  it('over the very same message records it once', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    const rival = harness.restart()
    harness.store.beforeAppend = async () => {
      await rival.appended(say(1))
    }
    expect((await harness.appended([say(1), say(2)])).recorded).toEqual(['m2'])
  })

  it('over the first message of all decides again too', async () => {
    const harness = createHarness({ policy: SMALL })
    const rival = harness.restart()
    harness.store.beforeAppend = async () => {
      await rival.appended(say(0))
    }
    expect((await harness.appended(say(1))).recorded).toEqual(['m1'])
    expect(await harness.eventsOf('ConversationConfigured')).toHaveLength(1)
  })
})

describe('what another process appended', () => {
  it('is seen before a no is said', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    await harness.restart().appended(calling('c', ['x']))
    expect((await harness.appended(answering('r', 'x'))).recorded).toEqual(['r'])
  })
})

describe('an append whose outcome is unknown', () => {
  it.each(['unknown-before', 'unknown-after'] as const)('%s is asked again, and records once', async (fault) => {
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

describe('what is recorded', () => {
  it('says who asked, and for which request; its time never goes back', async () => {
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

  it('of one command is one append, and its commands are decided in turn', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended([calling('c', ['x']), answering('r', 'x')])
    expect(harness.store.appends.map(({ types }) => types)).toEqual([
      ['ConversationConfigured', 'MessageAppended', 'MessageAppended'],
    ])
  })

  it('a body above 64 KiB lies beside the log and comes back whole', async () => {
    const harness = createHarness()
    const content = '决定'.repeat(40_000)
    await harness.appended({ id: 'large', role: 'user', content })
    for await (const stored of harness.store.readStream(conversationStream(CONVERSATION)))
      expect(stored.data.length).toBeLessThan(5_000)
    expect((await harness.restart().context()).messages[0]?.content).toBe(content)
  })
})

it('commands of one conversation take turns, those of others do not wait for them', async () => {
  const harness = createHarness({ policy: SMALL })
  await Promise.all(talk(20).map((message) => harness.appended(message)))
  expect((await harness.context()).messageIds).toHaveLength(20)
  expect(harness.store.appends.filter(({ stream }) => stream === conversationStream(CONVERSATION))).toHaveLength(20)
})

describe.each(['always', 'at-its-revision'] as const)(
  'a message without an id, in a store that recognizes %s',
  (recognizes) => {
    it('is never refused because the id of its place is taken, however long ago, and takes nobody’s', async () => {
      const conflicts: string[] = []
      /** Places whose ids others have; how many messages come between; how many are withdrawn. */
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
              const done = await memory.append(...asked)()
              if (E.isLeft(done) && done.left.kind === 'IdsRecorded') conflicts.push(done.left.kind)
              return done
            }
          let harness = createHarness({ policy: SMALL, store: createTroubledStore({ ...memory, recognizes, append }) })
          const places = new Set([...taken, ...Array.from({ length: row }, (_none, at) => taken.length + at)])
          for (const place of places) await harness.appended(say(place, { id: derivedMessageId(CONVERSATION, place) }))
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
        // Fewer histories need not come to a conflict.
        { numRuns: 12 },
      )
      // Such a store notices nothing by itself, so that nothing may have been sent that it would have had to notice.
      expect(recognizes === 'always' ? conflicts.length > 0 : conflicts.length === 0).toBe(true)
    }, 60_000)

    it('gets another id than one that is given beside it', async () => {
      const harness = createHarness({ policy: SMALL })
      const given = say(1, { id: derivedMessageId(CONVERSATION, 0) })
      expect((await harness.appended([nameless(say(0)), given])).recorded).toEqual([
        derivedMessageId(CONVERSATION, 1),
        given.id,
      ])
    })
  },
)
