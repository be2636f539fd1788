/**
 * Undoing cycles and reverting editions, case by case; properties of any history are in
 * `test/laws/replaced-batches.test.ts`.
 */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { failedRun, Summarization } from '../../src/application/compaction/summarization.js'
import { editionStreams } from '../../src/application/recording/conversation-streams.js'
import { recallSummaries } from '../../src/application/editions/recall-summaries.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import { createVerify } from '../../src/application/audit/verify.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import { checkScripted } from '../support/check-scripted.js'
import { noRows } from '../support/row-differences.js'
import { revertEdition, undoCycles, type UndoFailure } from '../../src/application/editions/undo-and-revert.js'
import type { Handled } from '../../src/application/recording/handle-command.js'
import { triggerOf } from '../../src/domain/compaction/plan.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { adoptEdition, editionOf } from '../support/editions.js'
import {
  CONVERSATION,
  createHarness,
  createScriptedSummarizer,
  usualSummary,
  type Harness,
  type ScriptedSummarizer,
} from '../support/harness.js'

const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }
/** Room for restored messages: the soft limit is a tenth of the hard one. */
const ROOMY = { ...SMALL, modelMaxTokens: 4_000, contextBudget: 0.1 }

const undo = (harness: Harness, cycle: number): Promise<E.Either<UndoFailure, Handled>> =>
  undoCycles(harness, CONVERSATION, cycle, BY)

/** A conversation with this many cycles, and live messages after them. */
async function withCycles(cycles: number, harness = createHarness({ policy: ROOMY })): Promise<Harness> {
  for (let number = 0; (await harness.conversations.load(CONVERSATION)).cycles < cycles; number += 1) {
    await harness.appended(say(number))
    await harness.compact()
  }
  return harness
}

const liveIds = async (harness: Harness): Promise<string[]> => {
  const { leading, retained, window } = await harness.conversations.load(CONVERSATION)
  return [...leading, ...retained, ...window].map((message) => message.messageId)
}

describe('undo', () => {
  it('names the undone cycles, the last one first, and leaves their events in the log', async () => {
    const harness = await withCycles(4)
    expect(E.isRight(await undo(harness, 3))).toBe(true)
    const [event] = await harness.eventsOf('CycleUndone')
    expect(event?.data.undone.map(({ cycle }) => cycle)).toEqual([4, 3])
    expect(await harness.eventsOf('MessagesPruned')).toHaveLength(4)
    expect((await harness.conversations.load(CONVERSATION)).cycles).toBe(2)
  })

  it('goes further back on what is still active', async () => {
    const harness = await withCycles(4)
    await undo(harness, 4)
    await undo(harness, 3)
    const undone = (await harness.eventsOf('CycleUndone')).map((event) => event.data.undone.map(({ cycle }) => cycle))
    expect(undone).toEqual([[4], [3]])
    await withCycles(3, harness)
    expect(E.isRight(await undo(harness, 2))).toBe(true)
    expect((await harness.eventsOf('CycleUndone')).at(-1)?.data.undone.map(({ cycle }) => cycle)).toEqual([3, 2])
    await undo(harness, 1)
    expect(await liveIds(harness)).toEqual(
      (await harness.eventsOf('MessageAppended')).map((event) => event.data.messageId),
    )
  })

  it('rejects a cycle that does not exist, with the number of cycles', async () => {
    const harness = await withCycles(2)
    expect(await undo(harness, 3)).toEqual(E.left({ kind: 'NoSuchCycle', cycle: 3, cycles: 2 }))
    expect(await undo(harness, 0)).toEqual(E.left({ kind: 'NoSuchCycle', cycle: 0, cycles: 2 }))
    await undo(harness, 2)
    expect(await undo(harness, 2)).toEqual(E.left({ kind: 'NoSuchCycle', cycle: 2, cycles: 1 }))
  })

  it('is rejected if the context would exceed the hard limit, with the figures, and changes nothing', async () => {
    const harness = await withCycles(30)
    const before = await harness.events()
    const refused = await undo(harness, 1)
    expect(refused).toMatchObject({ left: { kind: 'UndoPassesHardLimit', limit: 4_000, cycle: 1 } })
    expect(E.isLeft(refused) && refused.left.kind === 'UndoPassesHardLimit' ? refused.left.tokens : 0).toBeGreaterThan(
      4_000,
    )
    expect(await harness.events()).toEqual(before)
  })

  it('pauses the soft limit until a chunk of further messages was appended', async () => {
    const harness = await withCycles(3)
    await undo(harness, 3)
    const { messagesAppended, configuration } = await harness.conversations.load(CONVERSATION)
    const chunkSize = configuration?.policy.chunkSize ?? 0
    const triggers: (string | undefined)[] = []
    for (let number = 0; number <= chunkSize; number += 1) {
      triggers.push(triggerOf(await harness.restart().conversations.load(CONVERSATION)))
      await harness.appended(say(messagesAppended + 100 + number))
    }
    expect(triggers).toEqual([...Array.from({ length: chunkSize }, () => undefined), 'soft'])
    expect((await harness.compact()).cycles).toBeGreaterThan(0)
  })

  it('does not pause the hard limit', async () => {
    const harness = await withCycles(3)
    await undo(harness, 3)
    await harness.appended(say(5_000, { content: 'x'.repeat(30_000) }))
    expect(triggerOf(await harness.conversations.load(CONVERSATION))).toBe('hard')
  })

  it('makes new summaries of restored messages', async () => {
    const harness = await withCycles(2)
    await undo(harness, 2)
    const calls = harness.summarizer.calls.length
    const batches = (await harness.eventsOf('BatchArchived')).map((event) => event.data.batchId)
    await harness.compact('force')
    expect(harness.summarizer.calls.length).toBeGreaterThan(calls)
    const newBatchIds = (await harness.eventsOf('BatchArchived'))
      .map((event) => event.data.batchId)
      .slice(batches.length)
    expect(newBatchIds.filter((id) => batches.includes(id))).toEqual([])
  })

  it('keeps concurrent appends', async () => {
    const harness = await withCycles(3)
    harness.store.beforeAppend = async () => {
      await harness.restart().appended(say(9_000))
    }
    expect(E.isRight(await undo(harness, 3))).toBe(true)
    expect((await liveIds(harness)).at(-1)).toBe('m9000')
    expect(await harness.eventsOf('CycleUndone')).toHaveLength(1)
  })
})

describe('concurrent undo by two processes', () => {
  it('succeeds once; the other process gets the same error as later', async () => {
    const harness = await withCycles(3)
    const otherProcess = harness.restart()
    let otherResult: E.Either<UndoFailure, Handled> | undefined
    harness.store.beforeAppend = async () => {
      harness.store.beforeAppend = undefined
      otherResult = await undo(otherProcess, 3)
    }
    expect(await undo(harness, 3)).toEqual(E.left({ kind: 'NoSuchCycle', cycle: 3, cycles: 2 }))
    expect(otherResult).toMatchObject({ right: { events: [{ type: 'CycleUndone' }] } })
    expect(await harness.eventsOf('CycleUndone')).toHaveLength(1)
    expect(await undo(harness, 3)).toEqual(E.left({ kind: 'NoSuchCycle', cycle: 3, cycles: 2 }))
  })
})

describe('undo with editions', () => {
  it('undoes cycles after an adoption, and names the edition for a cycle before it', async () => {
    const harness = await withCycles(3)
    const edition = await editionOf(harness, ROOMY, createScriptedSummarizer({ model: 'another' }))
    await adoptEdition(harness, edition)
    const { cycles } = await harness.conversations.load(CONVERSATION)
    expect(await undo(harness, cycles)).toEqual(E.left({ kind: 'CycleOfEdition', cycle: cycles, editionId: 'e1' }))
    await withCycles(cycles + 1, harness)
    expect(E.isRight(await undo(harness, cycles + 1))).toBe(true)
    expect(E.isRight(await revertEdition(harness, CONVERSATION, BY))).toBe(true)
    // The conversation's own cycles are active again, and the last of them can be undone.
    expect((await harness.conversations.load(CONVERSATION)).cycles).toBe(3)
    expect(E.isRight(await undo(harness, 3))).toBe(true)
  })

  it('reverts one edition after the other', async () => {
    const harness = await withCycles(2)
    const ownBatchIds = (await harness.conversations.load(CONVERSATION)).batches.map(({ batchId }) => batchId)
    const first = await editionOf(harness, ROOMY, createScriptedSummarizer({ model: 'one' }), 'e1')
    await adoptEdition(harness, first)
    const second = await editionOf(harness, ROOMY, createScriptedSummarizer({ model: 'two' }), 'e2')
    await adoptEdition(harness, second)
    const inForce = async (): Promise<string | undefined> =>
      (await harness.restart().conversations.load(CONVERSATION)).lineage?.edition?.editionId
    expect(await inForce()).toBe('e2')
    await revertEdition(harness, CONVERSATION, BY)
    expect(await inForce()).toBe('e1')
    await revertEdition(harness, CONVERSATION, BY)
    expect(await inForce()).toBeUndefined()
    expect((await harness.conversations.load(CONVERSATION)).batches.map(({ batchId }) => batchId)).toEqual(ownBatchIds)
  })

  it('catches up with an agent that appends throughout, and reads new events only once', async () => {
    const harness = createHarness({ policy: ROOMY })
    await harness.appended(talk(30))
    await harness.compact('force')
    await adoptEdition(harness, await editionOf(harness, ROOMY, createScriptedSummarizer({ model: 'one' })))
    await harness.appended(talk(200, 100))
    const { store } = harness.log
    let read = 0
    const counting = {
      ...store,
      async *readStream(...asked: Parameters<typeof store.readStream>) {
        for await (const event of store.readStream(...asked)) {
          read += 1
          yield event
        }
      },
    }
    let appended = 0
    const append = async (): Promise<void> => {
      appended += 1
      await harness.restart().appended(say(9_000 + appended))
      harness.store.beforeAppend = appended < 40 ? append : undefined
    }
    harness.store.beforeAppend = append
    const reverted = await revertEdition({ ...harness, log: { ...harness.log, store: counting } }, CONVERSATION, BY)
    expect(reverted).toMatchObject({ right: { events: [{ type: 'EditionReverted' }] } })
    expect(appended).toBe(40)
    expect((await liveIds(harness)).at(-1)).toBe('m9040')
    // Messages and pins, settings, and late summaries are each read once, however often the command is decided again.
    expect(read).toBeLessThan(3 * (await harness.conversations.load(CONVERSATION)).revision)
  })

  it('rejects an adoption that has compacted a message pinned later', async () => {
    const harness = createHarness({ policy: { ...ROOMY, contextBudget: 1 } })
    await harness.appended(talk(20))
    const edition = await editionOf(harness, ROOMY, createScriptedSummarizer({ model: 'another' }))
    await edition.advance()
    await harness.pin('m0')
    await edition.advance()
    const adopted = await harness.conversations.handle(
      CONVERSATION,
      [{ type: 'AdoptEdition', edition: edition.state() }],
      BY,
    )
    expect(adopted).toEqual(E.left({ kind: 'PinnedMessageCompacted', messageId: 'm0' }))
  })

  it('rejects an adoption without room for the pinned messages, and names them', async () => {
    const harness = createHarness({ policy: { ...ROOMY, contextBudget: 1 } })
    await harness.appended([{ id: 'p', role: 'user', content: 'x'.repeat(3_600), pinned: true }, ...talk(20)])
    const edition = await editionOf(
      harness,
      { ...ROOMY, modelMaxTokens: 800 },
      createScriptedSummarizer({ model: 'another' }),
    )
    await edition.advance()
    const adopted = await harness.conversations.handle(
      CONVERSATION,
      [{ type: 'AdoptEdition', edition: edition.state() }],
      BY,
    )
    expect(adopted).toEqual(E.left({ kind: 'PinnedTooLarge', messageIds: ['p'], tokens: 917, limit: 800 }))
  })

  it.each([
    ['the pin came late', false],
    ['it was pinned before, and unpinned for a while', true],
  ])('folds nothing that was pinned when the edition was begun, though %s', async (_what, before) => {
    const harness = createHarness({ policy: { ...ROOMY, contextBudget: 1 } })
    await harness.appended(say(0))
    if (before) for (const pinned of [true, false]) await harness.pin('m0', pinned)
    await harness.appended(talk(19, 1))
    await harness.pin('m0')
    const edition = await editionOf(harness, ROOMY, createScriptedSummarizer({ model: 'another' }))
    await adoptEdition(harness, edition)
    expect(
      (await harness.conversations.load(CONVERSATION)).retained.map((message) => [message.messageId, message.pinned]),
    ).toContainEqual(['m0', true])
    expect((await harness.conversations.load(CONVERSATION)).cycles).toBeGreaterThan(0)
  })
})

describe('a paid summary that is too late', () => {
  const requestsOf = (summarizer: ScriptedSummarizer): string[] =>
    summarizer.calls.map(({ requestHash }) => requestHash)

  it.each([
    ['another process pruned its messages', 'pruned'],
    ['an edition was adopted that folded them', 'adopted'],
  ])(
    'is recorded when %s meanwhile, and used once its messages are live again: nobody is asked twice',
    async (_what, meanwhile) => {
      const summarizer = createScriptedSummarizer()
      const harness = createHarness({ policy: ROOMY, summarizer })
      await harness.appended(talk(30))
      const elsewhere = harness.restart({ summarizer: createScriptedSummarizer({ model: 'another' }) })
      summarizer.answer = async (_prepared, call) => {
        if (call !== 1) return undefined
        if (meanwhile === 'pruned') await elsewhere.compact('force')
        else
          await adoptEdition(
            elsewhere,
            await editionOf(elsewhere, { ...ROOMY, chunkSize: 7 }, createScriptedSummarizer({ model: 'another' })),
          )
        return { text: 'bought and late' }
      }
      await harness.compact('force')
      const [aside, ...more] = await harness.eventsOf('SummarySetAside')
      expect(more).toEqual([])
      expect(aside?.data).toMatchObject({
        messageIds: expect.arrayContaining(['m0']),
        summary: 'bought and late',
        summarizer: { usage: { promptTokens: 10, completionTokens: 5 } },
      })
      expect(await harness.restart().folded()).toEqual(await harness.restart().conversations.load(CONVERSATION))
      const paid = requestsOf(summarizer)
      expect(
        E.isRight(meanwhile === 'pruned' ? await undo(harness, 1) : await revertEdition(harness, CONVERSATION, BY)),
      ).toBe(true)
      await harness.compact('force')
      expect(requestsOf(summarizer).filter((hash) => hash === paid[0])).toHaveLength(1)
      expect((await harness.conversations.load(CONVERSATION)).batches.map(({ content }) => content).join()).toContain(
        'bought and late',
      )
      const { problems } = await createVerify({
        log: harness.log,
        checkRequest: checkScripted,
        rowCheck: () => noRows,
      })()
      expect(problems).toEqual([])
      // After another undo it is inactive like any other.
      const { cycles } = await harness.conversations.load(CONVERSATION)
      await undo(harness, cycles)
      await harness.compact('force')
      expect(requestsOf(summarizer).filter((hash) => hash === paid[0])).toHaveLength(2)
    },
  )

  it('is reused by an edition with the same request', async () => {
    const summarizer = createScriptedSummarizer()
    const harness = createHarness({ policy: ROOMY, summarizer })
    await harness.appended(talk(30))
    const elsewhere = harness.restart({ summarizer: createScriptedSummarizer({ model: 'another' }) })
    summarizer.answer = async (_prepared, call) => {
      if (call === 1) await elsewhere.compact('force')
      return undefined
    }
    await harness.compact('force')
    const [prepared] = summarizer.calls
    if (prepared === undefined) throw new Error('nobody was asked')
    const found = await recallSummaries(harness.log, CONVERSATION, () => editionStreams(harness.log))(prepared)
    expect(found).toMatchObject({
      summary: usualSummary(prepared.job),
      summarizer: { requestHash: prepared.requestHash, reused: true },
    })
  })

  it('of batches that were merged meanwhile is recorded too; one without a cost is not', async () => {
    const harness = await withCycles(3)
    const { batches } = await harness.conversations.load(CONVERSATION)
    const summarizer = createScriptedSummarizer()
    const buyer = (by: Summarizer): Summarization =>
      new Summarization(
        { summarizer: by, persona: '', registerPrompt: createRegisterPrompt(harness.log, harness.clock) },
        {
          conversationId: CONVERSATION,
          provenance: BY,
          signal: undefined,
          goOn: () => true,
          record: async (...commands) => {
            const handled = await harness.conversations.handle(CONVERSATION, commands, BY)
            return E.isLeft(handled) ? failedRun(handled.left) : E.right(handled.right.state)
          },
        },
      )
    const state = await harness.conversations.load(CONVERSATION)
    const [first, , third] = batches
    if (first === undefined || third === undefined) throw new Error('too few batches')
    for (const by of [summarizer, createExtractiveSummarizer()])
      await expect(buyer(by).resummarize(state, [first, third], 'soft')).resolves.toMatchObject(
        E.left({ kind: 'Failed', failure: { kind: 'BatchesNotActive' } }),
      )
    expect((await harness.eventsOf('SummarySetAside')).map(({ data }) => data.sourceBatchIds)).toEqual([
      [first.batchId, third.batchId],
    ])
  })
})
