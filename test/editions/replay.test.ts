/** Building editions: reused summaries, retries, the end of a replay, and adopting and dropping editions. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { either as E } from 'fp-ts'
import { createMemorySpending } from '../../src/adapters/memory/spending.js'
import { estimateReplay } from '../../src/application/editions/estimate.js'
import { revertEdition, undoCycles } from '../../src/application/editions/undo-and-revert.js'
import { editionStream } from '../../src/domain/values/ids.js'
import { hardLimit } from '../../src/domain/values/policy.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import { tokensOf } from '../../src/domain/reports/prices.js'
import { Tally, type Replay, type ReplayProgress } from '../../src/application/editions/replay.js'
import { coverageProblems } from '../support/coverage.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness, createScriptedSummarizer, type Answer, type Harness } from '../support/harness.js'
import { createEditor } from '../support/replays.js'

async function compacted(messages = 30): Promise<Harness> {
  const harness = createHarness({ policy: SMALL })
  for (const message of talk(messages)) {
    await harness.appended(message)
    await harness.compact('ahead')
  }
  return harness
}

const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }
const isSummary = ({ type }: { readonly type: string }): boolean =>
  type === 'ChunkSummarized' || type === 'BatchesResummarized'

describe('a replay', () => {
  it('reuses recorded results of the same requests without a call, and marks them as reused', async () => {
    const harness = await compacted()
    const editor = createEditor(harness, { summarizer: harness.summarizer })
    const calls = harness.summarizer.calls.length
    const estimate = await editor.estimate()
    expect(estimate).toMatchObject({ calls: 0 })
    const { editionId, conversations } = await editor.replay()
    // The same prompt, model and policy over the same messages need no call.
    expect(harness.summarizer.calls).toHaveLength(calls)
    expect(conversations[0]?.reused).toBe(estimate.reused)
    const made = (await harness.editionEvents(editionId)).filter(isSummary)
    const conversationSummaries = (await harness.events()).filter(isSummary)
    expect(made.length).toBeGreaterThan(3)
    expect(
      made.every(
        (event) => 'summarizer' in event.data && 'reused' in event.data.summarizer && event.data.summarizer.reused,
      ),
    ).toBe(true)
    const text = (event: (typeof made)[number]): unknown =>
      event.type === 'ChunkSummarized' ? [event.data.summary, event.data.summarizer.usage] : undefined
    expect(made.map(text)).toEqual(conversationSummaries.map(text))
  })

  it('reuses summaries of another edition', async () => {
    const harness = await compacted()
    const first = createEditor(harness)
    await first.replay()
    const secondSummarizer = createScriptedSummarizer({ model: 'another' })
    const second = createEditor(harness, { summarizer: secondSummarizer })
    // A setting that is not part of requests: another edition with the same requests.
    const result = await second.replay({ settings: { clipFirst: 1 } })
    expect(result.editionId).not.toBe((await first.replay()).editionId)
    expect([secondSummarizer.calls, result.conversations[0]?.reused]).toEqual([[], result.conversations[0]?.summaries])
  })

  it('does not reuse undone summaries', async () => {
    const harness = createHarness({ policy: { ...SMALL, contextBudget: 0.5 } })
    await harness.appended(talk(14))
    await harness.compact('force')
    const undone = await undoCycles(harness, CONVERSATION, 1, BY)
    expect(E.isRight(undone)).toBe(true)
    const hashes = new Set(
      (await harness.eventsOf('ChunkSummarized')).map((event) => event.data.summarizer.requestHash),
    )
    const before = harness.summarizer.calls.length
    const { editionId } = await createEditor(harness, { summarizer: harness.summarizer }).replay()
    const same = (await harness.editionEvents(editionId)).filter(
      (event) => event.type === 'ChunkSummarized' && hashes.has(event.data.summarizer.requestHash),
    )
    expect(same.length).toBeGreaterThan(0)
    expect(same.every((event) => event.type === 'ChunkSummarized' && event.data.summarizer.reused !== true)).toBe(true)
    expect(harness.summarizer.calls.length).toBeGreaterThan(before)
  })

  it('pays again for undone summaries, but not after an interruption or for another edition with the same request', async () => {
    const harness = createHarness({ policy: { ...SMALL, contextBudget: 0.5 } })
    await harness.appended(talk(16))
    await harness.compact('force')
    expect(E.isRight(await undoCycles(harness, CONVERSATION, 1, BY))).toBe(true)
    const { summarizer } = harness
    const before = summarizer.calls.length
    const editor = createEditor(harness, { summarizer })
    let result: Replay | undefined
    let runs = 0
    while (result?.ended !== 'done' && runs < 10) {
      // Each run ends after the first paid answer.
      const stop = new AbortController()
      summarizer.answer = () => {
        stop.abort()
        return undefined
      }
      result = await editor.replay({ signal: stop.signal })
      runs += 1
    }
    expect(result).toMatchObject({ ended: 'done', conversations: [{ outcome: { kind: 'done' } }] })
    expect(runs).toBeGreaterThan(2)
    const recorded = (await harness.editionEvents(result?.editionId ?? '')).filter(isSummary)
    expect(summarizer.calls.length - before).toBe(recorded.length)
    const otherEdition = await editor.replay({ settings: { clipFirst: 1 } })
    expect(otherEdition.editionId).not.toBe(result?.editionId)
    expect(otherEdition.conversations[0]?.summaries).toBeGreaterThan(0)
    expect(summarizer.calls.length - before).toBe(recorded.length)
  })

  it('retries transient failures, counts each attempt, and records no failure', async () => {
    const harness = await compacted()
    const kinds = ['rate-limited', 'timeout', 'unreachable'] as const
    const editor = createEditor(harness)
    editor.summarizer.answer = (_prepared, call): Answer => {
      const failure = call % 4 === 0 ? undefined : kinds[(call % 4) - 1]
      return failure === undefined ? undefined : { failure }
    }
    const result = await editor.replay()
    expect(result).toMatchObject({ ended: 'done', conversations: [{ outcome: { kind: 'done' } }] })
    expect(result.paid.calls).toBe(editor.summarizer.calls.length)
    expect((await harness.editionEvents(result.editionId)).filter(({ type }) => type === 'CompactionFailed')).toEqual(
      [],
    )
    // A timeout may have been paid for; the other two failures were not.
    const good = result.conversations[0]?.summaries ?? 0
    expect(tokensOf(result.spent)).toBeGreaterThan(15 * good)
    expect(tokensOf(result.spent)).toBe(result.paid.promptTokens + result.paid.completionTokens)
  })

  it('continues with the other conversations after a failure, records it, and retries that conversation in the next run', async () => {
    const harness = createHarness({ policy: SMALL })
    for (const id of ['c1', 'c2', 'c3']) await harness.appended(talk(30), id)
    const editor = createEditor(harness)
    editor.summarizer.answer = ({ job }) =>
      job.kind === 'chunk' && job.messages.some(({ messageId }) => messageId === 'bad')
        ? { failure: 'refused' }
        : undefined
    await harness.appended(
      [...talk(5, 30), { id: 'bad', role: 'user', content: 'x'.repeat(300) }, ...talk(12, 40)],
      'c2',
    )
    const conversationIds = ['c1', 'c2', 'c3']
    const first = await editor.replay({ conversationIds, concurrency: 2 })
    expect(first.conversations.map(({ outcome }) => outcome.kind)).toEqual(['done', 'stopped', 'done'])
    expect(first.conversations[1]?.outcome).toMatchObject({ failure: { kind: 'SummarizerFailed', failure: 'refused' } })
    editor.summarizer.answer = () => undefined
    const second = await editor.replay({ conversationIds })
    expect(second.conversations.map(({ outcome }) => outcome.kind)).toEqual(['done', 'done', 'done'])
    expect(
      (await harness.editionEvents(first.editionId, 'c2')).filter(({ type }) => type === 'CompactionFailed'),
    ).toHaveLength(1)
  })

  it('ends at a failure that affects every conversation', async () => {
    const harness = createHarness({ policy: SMALL })
    const conversationIds = Array.from({ length: 6 }, (_, at) => `c${String(at)}`)
    for (const id of conversationIds) await harness.appended(talk(30), id)
    const editor = createEditor(harness)
    editor.summarizer.answer = () => ({ failure: 'unauthorized' })
    const result = await editor.replay({ conversationIds, concurrency: 1 })
    expect(result.ended).toBe('failing')
    expect(result.conversations.map(({ outcome }) => outcome.kind)).toEqual([
      'stopped',
      'postponed',
      'postponed',
      'postponed',
      'postponed',
      'postponed',
    ])
    expect(editor.summarizer.calls).toHaveLength(1)
  })

  it('stops on request, keeps what is recorded, and continues from there', async () => {
    const harness = await compacted(60)
    const editor = createEditor(harness)
    const stop = new AbortController()
    editor.summarizer.answer = (_prepared, call) => {
      if (call === 3) stop.abort()
      return undefined
    }
    const first = await editor.replay({ signal: stop.signal })
    expect(first).toMatchObject({ ended: 'asked', conversations: [{ outcome: { kind: 'postponed' }, summaries: 3 }] })
    const second = await editor.replay()
    expect(second).toMatchObject({
      editionId: first.editionId,
      ended: 'done',
      conversations: [{ messages: 60, outcome: { kind: 'done' } }],
    })
    const bought = (await harness.editionEvents(first.editionId)).filter(isSummary).length
    expect(editor.summarizer.calls).toHaveLength(bought)
  })

  it('skips a conversation that another process is building', async () => {
    const harness = await compacted()
    const editor = createEditor(harness)
    const { editionId } = await editor.replay()
    await harness.appended(talk(20, 100))
    const otherLease = await harness.claims.take(`edition:${editionId}:${CONVERSATION}`, 'somebody else', 1_000_000_000)
    expect(await editor.replay()).toMatchObject({ ended: 'done', conversations: [{ outcome: { kind: 'busy' } }] })
    await otherLease?.release()
    expect(await editor.replay()).toMatchObject({ conversations: [{ outcome: { kind: 'done' }, messages: 50 }] })
  })

  it('reports its progress, and the estimate is close to the real cost', async () => {
    const harness = await compacted(60)
    const editor = createEditor(harness)
    const estimate = await editor.estimate({ price: { promptPerMillion: 1, completionPerMillion: 2, currency: 'EUR' } })
    expect(estimate).toMatchObject({
      conversations: 1,
      upToDate: 0,
      messages: 60,
      messagesOf: 60,
      reused: 0,
      spent: { promptTokens: 0, completionTokens: 0, costMicros: 0 },
      currency: 'EUR',
      costMicros: estimate.promptTokens + 2 * estimate.completionTokens,
    })
    expect(editor.summarizer.calls).toEqual([])
    const progress: ReplayProgress[] = []
    const result = await editor.replay({
      onProgress: (update) => {
        progress.push(update)
      },
    })
    expect(result.paid.calls).toBeGreaterThan(0)
    expect(result.paid.calls).toBeLessThanOrEqual(estimate.calls * 1.2)
    expect(progress.at(-1)).toMatchObject({
      conversations: 1,
      conversationsDone: 1,
      messages: 60,
      messagesOf: 60,
      calls: result.paid.calls,
    })
    expect(progress.map(({ messages }) => messages)).toEqual(
      progress.map(({ messages }) => messages).toSorted((a, b) => a - b),
    )
    expect(await editor.estimate()).toMatchObject({ calls: 0, messages: 0, upToDate: 1, spent: result.spent })
    // An estimate records nothing.
    expect(
      await harness.log.store.streamRevision(
        editionStream((await editor.estimate({ settings: { keepRecent: 3 } })).editionId, CONVERSATION),
      ),
    ).toBe(-1)
  })

  it('keeps the sums of all conversations up to date without adding them up', () => {
    const changes = fc.record(
      {
        messages: fc.nat(100),
        messagesOf: fc.nat(100),
        from: fc.nat(100),
        summaries: fc.nat(9),
        reused: fc.nat(9),
        done: fc.constantFrom(0, 1),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', '__proto__'), changes)), (steps) => {
        const tally = new Tally()
        for (const [place, change] of steps) tally.set(place, change)
        const each = [...new Set(steps.map(([place]) => place))].map((place) => tally.of(place))
        for (const [name, sum] of Object.entries(tally.all()))
          expect([name, sum]).toEqual([
            name,
            each.reduce((all, counts) => all + (new Map(Object.entries(counts)).get(name) ?? 0), 0),
          ])
        expect(each.every(({ messages, messagesOf }) => messages <= messagesOf)).toBe(true)
      }),
    )
  })

  it('includes messages that were appended meanwhile in its progress and its estimate', async () => {
    const harness = await compacted(60)
    const editor = createEditor(harness)
    // The conversation as it was when it was counted, and seven further messages.
    const load: typeof editor.deps.conversations.load = async (conversationId) => {
      const state = await harness.conversations.load(conversationId)
      if (state.messagesAppended === 60) await harness.appended(talk(7, 60))
      return state
    }
    const growing = { ...editor.deps, conversations: { load } }
    expect(await estimateReplay(growing, { conversationIds: [CONVERSATION] })).toMatchObject({
      messages: 67,
      messagesOf: 67,
    })
    editor.summarizer.answer = async (_prepared, call) => {
      if (call === 1) await harness.appended(talk(7, 67))
      return undefined
    }
    const progress: ReplayProgress[] = []
    expect(
      (
        await editor.replay({
          onProgress: (update) => {
            progress.push(update)
          },
        })
      ).conversations,
    ).toMatchObject([{ messages: 74, messagesOf: 74 }])
    expect(progress.every(({ messages, messagesOf }) => messages <= messagesOf)).toBe(true)
    expect(progress.at(-1)).toMatchObject({ messages: 74, messagesOf: 74 })
  })

  it('throws the reason of an aborted signal instead of an estimate, before the first conversation and inside one', async () => {
    const harness = await compacted(60)
    const editor = createEditor(harness)
    const reason = new Error('told to stop')
    await expect(editor.estimate({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const stop = new AbortController()
    const prepare: typeof editor.summarizer.prepare = (job) => {
      stop.abort(reason)
      return editor.deps.summarizer.prepare(job)
    }
    await expect(
      estimateReplay(
        { ...editor.deps, summarizer: { ...editor.deps.summarizer, prepare } },
        { conversationIds: [CONVERSATION], signal: stop.signal },
      ),
    ).rejects.toBe(reason)
  })

  it('stops before a call that exceeds the bound, and reports it; the reservation of a crashed call counts as spent', async () => {
    const harness = await compacted(60)
    const spending = createMemorySpending()
    const editor = createEditor(harness, { spending })
    const first = await editor.replay({ bound: { tokens: 200 } })
    expect(first).toMatchObject({
      ended: 'bound',
      noRoom: { of: 'tokens', bound: 200 },
      conversations: [{ outcome: { kind: 'postponed' } }],
    })
    expect(tokensOf(first.spent)).toBeLessThanOrEqual(200)
    // A process was killed during a call.
    await spending.reserve(first.editionId, { promptTokens: 9_000, completionTokens: 1_000 }, {})
    expect(await editor.replay({ bound: { tokens: 10_000 } })).toMatchObject({ ended: 'bound', paid: { calls: 0 } })
    expect(await editor.replay({ bound: { tokens: 1_000_000 } })).toMatchObject({ ended: 'done' })
  })

  it('applies a bound in money to earlier runs without a price or with another one', async () => {
    const harness = await compacted(60)
    const price = { promptPerMillion: 1_000, completionPerMillion: 2_000, currency: 'EUR' }
    const whole = await createEditor(harness, { summarizer: createScriptedSummarizer({ model: 'another' }) }).replay({
      price,
    })
    const cost = whole.spent.costMicros ?? 0
    expect(cost).toBe(1_000 * whole.spent.promptTokens + 2_000 * whole.spent.completionTokens)

    // Another ledger, so that nothing is reused: half of the work without a price, then a bound below its cost.
    const otherHarness = await compacted(60)
    const editor = createEditor(otherHarness)
    const first = await editor.replay({ bound: { tokens: Math.floor(tokensOf(whole.spent) / 2) } })
    expect([first.ended, 'costMicros' in first, 'costMicros' in first.spent]).toEqual(['bound', false, false])
    const spent = 1_000 * first.spent.promptTokens + 2_000 * first.spent.completionTokens
    const refused = await editor.replay({ bound: { cost: { micros: spent, price } }, price })
    expect(refused).toMatchObject({
      ended: 'bound',
      noRoom: { of: 'cost', bound: spent, spent },
      paid: { calls: 0 },
      costMicros: 0,
      spent: { costMicros: spent },
    })
    // The other way round: a cost at a price counts in tokens, and is converted to the new price.
    const more = await editor.replay({ bound: { cost: { micros: Math.floor(0.8 * cost), price } }, price })
    expect(more.paid.calls).toBeGreaterThan(0)
    expect(more.spent.costMicros).toBeLessThanOrEqual(0.8 * cost)
    expect(await editor.replay({ bound: { tokens: tokensOf(more.spent) } })).toMatchObject({
      ended: 'bound',
      noRoom: { of: 'tokens', spent: tokensOf(more.spent) },
      paid: { calls: 0 },
    })
    const dearer = { promptPerMillion: 10_000, completionPerMillion: 20_000, currency: 'USD' }
    expect(await editor.replay({ bound: { cost: { micros: cost, price: dearer } }, price: dearer })).toMatchObject({
      ended: 'bound',
      noRoom: { of: 'cost', spent: 10 * (more.spent.costMicros ?? 0) },
      paid: { calls: 0 },
    })
    expect(await editor.replay({ bound: { cost: { micros: 2 * cost, price } }, price })).toMatchObject({
      ended: 'done',
    })
  })

  it('counts only what each run recorded: the sum over all runs equals the stream', async () => {
    const harness = await compacted(60)
    const editor = createEditor(harness)
    const runs: Replay[] = []
    // Bounds that end runs in the middle of cycles.
    for (let tokens = 200; runs.at(-1)?.ended !== 'done'; tokens += 30)
      runs.push(await editor.replay({ bound: { tokens } }))
    expect(runs.length).toBeGreaterThan(4)
    const recorded = (await harness.editionEvents(runs[0]?.editionId ?? '')).filter(isSummary)
    const sum = (of: (run: Replay) => number): number => runs.reduce((all, run) => all + of(run), 0)
    expect(sum(({ conversations }) => conversations[0]?.summaries ?? 0)).toBe(recorded.length)
    expect(sum(({ conversations }) => conversations[0]?.reused ?? 0)).toBe(
      recorded.filter(
        (event) => 'summarizer' in event.data && 'reused' in event.data.summarizer && event.data.summarizer.reused,
      ).length,
    )
    expect(sum(({ paid }) => paid.calls)).toBe(recorded.length)
    const last = await editor.replay()
    expect(last.conversations).toMatchObject([{ summaries: 0, reused: 0 }])
  })

  it('is another edition with another persona, policy or model, and the same edition otherwise', async () => {
    const harness = await compacted()
    const id = async (model: string, settings = {}): Promise<string> =>
      (await createEditor(harness, { summarizer: createScriptedSummarizer({ model }) }).estimate({ settings }))
        .editionId
    const ids = await Promise.all([id('a'), id('b'), id('a', { keepRecent: 3 }), id('a')])
    expect(ids[3]).toBe(ids[0])
    expect(new Set(ids).size).toBe(3)
    for (const each of ids) expect(each).toMatch(/^[0-9a-f]{12}$/u)
  })
})

describe('adopting an edition', () => {
  it('catches up with earlier and concurrent appends; nothing is lost', async () => {
    const harness = await compacted()
    const editor = createEditor(harness)
    const { editionId } = await editor.replay()
    await harness.appended(talk(20, 100))
    // An agent that appends a message during every summary.
    let turn = 0
    editor.summarizer.answer = async () => {
      await harness.appended(say(1_000 + turn))
      turn += 1
      return undefined
    }
    const adopted = await editor.adopt(editionId)
    expect(E.isRight(adopted)).toBe(true)
    expect(turn).toBeGreaterThan(2)
    expect(await harness.eventsOf('EditionAdopted')).toHaveLength(1)
    const state = await harness.restart().conversations.load(CONVERSATION)
    expect(state.lineage?.edition?.editionId).toBe(editionId)
    expect(
      coverageProblems(await harness.events(), {
        edition: await harness.editionEvents(editionId),
        liveAtEnd: [...state.leading, ...state.retained, ...state.window].map(({ messageId }) => messageId),
      }),
    ).toEqual([])
    expect(state.messagesAppended).toBe(50 + turn)
    // A second adoption changes nothing.
    expect(await editor.adopt(editionId)).toMatchObject({ right: { events: [] } })
  })

  it('keeps later settings of the conversation, and so does reverting it', async () => {
    const harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 4_000 } })
    const configure = async (settings: PolicySettings): Promise<void> => {
      expect(
        E.isRight(
          await harness.conversations.handle(
            CONVERSATION,
            [{ type: 'Configure', settings, scope: undefined, summarizerWindowTokens: 128_000 }],
            BY,
          ),
        ),
      ).toBe(true)
    }
    const inForce = async (): Promise<{ readonly settings: PolicySettings | undefined; readonly fits: boolean }> => {
      const { configuration } = await harness.restart().conversations.load(CONVERSATION)
      return {
        settings: configuration?.settings,
        fits: configuration !== undefined && (await harness.context()).tokens <= hardLimit(configuration.policy),
      }
    }
    await harness.appended(talk(60))
    const editor = createEditor(harness)
    const first = await editor.replay({ settings: { chunkSize: 5 } })
    const second = await editor.replay({ settings: { chunkSize: 7 } })
    // Another model with a smaller window, which the edition does not know.
    await configure({ modelMaxTokens: 1_000 })
    expect(E.isRight(await editor.adopt(first.editionId))).toBe(true)
    expect(await inForce()).toEqual({ settings: { ...SMALL, modelMaxTokens: 1_000, chunkSize: 5 }, fits: true })
    // The change by an adoption is not a configuration by the user.
    expect(E.isRight(await editor.adopt(second.editionId))).toBe(true)
    expect(await inForce()).toEqual({ settings: { ...SMALL, modelMaxTokens: 1_000, chunkSize: 7 }, fits: true })
    await configure({ modelMaxTokens: 800, keepRecent: 3 })
    await revertEdition(harness, CONVERSATION, BY)
    expect(await inForce()).toEqual({
      settings: { ...SMALL, modelMaxTokens: 800, keepRecent: 3, chunkSize: 5 },
      fits: true,
    })
    await revertEdition(harness, CONVERSATION, BY)
    expect(await inForce()).toEqual({ settings: { ...SMALL, modelMaxTokens: 800, keepRecent: 3 }, fits: true })
  })

  it('needs the edition’s own summarizer only if summaries must be made', async () => {
    const harness = await compacted()
    const { editionId } = await createEditor(harness).replay()
    const otherEditor = createEditor(harness, { summarizer: createScriptedSummarizer({ model: 'yet another' }) })
    await harness.appended(talk(20, 100))
    const refused = await otherEditor.adopt(editionId)
    expect(refused).toMatchObject({
      left: { kind: 'EditionOfAnother', editionId, made: { model: 'another', prompt: { name: 'scripted' } } },
    })
    expect(otherEditor.summarizer.calls).toEqual([])
    await createEditor(harness).replay()
    // The new messages do not need a summary yet.
    await harness.appended(say(200))
    expect(E.isRight(await otherEditor.adopt(editionId))).toBe(true)
    expect((await harness.restart().conversations.load(CONVERSATION)).messagesAppended).toBe(51)
  })

  it('recognizes chunks that were summarized ahead of need, wherever the replay ended', async () => {
    let endedWithOne = 0
    for (let messages = 24; messages < 36; messages += 1) {
      // Only messages: the last event that the edition sees is the one that fills a chunk.
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(messages))
      const { editionId } = await createEditor(harness).replay()
      if ((await harness.editionEvents(editionId)).at(-1)?.type === 'ChunkSummarized') endedWithOne += 1
      const secondReplay = await createEditor(harness).replay()
      expect(secondReplay.conversations[0]).toMatchObject({ outcome: { kind: 'done' }, summaries: 0, reused: 0 })
      const otherEditor = createEditor(harness, { summarizer: createScriptedSummarizer({ model: 'yet another' }) })
      expect(E.isRight(await otherEditor.adopt(editionId))).toBe(true)
    }
    expect(endedWithOne).toBeGreaterThan(0)
  })

  it('does nothing if the edition is active already, although it was dropped before a revert reactivated it', async () => {
    const harness = await compacted()
    const editor = createEditor(harness)
    const { editionId } = await editor.replay()
    const otherEdition = await editor.replay({ settings: { clipFirst: 1 } })
    for (const id of [editionId, otherEdition.editionId]) expect(E.isRight(await editor.adopt(id))).toBe(true)
    expect(E.isRight(await editor.drop(editionId))).toBe(true)
    expect(await editor.adopt(editionId)).toMatchObject({ left: { kind: 'EditionIsDropped' } })
    expect(
      E.isRight(await revertEdition(harness, CONVERSATION, { actor: 'test', correlationId: 'c', causationId: 'c' })),
    ).toBe(true)
    expect((await harness.conversations.load(CONVERSATION)).lineage?.edition?.editionId).toBe(editionId)
    expect(await editor.adopt(editionId)).toMatchObject({ right: { events: [] } })
    expect(await editor.drop(editionId)).toMatchObject({ left: { kind: 'EditionInForce' } })
  })

  it('is rejected if the edition does not exist or was dropped, or if catching up fails', async () => {
    const harness = await compacted()
    const editor = createEditor(harness)
    expect(await editor.adopt('nobody')).toMatchObject({ left: { kind: 'NoSuchEdition' } })
    const { editionId } = await editor.replay()
    await harness.appended(talk(20, 100))
    editor.summarizer.answer = () => ({ failure: 'refused' })
    expect(await editor.adopt(editionId)).toMatchObject({
      left: { kind: 'EditionUnfinished', failure: { failure: 'refused' } },
    })
    expect(await harness.eventsOf('EditionAdopted')).toEqual([])
    editor.summarizer.answer = () => undefined
    expect(E.isRight(await editor.drop(editionId))).toBe(true)
    expect(await editor.adopt(editionId)).toMatchObject({ left: { kind: 'EditionIsDropped' } })
    // The same replay continues it.
    const calls = editor.summarizer.calls.length
    const secondReplay = await editor.replay()
    expect(secondReplay).toMatchObject({ editionId, ended: 'done' })
    expect(editor.summarizer.calls.length - calls).toBeLessThan(
      (await harness.editionEvents(editionId)).filter(isSummary).length,
    )
    expect(E.isRight(await editor.adopt(editionId))).toBe(true)
    expect(await editor.drop(editionId)).toMatchObject({ left: { kind: 'EditionInForce' } })
  })
})
