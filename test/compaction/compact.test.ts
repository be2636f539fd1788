/**
 * The compaction cycle, step by step: reused summaries, split requests, the fallback, and continuing after an
 * interruption.
 */
import { describe, expect, it } from '@jest/globals'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import { calling, say, SMALL, talk } from '../support/conversations.js'
import { coverageProblems } from '../support/coverage.js'
import { CONVERSATION, Crash, createHarness, createScriptedSummarizer, type Harness } from '../support/harness.js'

/** Stops directly after the first recorded chunk of a cycle of three. */
async function diedAfterFirstChunk(): Promise<Harness> {
  const harness = createHarness({ policy: SMALL })
  await harness.appended(talk(11))
  harness.store.faults.push('crash-after')
  await expect(harness.compact('force')).rejects.toThrow(Crash)
  return harness
}

describe('a cycle', () => {
  it('summarizes chunk by chunk, each with the previous one as its background, then archives and prunes in one append', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(11))
    const result = await harness.compact('force')
    expect(result).toMatchObject({ batchesCreated: 3, messagesCompressed: 9 })
    expect(result.tokensAfter).toBeLessThan(result.tokensBefore)
    expect(
      harness.store.appends
        .slice(1)
        .filter(({ types }) => !types.includes('PromptRegistered'))
        .map(({ types }) => types),
    ).toEqual([
      ['ChunkSummarized'],
      ['ChunkSummarized'],
      ['ChunkSummarized'],
      ['BatchArchived', 'BatchArchived', 'BatchArchived', 'MessagesPruned'],
    ])
    const chunks = await harness.eventsOf('ChunkSummarized')
    expect(chunks.map((event) => event.data.continues)).toEqual([
      undefined,
      chunks[0]?.data.chunkId,
      chunks[1]?.data.chunkId,
    ])
    expect(harness.summarizer.calls.map(({ job }) => (job.kind === 'chunk' ? job.existingSummary : 'none'))).toEqual([
      undefined,
      chunks[0]?.data.summary,
      chunks[1]?.data.summary,
    ])
  })

  it('uses the last batch of the last prune as its background', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(8))
    await harness.compact('force')
    await harness.appended(talk(5, 8))
    await harness.compact('force')
    const summaries = (await harness.eventsOf('ChunkSummarized')).map((event) => event.data.summary)
    const third = harness.summarizer.calls[2]?.job
    expect(third?.kind === 'chunk' ? third.existingSummary : undefined).toBe(summaries[1])
  })

  it('does nothing below the limit unless forced, and nothing without messages', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(2))
    for (const mode of ['due', 'now', 'force'] as const)
      expect(await harness.compact(mode)).toMatchObject({ batchesCreated: 0, messagesCompressed: 0 })
    expect(await harness.compact('force', 'nobody')).toMatchObject({
      batchesCreated: 0,
      tokensBefore: 0,
      tokensAfter: 0,
    })
    expect(harness.summarizer.calls).toEqual([])
  })

  it('records the inputs of every summary', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(5))
    await harness.compact('force')
    const [chunk] = await harness.eventsOf('ChunkSummarized')
    expect(chunk?.data.summarizer).toEqual({
      strategy: 'scripted',
      provider: 'scripted',
      model: 'scripted-1',
      parameters: { temperature: 0, maxSummaryTokens: 16 },
      prompt: { name: 'scripted', sha256: expect.any(String) },
      formatterVersion: 1,
      requestHash: harness.summarizer.calls[0]?.requestHash,
      usage: { promptTokens: 10, completionTokens: 5 },
      durationMs: 1,
    })
  })
})

describe('after a crash between a chunk and the prune', () => {
  it('the same summarizer continues after the recorded chunk', async () => {
    const harness = await diedAfterFirstChunk()
    await harness.restart().compact('force')
    expect(harness.summarizer.calls).toHaveLength(3)
    expect(await harness.eventsOf('BatchArchived')).toHaveLength(3)
  })

  it('later messages do not change paid summaries', async () => {
    const harness = await diedAfterFirstChunk()
    const restarted = harness.restart()
    await restarted.appended(talk(6, 11))
    await restarted.compact('force')
    expect(harness.summarizer.calls).toHaveLength(5)
    expect(await restarted.eventsOf('ChunkSummarized')).toHaveLength(5)
  })

  it('another model makes new summaries, which supersede those of the first', async () => {
    const harness = await diedAfterFirstChunk()
    const otherSummarizer = createScriptedSummarizer({ model: 'scripted-2' })
    const restarted = harness.restart({ summarizer: otherSummarizer })
    await restarted.compact('force')
    expect(otherSummarizer.calls).toHaveLength(3)
    expect(await restarted.eventsOf('BatchArchived')).toHaveLength(3)
    expect((await restarted.conversations.load(CONVERSATION)).chunks).toEqual([])
    expect(coverageProblems(await restarted.events())).toEqual([])
  })

  it('a pin in the recorded chunk supersedes it', async () => {
    const harness = await diedAfterFirstChunk()
    const restarted = harness.restart()
    await restarted.pin('m1')
    await restarted.compact('force')
    expect((await restarted.context()).messageIds).toContain('m1')
    expect(coverageProblems(await restarted.events())).toEqual([])
  })
})

describe('a request that is too large', () => {
  it('is retried once as two', async () => {
    const harness = createHarness({ policy: { ...SMALL, chunkSize: 8 } })
    await harness.appended(talk(10))
    harness.summarizer.answer = (prepared) =>
      prepared.job.kind === 'chunk' && prepared.job.messages.length > 4 ? { failure: 'request-too-large' } : undefined
    expect(await harness.compact('force')).toMatchObject({ batchesCreated: 2, messagesCompressed: 8 })
    expect(harness.summarizer.calls.map(({ job }) => (job.kind === 'chunk' ? job.messages.length : 0))).toEqual([
      8, 4, 4,
    ])
    expect(await harness.eventsOf('CompactionFailed')).toEqual([])
  })

  it('fails if the halves are too large, without a third attempt', async () => {
    const harness = createHarness({ policy: { ...SMALL, chunkSize: 8 } })
    await harness.appended(talk(10))
    harness.summarizer.answer = () => ({ failure: 'request-too-large' })
    expect((await harness.compact('force')).failure).toMatchObject({ failure: 'request-too-large' })
    expect(harness.summarizer.calls).toHaveLength(2)
    expect((await harness.eventsOf('CompactionFailed')).map((event) => event.data.failure)).toEqual([
      'request-too-large',
    ])
  })
})

describe('at the hard limit', () => {
  it('the extractive fallback is used, without a second call after the same failure', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    harness.summarizer.answer = () => ({ failure: 'timeout' })
    const result = await harness.compact()
    expect(result.messagesCompressed).toBeGreaterThan(0)
    expect(harness.summarizer.calls).toHaveLength(1)
    expect((await harness.eventsOf('ChunkSummarized')).every((event) => event.data.summarizer.fallback === true)).toBe(
      true,
    )
    expect((await harness.eventsOf('CompactionFailed')).map((event) => event.data.trigger)).toEqual(['hard'])
  })

  it('no fallback is used if the policy has none, and the context still fits', async () => {
    const harness = createHarness({ policy: { ...SMALL, fallback: 'none' } })
    await harness.appended(talk(30))
    harness.summarizer.answer = () => ({ failure: 'timeout' })
    expect((await harness.compact()).failure).toMatchObject({ failure: 'timeout' })
    expect(await harness.eventsOf('ChunkSummarized')).toEqual([])
    const context = await harness.context()
    expect(context.tokens).toBeLessThanOrEqual(1_000)
    expect(context.overBudget).toMatchObject({ reason: 'compaction-failed' })
  })
})

describe('a summarizer without a model', () => {
  it('spends nothing: it makes summaries without calls, and no token limit stops it', async () => {
    const extractive = { ...createScriptedSummarizer(), ...createExtractiveSummarizer() }
    const harness = createHarness({
      policy: SMALL,
      summarizer: extractive,
      budget: { limits: { tokensPerDay: 1 }, reserve: () => Promise.reject(new Error('nothing is to be set aside')) },
    })
    await harness.appended(talk(11))
    const result = await harness.compact('force')
    expect(result).toMatchObject({ summaries: 3, calls: 0, tokensSpent: 0, messagesCompressed: 9 })
  })
})

describe('re-summarization', () => {
  it('that is rejected is made by the fallback, and the failure is recorded', async () => {
    const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipLast: 1, buffer: 1 } })
    await harness.appended(talk(14))
    harness.summarizer.answer = (prepared) => (prepared.job.kind === 'resummarize' ? { failure: 'refused' } : undefined)
    expect(await harness.compact('force')).toMatchObject({ batchesCreated: 4, fallbackFor: { failure: 'refused' } })
    expect(await harness.eventsOf('BatchesResummarized')).toMatchObject([{ data: { summarizer: { fallback: true } } }])
    expect((await harness.eventsOf('CompactionFailed')).map((event) => event.data.step)).toEqual(['resummarize'])
  })

  it('that fails without a fallback is recorded, and the completed cycle stays', async () => {
    const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipLast: 1, buffer: 1, fallback: 'none' } })
    await harness.appended(talk(14))
    harness.summarizer.answer = (prepared) => (prepared.job.kind === 'resummarize' ? { failure: 'refused' } : undefined)
    expect(await harness.compact('force')).toMatchObject({ batchesCreated: 4, failure: { failure: 'refused' } })
    expect((await harness.eventsOf('CompactionFailed')).map((event) => event.data.step)).toEqual(['resummarize'])
    harness.summarizer.answer = () => undefined
    await harness.compact('force')
    expect(await harness.eventsOf('BatchesResummarized')).toHaveLength(1)
  })

  it('keeps its sources in the log and out of the active batches', async () => {
    const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipLast: 1, buffer: 1 } })
    await harness.appended(talk(14))
    await harness.compact('force')
    const [one] = await harness.eventsOf('BatchesResummarized')
    const { batches, visibleBatches } = await harness.conversations.load(CONVERSATION)
    expect(one?.data.sourceBatchIds).toHaveLength(2)
    expect(batches.map((batch) => batch.depth)).toEqual([0, 1, 0])
    expect(visibleBatches).toHaveLength(4)
    expect(await harness.eventsOf('BatchArchived')).toHaveLength(4)
  })
})

it('a call with a result that arrives while its chunk is summarized is compacted with it, or stays', async () => {
  const harness = createHarness({ policy: SMALL })
  await harness.appended([calling('c', ['x']), ...talk(10)])
  harness.summarizer.answer = async () => {
    harness.summarizer.answer = () => undefined
    await harness.restart().appended({ id: 'r', role: 'tool', tool_call_id: 'x', content: 'late' })
    return undefined
  }
  await harness.compact('force')
  const context = await harness.context()
  expect(context.messageIds.slice(1, 3)).toEqual(['c', 'r'])
  expect(coverageProblems(await harness.events())).toEqual([])
  await harness.appended(say(20))
})
