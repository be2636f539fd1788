/**
 * Properties of the audit: the statistics count exactly the summaries that were paid for, whatever failed or was pruned;
 * and the explanation of a batch leads to every message that it archived.
 */
import { describe, expect, it } from '@jest/globals'
import { isSummarizerFailure } from '../../src/ports/summarizer.js'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { revertEdition, undoCycles } from '../../src/application/editions/undo-and-revert.js'
import { traceLine } from '../../src/application/history/trace-line.js'
import { contextOf } from '../../src/domain/compaction/context.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import { contentText, toChatMessage, type MessageInput } from '../../src/domain/values/message.js'
import { messageText } from '../../src/interfaces/cli/reports/context.js'
import { busyPolicies, interleavings, namedHistories } from '../support/arbitraries.js'
import { SMALL, talk } from '../support/conversations.js'
import { batchesInForce, editionHistory, editionSteps, everyStep, projectedEvents } from '../support/edition-history.js'
import {
  CONVERSATION,
  createHarness,
  createScriptedSummarizer,
  type Harness,
  type ScriptedSummarizer,
} from '../support/harness.js'
import { interleave } from '../support/interleave.js'
import {
  explainConversation,
  batchesOf,
  counted,
  explained,
  leaves,
  makeEdition,
} from '../support/explain-conversation.js'
import { isLong, runsOf } from '../support/length.js'

interface Bill {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly durationMs: number
}

/** A scripted summarizer whose answers are numbered, each with unique usage figures. */
function billing(model = 'scripted-1'): { readonly summarizer: ScriptedSummarizer; readonly bills: Map<string, Bill> } {
  const bills = new Map<string, Bill>()
  const summarizer = createScriptedSummarizer({ model })
  const usual = summarizer.summarize.bind(summarizer)
  Object.assign(summarizer, {
    summarize: async (prepared: Parameters<typeof usual>[0]) => {
      const answer = await usual(prepared)
      if (isSummarizerFailure(answer)) return answer
      const number = bills.size + 1
      const bill = { promptTokens: 1_000 + number, completionTokens: 10_000 + 7 * number, durationMs: 3 * number }
      bills.set(`answer-${String(number)}`, bill)
      const { promptTokens, completionTokens, durationMs } = bill
      return {
        ...answer,
        responseId: `answer-${String(number)}`,
        usage: { promptTokens, completionTokens },
        durationMs,
      }
    },
  })
  return { summarizer, bills }
}

const sum = (bills: readonly Bill[]): Bill =>
  bills.reduce(
    (all, bill) => ({
      promptTokens: all.promptTokens + bill.promptTokens,
      completionTokens: all.completionTokens + bill.completionTokens,
      durationMs: all.durationMs + bill.durationMs,
    }),
    { promptTokens: 0, completionTokens: 0, durationMs: 0 },
  )

/** The ids of the recorded answers. A set, since an answer that is recorded twice is paid for once. */
async function recordedAnswers(harness: Harness): Promise<Set<string>> {
  const events = [
    ...(await harness.eventsOf('ChunkSummarized')),
    ...(await harness.eventsOf('BatchesResummarized')),
    ...(await harness.eventsOf('SummarySetAside')),
  ]
  return new Set(events.flatMap(({ data }) => data.summarizer.responseId ?? []))
}

async function purchases(harness: Harness): Promise<Bill & { readonly summaries: number }> {
  const use = (await counted(harness)).total.models.find(({ model }) => model === 'scripted-1')
  const { summaries = 0, promptTokens = 0, completionTokens = 0, durationMs = 0 } = use ?? {}
  return { summaries, promptTokens, completionTokens, durationMs }
}

/** Appends messages one by one and compacts after each, as the ledger does. */
async function live(harness: Harness, messages: readonly MessageInput[]): Promise<void> {
  for (const message of messages) {
    await harness.appended(message)
    await harness.compact()
  }
}

/** Each message that is not live is a leaf of exactly one active batch, and no batch between them is missing. */
async function expectTraced(harness: Harness): Promise<void> {
  const state = await harness.conversations.load(CONVERSATION)
  const leafIds: string[] = []
  for (const { batchId } of state.batches) {
    const { batch } = await explained(harness, 'batch', { batchId, open: true })
    expect(batchesOf(batch).flatMap(({ missing }) => missing)).toEqual([])
    leafIds.push(...leaves(batch).map(({ messageId }) => messageId))
  }
  const liveIds = new Set([...state.leading, ...state.retained, ...state.window].map(({ messageId }) => messageId))
  const compacted = (await harness.eventsOf('MessageAppended')).flatMap(({ data }) =>
    liveIds.has(data.messageId) ? [] : [data.messageId],
  )
  expect(leafIds.toSorted()).toEqual(compacted.toSorted())
}

describe('properties of the audit', () => {
  it('stats are the sum of the recorded answers, after any history with crashes', async () => {
    await fc.assert(
      fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(30), async (policy, history, steps) => {
        const { summarizer, bills } = billing()
        const { harness, crashes } = await interleave(
          policy,
          history,
          steps,
          undefined,
          createHarness({ policy, summarizer }),
        )
        const recorded = await recordedAnswers(harness)
        expect([...recorded].filter((id) => !bills.has(id))).toEqual([])
        const paid = [...bills].filter(([id]) => recorded.has(id)).map(([, bill]) => bill)
        expect(await purchases(harness)).toEqual({ summaries: paid.length, ...sum(paid) })
        // Without concurrency and crashes no answer is lost, so the sum has every answer.
        const isUndisturbed = steps.every(({ step }) => step !== 'meanwhile' && step !== 'race' && step !== 'fault')
        expect(paid.length).toBeGreaterThanOrEqual(isUndisturbed && crashes === 0 ? bills.size : 0)
      }),
      { numRuns: runsOf(60) },
    )
  })

  it('stats count appended messages and their tokens, whatever was pruned', async () => {
    await fc.assert(
      fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(30), async (policy, history, steps) => {
        const { harness, appended } = await interleave(policy, history, steps)
        const { total } = await counted(harness)
        const events = await harness.eventsOf('MessageAppended')
        const tokens = (isAnswer: boolean): number =>
          events
            .filter(({ data }) => (data.role === 'assistant') === isAnswer)
            .reduce((all, { data }) => all + data.tokens, 0)
        expect([total.messages, total.tokensIn, total.tokensOut]).toEqual([
          appended.length,
          tokens(false),
          tokens(true),
        ])
        const state = await harness.folded()
        expect([total.cycles, total.messagesCompressed]).toEqual([state.cycles, state.messagesCompressed])
      }),
      { numRuns: runsOf(30) },
    )
  })

  it('stats count the tokens of all contexts and the current state, after any history: pins, late results, undone cycles, editions', async () => {
    let shortened = 0
    async function expectTrue(harness: Harness): Promise<void> {
      const { total } = await counted(harness)
      let sent = 0
      for (const { revision, data } of await harness.eventsOf('MessageAppended')) {
        if (data.role !== 'assistant') continue
        const context = contextOf(await harness.conversations.loadAt(CONVERSATION, revision - 1))
        if (E.isLeft(context)) continue
        sent += context.right.tokens
        if (context.right.shortened !== undefined) shortened += 1
      }
      const { cycles, messagesCompressed, batches } = await harness.conversations.load(CONVERSATION)
      expect([total.tokensSent, total.cycles, total.messagesCompressed, total.batches]).toEqual([
        sent,
        cycles,
        messagesCompressed,
        batches.length,
      ])
    }
    await fc.assert(
      fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(30), async (policy, history, steps) => {
        await expectTrue((await interleave(policy, history, steps)).harness)
      }),
      { numRuns: runsOf(30) },
    )
    expect(shortened).toBeGreaterThan(0)
    await fc.assert(
      fc.asyncProperty(editionSteps, async (steps) => {
        await expectTrue(
          await editionHistory(
            steps,
            createHarness({ policy: { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 } }),
          ),
        )
      }),
      { numRuns: runsOf(20) },
    )
  })

  it('purchases are still counted after they are archived and pruned', async () => {
    const { summarizer, bills } = billing()
    const harness = createHarness({ policy: SMALL, summarizer })
    await harness.appended(talk(18))
    await harness.compact('ahead')
    const before = await purchases(harness)
    expect(before).toEqual({ summaries: bills.size, ...sum([...bills.values()]) })
    expect(before.summaries).toBeGreaterThan(2)
    summarizer.answer = () => ({ failure: 'unreachable' })
    await harness.appended(talk(10, 18))
    await harness.compact()
    expect((await harness.eventsOf('MessagesPruned')).length).toBeGreaterThan(0)
    expect(await purchases(harness)).toEqual(before)
  })

  it('every message that left the window is an unchanged leaf of exactly one active batch, after any history', async () => {
    await fc.assert(
      fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(30), async (policy, history, steps) => {
        const { harness } = await interleave(policy, history, steps)
        const originals = new Map((await harness.eventsOf('MessageAppended')).map(({ data }) => [data.messageId, data]))
        const pruned = (await harness.eventsOf('MessagesPruned')).flatMap(({ data }) => data.pruned)
        const { batches } = await harness.conversations.load(CONVERSATION)
        const leafIds: string[] = []
        for (const { batchId } of batches) {
          const { batch } = await explained(harness, 'batch', { batchId, open: true })
          for (const { messageId, message } of leaves(batch)) {
            const original = originals.get(messageId)
            expect(message).toEqual(original === undefined ? undefined : toChatMessage(original))
            leafIds.push(messageId)
          }
        }
        expect(leafIds.toSorted()).toEqual(pruned.flatMap(({ messageIds }) => messageIds).toSorted())
        // The batch that archived a message leads to it too, even if it was merged into a deeper one since.
        for (const { batchId, messageIds } of pruned) {
          const { batch } = await explained(harness, 'batch', { batchId, open: true })
          expect(leaves(batch).map(({ messageId }) => messageId)).toEqual(messageIds)
          expect(batch.cycle?.recorded.revision).toBe(
            (await harness.eventsOf('MessagesPruned')).find(({ data }) =>
              data.pruned.some((part) => part.batchId === batchId),
            )?.revision,
          )
        }
      }),
      { numRuns: runsOf(25) },
    )
  })

  it('the same holds after an edition was adopted, a cycle was undone, or the edition was reverted', async () => {
    let adopted = 0
    await fc.assert(
      fc.asyncProperty(
        busyPolicies,
        busyPolicies,
        fc.integer({ min: 20, max: 60 }),
        fc.constantFrom('nothing', 'undo', 'revert'),
        fc.nat(30),
        async (policy, editionPolicy, count, then, more) => {
          const harness = createHarness({ policy: { ...policy, contextBudget: 0.4 } })
          await live(harness, talk(count))
          const { summarizer, bills } = billing('another')
          await makeEdition(harness, 'e1', { ...editionPolicy, contextBudget: 0.4 }, summarizer)
          adopted += (await harness.eventsOf('EditionAdopted')).length
          await expectTraced(harness)
          await live(harness, talk(more, count))
          await expectTraced(harness)
          const by = { actor: 'test', correlationId: 'c', causationId: 'c' }
          if (then === 'undo')
            await undoCycles(harness, CONVERSATION, (await harness.conversations.load(CONVERSATION)).cycles, by)
          else if (then === 'revert') await revertEdition(harness, CONVERSATION, by)
          await expectTraced(harness)
          await live(harness, talk(10, count + more))
          await expectTraced(harness)
          // The edition's summaries are counted once, whether it was adopted or reverted.
          const use = (await counted(harness)).total.models.find(({ model }) => model === 'another')
          const { promptTokens = 0, completionTokens = 0, durationMs = 0 } = use ?? {}
          expect({ promptTokens, completionTokens, durationMs }).toEqual(sum([...bills.values()]))
        },
      ),
      { numRuns: runsOf(30) },
    )
    expect(adopted).toBeGreaterThan(isLong ? 20 : 0)
  })

  it('every line of the view is traced to a batch that contains it', async () => {
    await fc.assert(
      fc.asyncProperty(busyPolicies, namedHistories(50), async (policy, history) => {
        const harness = createHarness({ policy: { ...policy, view: 'clip-archive' } })
        for (const message of history) {
          await harness.append({ ...message, pinned: false })
          await harness.compact()
        }
        const { view } = await harness.conversations.load(CONVERSATION)
        for (const part of view?.parts ?? []) {
          if (part.kind !== 'batch') continue
          for (const line of part.text.split('\n').filter((text) => text.trim() !== '')) {
            const answer = await explained(harness, 'batch', { line }).catch(() =>
              explained(harness, 'several', { line }),
            )
            const found =
              answer.kind === 'batch'
                ? [answer.batch.batchId]
                : answer.sources.flatMap((source) => (source.kind === 'batch' ? source.batchId : []))
            expect(found).toContain(part.batchId)
          }
        }
      }),
      { numRuns: runsOf(25) },
    )
  })

  it('every line of every context at any revision is traced to its source or classified: pins, late results, shortened texts, both views', async () => {
    const counts = { message: 0, batch: 0, several: 0, view: 0, placeholder: 0, note: 0, inserted: 0, shortened: 0 }

    /** @param origin of the line: a message, the view, or a text that the context inserted */
    async function expectExplained(
      harness: Harness,
      line: string,
      origin: 'message' | 'view' | 'inserted',
    ): Promise<void> {
      const answer = await explainConversation(harness, { line })
      if (E.isLeft(answer)) throw new Error(`${answer.left.kind}: ${JSON.stringify(line)}`)
      const { right: explanation } = answer
      const found = explanation.kind === 'shown-only' ? explanation.what : explanation.kind
      counts[found] += 1
      // A short line can occur anywhere.
      if (line.length < 20) return
      const sources = ['message', 'batch', 'several']
      expect(
        { message: sources, view: [...sources, 'view'], inserted: ['placeholder', 'note', 'inserted', 'message'] }[
          origin
        ],
      ).toContain(found)
    }

    async function expectAllExplained(harness: Harness, picks: readonly number[]): Promise<void> {
      const { revision: head } = await harness.conversations.load(CONVERSATION)
      if (head < 0) return
      for (const pick of picks) {
        const context = contextOf(await harness.conversations.loadAt(CONVERSATION, pick % (head + 1)))
        if (E.isLeft(context)) continue
        const { messages, messageIds, viewAt, viewOffset = 0, shortened } = context.right
        counts.shortened += shortened === undefined ? 0 : 1
        const checkedLines = new Set<string>()
        for (const [at, message] of messages.entries()) {
          const content = contentText(message.content)
          const ofView = at === viewAt ? content.slice(viewOffset) : ''
          const texts = [
            at === viewAt ? content.slice(0, viewOffset) : content,
            ofView,
            ...(message.tool_calls ?? []).map((call) => call.function?.arguments ?? ''),
          ]
          for (const line of texts.flatMap((text) => text.split('\n')).filter((text) => text.trim() !== '')) {
            if (checkedLines.has(line)) continue
            checkedLines.add(line)
            const origin = ofView.includes(line) ? 'view' : messageIds[at] === undefined ? 'inserted' : 'message'
            await expectExplained(harness, line, origin)
          }
          // The lines that are printed around a text with an id or a name.
          if (messageIds[at] === undefined && message.role !== 'tool') continue
          const [first = '', ...rest] = messageText(message, messageIds[at], false).split('\n')
          for (const line of [first, ...rest.slice(rest.length - (message.tool_calls ?? []).length)])
            await expectExplained(harness, line, messageIds[at] === undefined ? 'inserted' : 'message')
        }
      }
    }

    const moments = fc.array(fc.nat(), { minLength: 3, maxLength: 3 })
    const views = fc.constantFrom('clip-archive' as const, 'session-summary' as const, 'working-state' as const)
    await fc.assert(
      fc.asyncProperty(
        busyPolicies,
        views,
        namedHistories(40),
        interleavings(20),
        moments,
        async (policy, view, history, steps, picks) => {
          await expectAllExplained((await interleave({ ...policy, view }, history, steps)).harness, picks)
        },
      ),
      { numRuns: runsOf(15) },
    )
    await fc.assert(
      fc.asyncProperty(editionSteps, views, moments, async (steps, view, picks) => {
        await expectAllExplained(
          await editionHistory(
            steps,
            createHarness({ policy: { ...SMALL, modelMaxTokens: 1_600, contextBudget: 0.4, view } }),
          ),
          picks,
        )
      }),
      {
        numRuns: runsOf(6),
        // A message that an adoption restored is compacted again when the adoption is reverted.
        examples: [
          [
            [
              { do: 'compact-while', nth: 2, step: { do: 'adopt', edition: 'e1' } },
              { do: 'adopt', edition: 'e1' },
              { do: 'compact' },
              { do: 'revert' },
            ],
            'clip-archive',
            [0, 0, 1_208_338_746],
          ],
        ],
      },
    )
    for (const count of [counts.message, counts.batch, counts.view, counts.shortened]) expect(count).toBeGreaterThan(0)
  })

  it('a line of any message leads to the active batch that contains it, and to none while it is live, whatever was adopted, reverted or undone', async () => {
    const tracedCounts = { conversation: 0, edition: 0 }
    async function expectInForce(harness: Harness): Promise<void> {
      const state = await harness.conversations.load(CONVERSATION)
      const events = await projectedEvents(harness.store, CONVERSATION)
      const expectedBatches = batchesInForce(events, state)
      const liveIds = new Set([...state.leading, ...state.retained, ...state.window].map(({ messageId }) => messageId))
      const streams = new Map(
        events.flatMap(({ type, data, stream }) => (type === 'BatchArchived' ? [[data.batchId, stream] as const] : [])),
      )
      // Every third message, to save time; chunks have other sizes.
      for (const {
        data: { messageId, content },
      } of (await harness.eventsOf('MessageAppended')).filter((_event, at) => at % 3 === 0)) {
        const batchId = liveIds.has(messageId) ? undefined : expectedBatches.get(messageId)
        const trace = await traceLine(harness.log, state, contentText(content).slice(0, 25))
        expect(
          trace?.kind === 'sources' &&
            trace.sources.map((source) => [source.kind === 'message' && source.messageId, source.batchId]),
        ).toEqual([[messageId, batchId]])
        if (batchId !== undefined)
          tracedCounts[streams.get(batchId) === conversationStream(CONVERSATION) ? 'conversation' : 'edition'] += 1
      }
    }
    const harnessOf = (view: 'clip-archive' | 'session-summary'): Harness =>
      createHarness({ policy: { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25, view } })
    const whole = harnessOf('session-summary')
    await editionHistory(everyStep, whole, () => expectInForce(whole))
    expect(Math.min(tracedCounts.conversation, tracedCounts.edition)).toBeGreaterThan(0)
    await fc.assert(
      fc.asyncProperty(editionSteps, fc.constantFrom('clip-archive', 'session-summary'), async (steps, view) => {
        await expectInForce(await editionHistory(steps, harnessOf(view)))
      }),
      { numRuns: runsOf(20) },
    )
  })
})
