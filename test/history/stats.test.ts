/** Statistics of small histories with known sums. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { evolve } from '../../src/domain/conversation/evolve.js'
import { initialState } from '../../src/domain/conversation/conversation.js'
import { loadConversation } from '../../src/application/recording/load-conversation.js'
import type { Event } from '../../src/domain/events/index.js'
import { conversationStream, editionStream } from '../../src/domain/values/ids.js'
import type { MessageInput } from '../../src/domain/values/message.js'
import type { PriceTable } from '../../src/domain/reports/prices.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import {
  appended,
  archived,
  compactionCouldNotHelp,
  compactionFailed,
  configured,
  eventsFor,
  prunedBy,
  resummarized,
  summarized,
  summarizer,
} from '../support/builders.js'
import { answering, calling, say, SMALL, talk } from '../support/conversations.js'
import { statsLines } from '../../src/interfaces/cli/reports/stats.js'
import { undo } from '../support/edition-history.js'
import { appended as recordEvents, eventNamed } from '../support/events.js'
import { CONVERSATION, contextIn, createHarness, createScriptedSummarizer, type Harness } from '../support/harness.js'
import { counted, makeEdition } from '../support/explain-conversation.js'
import { findEstimator } from '../../src/application/recording/estimators.js'

const usage = { promptTokens: 1_000, completionTokens: 100 }

async function withEvents(
  events: readonly Event[],
  conversationId = CONVERSATION,
  harness = createHarness(),
): Promise<Harness> {
  const stream = conversationStream(conversationId)
  const stored = await harness.log.store.append(stream, 'no_stream', eventsFor(stream, events).events)()
  if (E.isLeft(stored)) throw new Error(stored.left.kind)
  return harness
}

/** The tokens that the forged cycle of the story saved. */
async function savedByStory(harness: Harness, conversationId = CONVERSATION): Promise<number> {
  const events = await harness.events(conversationId)
  const at = events.findIndex(({ type }) => type === 'MessagesPruned')
  const tokensUntil = (end: number): number =>
    contextIn(events.slice(0, end).reduce(evolve, initialState(conversationId, findEstimator))).tokens
  return tokensUntil(at) - tokensUntil(at + 1)
}

const story: readonly Event[] = [
  configured({ estimator: defaultEstimator.name }),
  appended('m1', { tokens: 10 }),
  appended('m2', { role: 'assistant', tokens: 20 }),
  appended('m3', { role: 'tool', toolCallId: 'x', tokens: 30 }),
  summarized('k1', ['m1', 'm2'], { summarizer: summarizer({ model: 'small-1', usage, durationMs: 200 }) }),
  archived('b1', ['m1', 'm2'], { chunkId: 'k1' }),
  prunedBy({ b1: ['m1', 'm2'] }, { tokensBefore: 60, tokensAfter: 42 }),
  appended('m4', { role: 'assistant', tokens: 5 }),
]

describe('stats', () => {
  it('skip and name a conversation with an unreadable event, its own or of its edition', async () => {
    const harness = await withEvents(story)
    await withEvents(story, 'neighbour', harness)
    const { total: before } = await counted(harness)
    await withEvents(story, 'bad', harness)
    await recordEvents(harness.log.store, conversationStream('bad'), [eventNamed('odd')])
    const { total, each } = await counted(harness)
    expect(new Set(each.map(({ conversationId }) => conversationId))).toEqual(new Set([CONVERSATION, 'neighbour']))
    expect(total).toEqual({
      ...before,
      uncounted: [
        { conversationId: 'bad', reason: expect.stringMatching(/^conversation-bad revision 8 \(Noted\): /u) },
      ],
    })
    await recordEvents(harness.log.store, editionStream('e1', 'neighbour'), [eventNamed('odd too')])
    expect((await counted(harness)).total).toMatchObject({
      conversations: 1,
      uncounted: [{ conversationId: 'bad' }, { conversationId: 'neighbour', reason: expect.stringContaining('e1') }],
    })
  })

  it('count messages, cycles, and the tokens sent with and without compaction', async () => {
    const harness = await withEvents(story)
    const { total } = await counted(harness)
    expect(total).toMatchObject({
      conversations: 1,
      messages: 4,
      tokensIn: 40,
      tokensOut: 25,
      cycles: 1,
      messagesCompressed: 2,
      batches: 1,
      made: { cycles: 1, batches: 1, resummarizations: 0 },
      tokensSaved: await savedByStory(harness),
      answers: 2,
    })
    // m2 answered m1 (10 tokens); m4 answered the context after the cycle, which would have had 60 without it.
    const { tokens } = contextIn(
      (await harness.events()).slice(0, 7).reduce(evolve, initialState(CONVERSATION, findEstimator)),
    )
    expect([total.tokensSent, total.tokensSentUncompacted]).toEqual([10 + tokens, 10 + 60])
  })

  it('count for each answer the context that it answered', async () => {
    const harness = createHarness({ policy: { ...SMALL, buffer: 2 } })
    let sent = 0
    let all = 0
    // Calls with results that come directly, late or never: placeholders are part of the context.
    const calls = (at: number): MessageInput[] => [
      calling(`c${String(at)}`, [`x${String(at)}`, `y${String(at)}`]),
      ...(at % 3 === 0 ? [] : [answering(`r${String(at)}`, `x${String(at)}`)]),
    ]
    const late = [answering('late', 'y0'), answering('later', 'x36')]
    const messages = [
      ...talk(80).flatMap((message, at) => (at % 12 === 0 ? [message, ...calls(at)] : [message])),
      ...late,
      say(99),
    ]
    for (const message of messages) {
      const context = message.role === 'assistant' ? (await harness.context()).tokens : 0
      sent += context
      all +=
        context === 0 ? 0 : (await harness.eventsOf('MessageAppended')).reduce((sum, { data }) => sum + data.tokens, 0)
      await harness.appended(message)
      await harness.compact()
    }
    const { total } = await counted(harness)
    expect(total.cycles).toBeGreaterThan(2)
    expect([total.tokensSent, total.tokensSentUncompacted]).toEqual([sent, all])
  })

  it('never count a context above the hard limit', async () => {
    const big = configured({ estimator: defaultEstimator.name })
    const small: Event = { ...big, data: { ...big.data, policy: { ...big.data.policy, modelMaxTokens: 1_000 } } }
    const harness = await withEvents([small, appended('m1', { content: 'word '.repeat(4_000), tokens: 5_002 })])
    const { tokens } = await harness.context()
    await harness.appended({ id: 'm2', role: 'assistant', content: 'so it is' })
    const { total } = await counted(harness)
    expect(tokens).toBeLessThan(1_000)
    expect([total.tokensSent, total.tokensSentUncompacted]).toEqual([tokens, 5_002])
  })

  it('calculate the cost by model and currency, without guessed prices', async () => {
    const by = (model: string) => summarizer({ model, usage, durationMs: 10 })
    const harness = await withEvents([
      configured(),
      appended('m1'),
      appended('m2'),
      summarized('k1', ['m1'], { summarizer: by('small-1') }),
      summarized('k2', ['m2'], { summarizer: by('small-1') }),
      summarized('k3', ['m1'], { summarizer: by('fr-1') }),
      summarized('k4', ['m1'], { summarizer: by('nobody-knows') }),
      summarized('k5', ['m1'], {
        summarizer: summarizer({
          provider: 'none',
          model: 'extractive-1',
          strategy: 'extractive',
          durationMs: 3,
          fallback: true,
        }),
      }),
    ])
    const prices: PriceTable = {
      'small-1': { promptPerMillion: 500, completionPerMillion: 1_000, currency: 'USD' },
      'fr-1': { promptPerMillion: 1_000, completionPerMillion: 0, currency: 'EUR' },
    }
    const { total } = await counted(harness, prices)
    expect(
      total.models.map(({ model, summaries, promptTokens, completionTokens, charge }) => ({
        model,
        summaries,
        promptTokens,
        completionTokens,
        charge,
      })),
    ).toEqual([
      {
        model: 'small-1',
        summaries: 2,
        promptTokens: 2_000,
        completionTokens: 200,
        charge: { kind: 'priced', currency: 'USD', amount: 1.2 },
      },
      { model: 'fr-1', summaries: 1, ...usage, charge: { kind: 'priced', currency: 'EUR', amount: 1 } },
      { model: 'nobody-knows', summaries: 1, ...usage, charge: { kind: 'unpriced' } },
      { model: 'extractive-1', summaries: 1, promptTokens: 0, completionTokens: 0, charge: { kind: 'free' } },
    ])
    expect(total).toMatchObject({
      cost: [
        { currency: 'EUR', amount: 1 },
        { currency: 'USD', amount: 1.2 },
      ],
      unpriced: ['nobody-knows'],
      fallbacks: 1,
      summarizingMs: 43,
    })
  })

  it('estimate unreported usage from the messages and the summary, and count the estimates', async () => {
    const harness = await withEvents([
      configured(),
      appended('m1', { tokens: 70 }),
      appended('other', { tokens: 1_000 }),
      appended('m2', { tokens: 30 }),
      summarized('k1', ['m1', 'm2'], {
        firstRevision: 1,
        lastRevision: 3,
        summary: 'x'.repeat(40),
        summarizer: summarizer({ model: 'silent' }),
      }),
      archived('b1', ['m1', 'm2'], { chunkId: 'k1', tokens: 25 }),
      archived('b2', ['other'], { tokens: 15 }),
      prunedBy({ b1: ['m1', 'm2'], b2: ['other'] }),
      resummarized('b3', ['b1', 'b2'], { summarizer: summarizer({ model: 'silent' }) }),
    ])
    const { total } = await counted(harness)
    const second = defaultEstimator.text('summary of b3')
    expect(total.models).toMatchObject([
      { model: 'silent', summaries: 2, estimated: 2, promptTokens: 100 + 40, completionTokens: 10 + second },
    ])
  })

  it('count a reused summary as free', async () => {
    const { total } = await counted(
      await withEvents([
        configured(),
        appended('m1'),
        summarized('k1', ['m1'], {
          summarizer: summarizer({ model: 'small-1', usage, durationMs: 200, reused: true }),
        }),
      ]),
    )
    expect(total).toMatchObject({ reused: 1, models: [], summarizingMs: 0 })
  })

  it('count failures by kind, and ineffective compactions by reason', async () => {
    const failed = ['timeout', 'empty', 'timeout'].map((failure) => compactionFailed({ failure }))
    const { total } = await counted(
      await withEvents([configured(), appended('m1'), ...failed, compactionCouldNotHelp()]),
    )
    expect(total).toMatchObject({ failures: { timeout: 2, empty: 1 }, couldNotHelp: { 'recent-messages': 1 } })
  })

  it('count the usage of an edition, adopted or not; active data is that of the context', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(40))
    await harness.compact('force')
    const before = (await counted(harness)).total
    const [other, third] = [
      createScriptedSummarizer({ model: 'another' }),
      createScriptedSummarizer({ model: 'third' }),
    ]
    await makeEdition(harness, 'e1', SMALL, other)
    await makeEdition(harness, 'e2', SMALL, third, false)
    const { total } = await counted(harness)
    for (const { model, calls } of [other, third])
      expect(total.models.find((use) => use.model === model)).toMatchObject({
        summaries: calls.length,
        promptTokens: 10 * calls.length,
      })
    expect(other.calls.length).toBeGreaterThan(3)
    const { cycles, batches, messagesCompressed } = await harness.conversations.load(CONVERSATION)
    expect(total).toMatchObject({
      cycles,
      batches: batches.length,
      messagesCompressed,
      messages: before.messages,
      undone: 0,
      adopted: 1,
      reverted: 0,
    })
    const events = [
      ...(await harness.events()),
      ...(await harness.editionEvents('e1')),
      ...(await harness.editionEvents('e2')),
    ]
    const made = (type: Event['type']): number => events.filter((event) => event.type === type).length
    expect(total.made).toEqual({
      cycles: made('MessagesPruned'),
      batches: made('BatchArchived'),
      resummarizations: made('BatchesResummarized'),
    })
    const [adopted] = await harness.eventsOf('EditionAdopted')
    expect(total.tokensSaved - before.tokensSaved).toBe(
      (adopted?.data.tokensBefore ?? 0) - (adopted?.data.tokensAfter ?? 0),
    )
  })

  it('count as saved only the reduction of the shown contexts, not earlier shortening', async () => {
    const harness = createHarness({ policy: SMALL })
    const contextAt = async (revision: number): Promise<number> =>
      contextIn(await loadConversation(harness.log, CONVERSATION, revision)).tokens
    for (const message of [
      ...talk(4),
      ...[0, 1, 2].flatMap((at) => [
        calling(`ask${String(at)}`, [`call${String(at)}`]),
        answering(`told${String(at)}`, `call${String(at)}`, 'one of many lines\n'.repeat(2_000)),
        ...talk(6, 10 + 10 * at),
      ]),
    ]) {
      await harness.appended(message)
      await harness.compact()
    }
    const events = await harness.events()
    let [lost, inForce] = [0, 0]
    for (const [at, { type, revision }] of events.entries()) {
      if (type !== 'MessagesPruned') continue
      const archivedFrom = events.slice(0, at).findLastIndex((event) => event.type !== 'BatchArchived')
      lost += (await contextAt(events[archivedFrom]?.revision ?? 0)) - (await contextAt(revision))
      const event = events[at]
      if (event?.type === 'MessagesPruned') inForce += event.data.tokensBefore - event.data.tokensAfter
    }
    expect((await counted(harness)).total.tokensSaved).toBe(lost)
    // A precondition of this test: the results alone are longer than any context.
    expect(inForce).toBeGreaterThan(3 * lost)
  })

  it('count an undone cycle as made but not active, and as undone', async () => {
    const harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 } })
    for (const message of talk(60)) {
      await harness.appended(message)
      await harness.compact()
    }
    const before = (await counted(harness)).total
    expect(await undo(harness)).toBe(true)
    const { total } = await counted(harness)
    const { cycles, messagesCompressed, batches } = await harness.conversations.load(CONVERSATION)
    expect(total).toMatchObject({
      cycles,
      messagesCompressed,
      batches: batches.length,
      made: before.made,
      models: before.models,
      undone: 1,
    })
    expect([total.cycles, before.undone]).toEqual([before.cycles - 1, 0])
    expect(statsLines(total).slice(1, 3)).toEqual([
      expect.stringMatching(
        new RegExp(`^compaction +${String(cycles)} cycles?, ${String(messagesCompressed)} messages compacted`, 'u'),
      ),
      expect.stringContaining('1 cycle undone'),
    ])
  })

  it('of several conversations are the sum of each, reported one by one', async () => {
    const harness = await withEvents(story, 'a')
    await withEvents(story, 'b', harness)
    await withEvents([configured(), appended('m1', { tokens: 7 })], 'c', harness)
    const { total, each } = await counted(harness, {
      'small-1': { promptPerMillion: 1_000, completionPerMillion: 0, currency: 'USD' },
    })
    expect(each.map(({ conversationId, messages, cost }) => [conversationId, messages, cost])).toEqual([
      ['a', 4, [{ currency: 'USD', amount: 1 }]],
      ['b', 4, [{ currency: 'USD', amount: 1 }]],
      ['c', 1, []],
    ])
    expect(total).toMatchObject({
      conversations: 3,
      messages: 9,
      tokensIn: 87,
      tokensOut: 50,
      cycles: 2,
      tokensSaved: 2 * (await savedByStory(harness, 'a')),
      summarizingMs: 400,
      cost: [{ currency: 'USD', amount: 2 }],
    })
    expect(total.models).toMatchObject([{ model: 'small-1', summaries: 2, promptTokens: 2_000, completionTokens: 200 }])
  })

  it('of the fallback, of failures and of a scripted model match the run', async () => {
    const scripted = createScriptedSummarizer()
    const harness = createHarness({ policy: SMALL, summarizer: scripted })
    scripted.answer = (_prepared, call) => (call === 1 ? { failure: 'timeout' } : undefined)
    await harness.appended(talk(27))
    await harness.compact()
    await harness.appended(talk(27, 27))
    await harness.compact('force')
    const { total } = await counted(harness)
    const answered = scripted.calls.length - 1
    expect(answered).toBeGreaterThan(2)
    expect(total.failures).toEqual({ timeout: 1 })
    expect(total.fallbacks).toBeGreaterThan(0)
    expect(total.models.find(({ model }) => model === 'scripted-1')).toMatchObject({
      summaries: answered,
      promptTokens: answered * 10,
      completionTokens: answered * 5,
    })
  })
})
