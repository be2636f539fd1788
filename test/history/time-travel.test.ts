/** Conversations at a revision or an instant: the revision found, the number of reads, and every rejected moment. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { cycleRevisions } from '../../src/application/history/cycles.js'
import { differenceBetween } from '../../src/application/history/difference.js'
import { revertEdition, undoCycles } from '../../src/application/editions/undo-and-revert.js'
import { contextIn, contextOf } from '../../src/domain/compaction/context.js'
import type { ContextState } from '../../src/domain/conversation/conversation.js'
import { loadContext, loadConversation } from '../../src/application/recording/load-conversation.js'
import { conversationAt, liveIn, revisionOf } from '../../src/application/history/time-travel.js'
import type { Clock } from '../../src/ports/clock.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { adoptEdition, editionOf } from '../support/editions.js'
import {
  contextIn as contextOfState,
  CONVERSATION,
  createHarness,
  createScriptedSummarizer,
  createTestClock,
  NO_INSTANT_TO_COME,
  type Harness,
} from '../support/harness.js'

/** A clock that advances only on request. */
function standingClock(): Clock & { time: number } {
  const ids = createTestClock()
  const clock = { time: Date.UTC(2026, 0, 1), now: () => new Date(clock.time), newId: () => ids.newId() }
  return clock
}

function rightOf<T>(either: E.Either<unknown, T>): T {
  if (E.isLeft(either)) throw new Error(JSON.stringify(either.left))
  return either.right
}

/** A conversation of several cycles. */
async function compacted(messages = 60): Promise<Harness> {
  const harness = createHarness({ policy: SMALL })
  for (const message of talk(messages)) {
    await harness.appended(message)
    await harness.compact()
  }
  return harness
}

describe('the revision of a message', () => {
  it('is that of its event, also after it was compacted', async () => {
    const harness = await compacted()
    for (const event of await harness.eventsOf('MessageAppended')) {
      const { messageId } = event.data
      const state = rightOf(
        await conversationAt(harness.log, CONVERSATION, { messageId }, NO_INSTANT_TO_COME, loadConversation),
      )
      expect(state.revision).toBe(event.revision)
      expect(liveIn(state).messages.at(-1)?.messageId).toBe(messageId)
    }
    expect(await revisionOf(harness.log, CONVERSATION, { messageId: 'm059' }, NO_INSTANT_TO_COME)).toEqual(
      E.left({ kind: 'NoSuchMessage', conversationId: CONVERSATION, messageId: 'm059', nearest: 'm59' }),
    )
    expect(await revisionOf(harness.log, 'nobody', { messageId: 'm1' }, NO_INSTANT_TO_COME)).toEqual(
      E.left({ kind: 'NoSuchConversation', conversationId: 'nobody' }),
    )
  })
})

describe('the revision of an instant', () => {
  it('is the last of several events at that instant, or the last one before it', async () => {
    const clock = standingClock()
    const harness = createHarness({ policy: SMALL, clock })
    const lasts: [number, number][] = []
    for (let round = 0; round < 30; round += 1) {
      // Rounds of one to five events at one instant.
      await harness.appended(talk(1 + (round % 5), round * 5))
      lasts.push([clock.time, (await harness.conversations.load(CONVERSATION)).revision])
      clock.time += 1_000
    }
    for (const [time, revision] of lasts) {
      for (const later of [0, 1, 999])
        expect(rightOf(await revisionOf(harness.log, CONVERSATION, { time: time + later }, NO_INSTANT_TO_COME))).toBe(
          revision,
        )
    }
    expect(rightOf(await revisionOf(harness.log, CONVERSATION, { time: clock.time + 1e12 }, NO_INSTANT_TO_COME))).toBe(
      lasts.at(-1)?.[1],
    )
  })

  it('is not affected by a clock that went back', async () => {
    const clock = standingClock()
    const harness = createHarness({ policy: SMALL, clock })
    await harness.appended(talk(3))
    clock.time -= 60_000
    await harness.appended(talk(3, 3))
    const { revision } = await harness.conversations.load(CONVERSATION)
    expect(
      rightOf(await revisionOf(harness.log, CONVERSATION, { time: clock.time + 60_000 }, NO_INSTANT_TO_COME)),
    ).toBe(revision)
    expect(await revisionOf(harness.log, CONVERSATION, { time: clock.time }, NO_INSTANT_TO_COME)).toMatchObject(
      E.left({ kind: 'BeforeFirstEvent' }),
    )
  })

  it('needs a few point reads in a conversation of any length', async () => {
    const harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 1_000_000 } })
    await harness.appended(talk(4_000))
    harness.store.reads = 0
    await revisionOf(harness.log, CONVERSATION, { time: Date.UTC(2026, 0, 1) }, NO_INSTANT_TO_COME)
    expect(harness.store.reads).toBeLessThanOrEqual(4 * 15)
  })
})

describe('a moment that the conversation does not have', () => {
  it.each([-1, 61, 10 ** 30])('revision %p: rejected with the head', async (revision) => {
    const harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 100_000 } })
    await harness.appended(talk(60))
    expect(await conversationAt(harness.log, CONVERSATION, { revision }, NO_INSTANT_TO_COME, loadConversation)).toEqual(
      E.left({ kind: 'NoSuchRevision', conversationId: CONVERSATION, revision, head: 60 }),
    )
  })

  it('an instant before the first event: rejected with the time of that event', async () => {
    const harness = await compacted(5)
    const first = (await harness.events())[0]?.metadata.recordedAt ?? ''
    expect(
      await conversationAt(
        harness.log,
        CONVERSATION,
        { time: Date.parse(first) - 1 },
        NO_INSTANT_TO_COME,
        loadConversation,
      ),
    ).toEqual(
      E.left({
        kind: 'BeforeFirstEvent',
        conversationId: CONVERSATION,
        time: new Date(Date.parse(first) - 1).toISOString(),
        first,
      }),
    )
    expect(
      rightOf(
        await conversationAt(
          harness.log,
          CONVERSATION,
          { time: Date.parse(first) },
          NO_INSTANT_TO_COME,
          loadConversation,
        ),
      ).revision,
    ).toBeGreaterThanOrEqual(0)
  })

  it.each([{ revision: 0 }, { time: 0 }])('an unknown conversation: %p', async (moment) => {
    const harness = await compacted(5)
    expect(await conversationAt(harness.log, 'nobody', moment, NO_INSTANT_TO_COME, loadConversation)).toEqual(
      E.left({ kind: 'NoSuchConversation', conversationId: 'nobody' }),
    )
  })

  it('an instant in the future, since later events would change the answer; the current instant is accepted', async () => {
    const clock = standingClock()
    const harness = createHarness({ policy: SMALL, clock })
    await harness.appended(talk(3))
    const { revision } = await harness.conversations.load(CONVERSATION)
    const at = (time: number) => conversationAt(harness.log, CONVERSATION, { time }, clock.now(), loadConversation)
    expect(rightOf(await at(clock.time)).revision).toBe(revision)
    expect(await at(clock.time + 1)).toEqual(
      E.left({
        kind: 'AfterNow',
        conversationId: CONVERSATION,
        time: new Date(clock.time + 1).toISOString(),
        now: clock.now().toISOString(),
      }),
    )
    // A clock that was set back: recorded events are not in the future.
    clock.time -= 5_000
    expect(rightOf(await at(clock.time + 5_000)).revision).toBe(revision)
  })

  it('a future cycle: rejected with the number of cycles', async () => {
    const harness = await compacted()
    const { cycles } = await harness.conversations.load(CONVERSATION)
    expect(cycles).toBeGreaterThan(2)
    for (const cycle of [0, cycles + 1])
      expect(await cycleRevisions(harness.log, CONVERSATION, cycle)).toEqual(
        E.left({ kind: 'CycleNotRecorded', conversationId: CONVERSATION, cycle, last: cycles }),
      )
  })

  it('a difference that ends before it starts', async () => {
    const harness = await compacted(5)
    expect(await differenceBetween(harness.log, CONVERSATION, 3, 2)).toEqual(
      E.left({ kind: 'EndsBeforeItStarts', from: 3, to: 2 }),
    )
  })
})

describe('another view', () => {
  it('shows the same events, and names the active one with its hash', async () => {
    const harness = await compacted()
    const { revision } = await harness.conversations.load(CONVERSATION)
    const state = rightOf(
      await conversationAt(harness.log, CONVERSATION, { revision: revision - 5 }, NO_INSTANT_TO_COME, loadConversation),
    )
    const recorded = rightOf(contextIn(state, undefined))
    const otherView = rightOf(contextIn(state, 'session-summary'))
    expect(rightOf(contextIn(state, 'working-state'))).toStrictEqual(recorded)
    expect(recorded.inForce).toBeUndefined()
    expect(otherView.inForce).toEqual({ view: 'working-state', hash: recorded.hash })
    expect(otherView.hash).not.toBe(recorded.hash)
    expect(JSON.stringify(recorded.messages)).toContain('[Context Summary')
    expect(JSON.stringify(otherView.messages)).toContain('## Session Summary (Compaction Round')
    expect(otherView.messageIds.filter((id) => id !== undefined)).toEqual(
      recorded.messageIds.filter((id) => id !== undefined),
    )
  })

  it('is what a conversation with that view would have shown', async () => {
    const histories = await Promise.all(
      (['clip-archive', 'session-summary'] as const).map(async (view) => {
        const harness = createHarness({ policy: { ...SMALL, view } })
        await harness.appended(talk(12))
        await harness.compact('force')
        return await harness.conversations.load(CONVERSATION)
      }),
    )
    const [clips, session] = histories
    if (clips === undefined || session === undefined) throw new Error('no states')
    expect(rightOf(contextIn(clips, 'session-summary')).messages).toEqual(contextOfState(session).messages)
    expect(rightOf(contextIn(session, 'clip-archive')).messages).toEqual(contextOfState(clips).messages)
  })

  it('makes no difference without compaction', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(3))
    const state = await harness.conversations.load(CONVERSATION)
    const { inForce, ...shown } = rightOf(contextIn(state, 'session-summary'))
    expect(shown).toStrictEqual(contextOfState(state))
    expect(inForce?.hash).toBe(shown.hash)
  })
})

describe('later undos, adoptions and reverts', () => {
  const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }
  /** Room for restored messages: the soft limit is a tenth of the hard one. */
  const ROOMY = { ...SMALL, view: 'clip-archive' as const, modelMaxTokens: 4_000, contextBudget: 0.1 }

  it('change nothing before them: no context, and no difference across an inactive cycle', async () => {
    const harness = createHarness({ policy: ROOMY })
    const live = new Map<number, unknown>()
    const look = async (): Promise<void> => {
      const context = await harness.context()
      live.set(context.revision, context)
    }
    let number = 0
    const goOn = async (messages: number): Promise<void> => {
      for (let at = 0; at < messages; at += 1) {
        await harness.appended(say(number))
        number += 1
        await look()
        await harness.compact()
        await look()
      }
    }
    await goOn(40)
    const { cycles } = await harness.conversations.load(CONVERSATION)
    expect(cycles).toBeGreaterThan(3)
    const across = async (cycle: number) => {
      const { from, to } = rightOf(await cycleRevisions(harness.log, CONVERSATION, cycle))
      return rightOf(await differenceBetween(harness.log, CONVERSATION, from, to))
    }
    const undoneLater = await across(cycles)

    rightOf(await undoCycles(harness, CONVERSATION, cycles, BY))
    await look()
    const undo = (await harness.conversations.load(CONVERSATION)).revision
    // No other cycle has its number yet, so the undone cycle is still found.
    expect(await across(cycles)).toStrictEqual(undoneLater)
    const back = rightOf(await differenceBetween(harness.log, CONVERSATION, undo - 1, undo))
    expect(back.events.map(({ type }) => type)).toEqual(['CycleUndone'])
    expect(back.messages.came.map(({ messageId }) => messageId)).toEqual(
      undoneLater.messages.left.map(({ messageId }) => messageId),
    )
    expect([back.messages.left, back.messages.passed]).toEqual([[], []])
    expect(back.batches.left.map(({ batchId }) => batchId)).toEqual(
      // A batch of batches from before the cycle is restored with it, and stays.
      expect.arrayContaining(undoneLater.batches.came.filter(({ depth }) => depth === 0).map(({ batchId }) => batchId)),
    )
    await goOn(20)
    expect((await across(cycles)).to.revision).toBeGreaterThan(undo)

    await adoptEdition(
      harness,
      await editionOf(harness, { ...ROOMY, chunkSize: 4 }, createScriptedSummarizer({ model: 'another' })),
    )
    await look()
    const { revision: adopted } = await harness.conversations.load(CONVERSATION)
    const adoption = rightOf(await differenceBetween(harness.log, CONVERSATION, adopted - 1, adopted))
    expect(adoption.batches.came.length).toBeGreaterThan(0)
    expect(adoption.events.map(({ type }) => type)).toEqual(['EditionAdopted'])
    await goOn(20)
    rightOf(await revertEdition(harness, CONVERSATION, BY))
    await look()
    await goOn(20)

    const later = harness.restart()
    for (const [revision, context] of live)
      for (const load of [loadConversation, loadContext])
        expect(
          rightOf(
            contextOf(
              rightOf(
                await conversationAt<ContextState>(later.log, CONVERSATION, { revision }, NO_INSTANT_TO_COME, load),
              ),
            ),
          ),
        ).toStrictEqual(context)
    expect(rightOf(await differenceBetween(later.log, CONVERSATION, undo - 1, undo))).toStrictEqual(back)
    expect(rightOf(await differenceBetween(later.log, CONVERSATION, adopted - 1, adopted))).toStrictEqual(adoption)
    expect(live.size).toBeGreaterThan(100)
  })
})

describe('a cycle by its number', () => {
  const ROOMY = { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 }
  const BY = { actor: 'operator', correlationId: 'c', causationId: 'c' }
  let number = 0
  async function goOn(harness: Harness, messages: number): Promise<void> {
    for (let at = 0; at < messages; at += 1) {
      await harness.appended(say(number++))
      await harness.compact()
    }
  }

  it('reports the undo with its actor, and other cycles with its number', async () => {
    const harness = createHarness({ policy: ROOMY })
    await goOn(harness, 60)
    const { cycles } = await harness.conversations.load(CONVERSATION)
    const first = rightOf(await cycleRevisions(harness.log, CONVERSATION, cycles))
    expect(first).toEqual({ cycle: cycles, from: first.from, to: first.to, others: [] })
    rightOf(await undoCycles(harness, CONVERSATION, cycles, BY))
    const [undo] = await harness.eventsOf('CycleUndone')
    expect(await cycleRevisions(harness.log, CONVERSATION, cycles)).toEqual(
      E.right({
        ...first,
        outOfForce: {
          type: 'CycleUndone',
          revision: undo?.revision,
          recordedAt: undo?.metadata.recordedAt,
          actor: 'operator',
        },
      }),
    )
    await goOn(harness, 40)
    const cycleAgain = rightOf(await cycleRevisions(harness.log, CONVERSATION, cycles))
    expect(cycleAgain.to).toBeGreaterThan(undo?.revision ?? 0)
    expect(cycleAgain).toEqual({
      cycle: cycles,
      from: cycleAgain.from,
      to: cycleAgain.to,
      others: [{ from: first.from, to: first.to }],
    })
  })

  it('is rejected if the active edition made it, as undo rejects it, and is the conversation’s own again after a revert', async () => {
    const harness = createHarness({ policy: ROOMY })
    await goOn(harness, 120)
    const before = await harness.conversations.load(CONVERSATION)
    const ownCycle = rightOf(await cycleRevisions(harness.log, CONVERSATION, 2))
    const edition = await editionOf(
      harness,
      { ...ROOMY, contextBudget: 0.5 },
      createScriptedSummarizer({ model: 'another' }),
    )
    await adoptEdition(harness, edition)
    const { cycles } = await harness.conversations.load(CONVERSATION)
    expect(cycles).toBeGreaterThan(1)
    expect(cycles).toBeLessThan(before.cycles)
    expect(await cycleRevisions(harness.log, CONVERSATION, 2)).toEqual(
      E.left({ kind: 'CycleOfEdition', cycle: 2, editionId: 'e1', replaced: { from: ownCycle.from, to: ownCycle.to } }),
    )
    expect(rightOf(await cycleRevisions(harness.log, CONVERSATION, before.cycles)).outOfForce).toMatchObject({
      type: 'EditionAdopted',
    })
    await goOn(harness, 30)
    const since = rightOf(await cycleRevisions(harness.log, CONVERSATION, cycles + 1))
    expect([since.to > before.revision, since.outOfForce]).toEqual([true, undefined])
    rightOf(await revertEdition(harness, CONVERSATION, BY))
    expect(await cycleRevisions(harness.log, CONVERSATION, 2)).toEqual(E.right(ownCycle))
    // The cycle that was made while the edition was active is inactive too.
    const lostCycle = rightOf(await cycleRevisions(harness.log, CONVERSATION, cycles + 1))
    expect([lostCycle.outOfForce, lostCycle.others]).toEqual([undefined, [{ from: since.from, to: since.to }]])
  })
})

describe('a difference', () => {
  it('across a cycle: removed and added messages and batches', async () => {
    const harness = await compacted()
    const prunes = await harness.eventsOf('MessagesPruned')
    for (const { data, revision } of prunes) {
      const cycle = rightOf(await cycleRevisions(harness.log, CONVERSATION, data.cycle))
      expect(cycle.to).toBe(revision)
      const difference = rightOf(await differenceBetween(harness.log, CONVERSATION, cycle.from, cycle.to))
      expect(difference.events.map(({ type }) => type)).toEqual([
        ...data.pruned.map(() => 'BatchArchived'),
        'MessagesPruned',
      ])
      expect(difference.messages.left.map(({ messageId, batchId }) => [messageId, batchId])).toEqual(
        data.pruned.flatMap(({ batchId, messageIds }) => messageIds.map((id) => [id, batchId])),
      )
      expect([difference.messages.came, difference.messages.passed]).toEqual([[], []])
      expect(difference.batches.came.map(({ batchId }) => batchId)).toEqual(
        expect.arrayContaining(data.pruned.map(({ batchId }) => batchId)),
      )
      expect([difference.from.tokens, difference.to.tokens]).toEqual([data.tokensBefore, data.tokensAfter])
      expect(difference.to.hash).toBe(data.contextHash)
      expect(difference.to.cycles - difference.from.cycles).toBe(1)
    }
  })

  it('between any two revisions: the earlier messages, without the removed and with the added ones, are the later ones', async () => {
    const harness = await compacted(40)
    const { revision: head } = await harness.conversations.load(CONVERSATION)
    for (const [from, to] of [
      [0, head],
      [3, 3],
      [5, head - 7],
      [head - 10, head],
    ] as const) {
      const difference = rightOf(await differenceBetween(harness.log, CONVERSATION, from, to))
      const live = async (revision: number): Promise<string[]> =>
        liveIn(
          rightOf(await conversationAt(harness.log, CONVERSATION, { revision }, NO_INSTANT_TO_COME, loadConversation)),
        ).messages.map(({ messageId }) => messageId)
      const left = new Set(difference.messages.left.map(({ messageId }) => messageId))
      expect([
        ...(await live(from)).filter((id) => !left.has(id)),
        ...difference.messages.came.map(({ messageId }) => messageId),
      ]).toEqual(await live(to))
      const appended = (await harness.events()).flatMap((event) =>
        event.type === 'MessageAppended' && event.revision > from && event.revision <= to ? [event.data.messageId] : [],
      )
      expect([...difference.messages.passed, ...difference.messages.came].map(({ messageId }) => messageId)).toEqual(
        appended,
      )
      expect(difference.events.map(({ revision }) => revision)).toEqual(
        Array.from({ length: to - from }, (_none, at) => from + 1 + at),
      )
    }
  })

  it('the view’s lines make up both texts', async () => {
    const harness = await compacted()
    const { revision: head } = await harness.conversations.load(CONVERSATION)
    const { view } = rightOf(await differenceBetween(harness.log, CONVERSATION, Math.floor(head / 2), head))
    const textOf = async (revision: number): Promise<string> =>
      `${rightOf(await conversationAt(harness.log, CONVERSATION, { revision }, NO_INSTANT_TO_COME, loadConversation)).view?.text ?? ''}\n`
    expect(
      view
        .filter(({ kind }) => kind !== 'added')
        .map(({ text }) => text)
        .join(''),
    ).toBe(await textOf(Math.floor(head / 2)))
    expect(
      view
        .filter(({ kind }) => kind !== 'removed')
        .map(({ text }) => text)
        .join(''),
    ).toBe(await textOf(head))
    expect(new Set(view.map(({ kind }) => kind))).toEqual(new Set(['same', 'added', 'removed']))
  })
})
