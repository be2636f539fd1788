/**
 * The compaction cycle, step by step: what is reused, what is split, who stands in, and where the next call goes on.
 */
import { describe, expect, it } from '@jest/globals'
import { createExtractiveSummarizer } from '../../src/summarizers/index.js'
import { calling, say, SMALL, talk } from '../support/conversations.js'
import { coverageProblems } from '../support/coverage.js'
import { CONVERSATION, Crash, createHarness, createScriptedSummarizer, type Harness } from '../support/harness.js'

/** Dies right behind the first recorded chunk of a cycle of three. */
async function diedAfterFirstChunk(): Promise<Harness> {
  const harness = createHarness({ policy: SMALL })
  await harness.appended(talk(11))
  harness.store.faults.push('crash-after')
  await expect(harness.compact('force')).rejects.toThrow(Crash)
  return harness
}

describe('a cycle', () => {
  it('summarizes chunk by chunk, each with the one before as its background, then archives and prunes at once', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(11))
    const done = await harness.compact('force')
    expect(done).toMatchObject({ batchesCreated: 3, messagesCompressed: 9 })
    expect(done.tokensAfter).toBeLessThan(done.tokensBefore)
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

  it('goes on with the last batch that the last prune carried as its background', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(8))
    await harness.compact('force')
    await harness.appended(talk(5, 8))
    await harness.compact('force')
    const summaries = (await harness.eventsOf('ChunkSummarized')).map((event) => event.data.summary)
    const third = harness.summarizer.calls[2]?.job
    expect(third?.kind === 'chunk' ? third.existingSummary : undefined).toBe(summaries[1])
  })

  it('does nothing below the limit unless it is forced, and nothing where there is nothing', async () => {
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

  it('says what every summary was made with', async () => {
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
  it('the same summarizer goes on behind what is recorded', async () => {
    const harness = await diedAfterFirstChunk()
    await harness.restart().compact('force')
    expect(harness.summarizer.calls).toHaveLength(3)
    expect(await harness.eventsOf('BatchArchived')).toHaveLength(3)
  })

  it('messages that came since change nothing about what was bought', async () => {
    const harness = await diedAfterFirstChunk()
    const again = harness.restart()
    await again.appended(talk(6, 11))
    await again.compact('force')
    expect(harness.summarizer.calls).toHaveLength(5)
    expect(await again.eventsOf('ChunkSummarized')).toHaveLength(5)
  })

  it('another model asks anew, and what the first one said is superseded', async () => {
    const harness = await diedAfterFirstChunk()
    const other = createScriptedSummarizer({ model: 'scripted-2' })
    const again = harness.restart({ summarizer: other })
    await again.compact('force')
    expect(other.calls).toHaveLength(3)
    expect(await again.eventsOf('BatchArchived')).toHaveLength(3)
    expect((await again.conversations.load(CONVERSATION)).chunks).toEqual([])
    expect(coverageProblems(await again.events())).toEqual([])
  })

  it('a pin in the recorded chunk supersedes it', async () => {
    const harness = await diedAfterFirstChunk()
    const again = harness.restart()
    await again.pin('m1')
    await again.compact('force')
    expect((await again.context()).messageIds).toContain('m1')
    expect(coverageProblems(await again.events())).toEqual([])
  })
})

describe('a request that does not fit', () => {
  it('is tried once more as two', async () => {
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

  it('even so is a failure, and not tried a third time', async () => {
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
  it('the extractive strategy stands in, and no second call is made for the same no', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    harness.summarizer.answer = () => ({ failure: 'timeout' })
    const done = await harness.compact()
    expect(done.messagesCompressed).toBeGreaterThan(0)
    expect(harness.summarizer.calls).toHaveLength(1)
    expect((await harness.eventsOf('ChunkSummarized')).every((event) => event.data.summarizer.standIn === true)).toBe(
      true,
    )
    expect((await harness.eventsOf('CompactionFailed')).map((event) => event.data.trigger)).toEqual(['hard'])
  })

  it('nobody stands in where the policy says none, and the context still fits', async () => {
    const harness = createHarness({ policy: { ...SMALL, standIn: 'none' } })
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
  it('is no spending: it makes summaries and no call, and no limit on tokens keeps it', async () => {
    const extractive = { ...createScriptedSummarizer(), ...createExtractiveSummarizer() }
    const harness = createHarness({
      policy: SMALL,
      summarizer: extractive,
      budget: { limits: { tokensPerDay: 1 }, reserve: () => Promise.reject(new Error('nothing is to be set aside')) },
    })
    await harness.appended(talk(11))
    const done = await harness.compact('force')
    expect(done).toMatchObject({ summaries: 3, calls: 0, tokensSpent: 0, messagesCompressed: 9 })
  })
})

describe('re-summarization', () => {
  it('that fails is recorded, and the cycle that was done stays done', async () => {
    const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipLast: 1, buffer: 1 } })
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

it('a call whose result comes while its chunk is summarized is folded with it, or stays', async () => {
  const harness = createHarness({ policy: SMALL })
  await harness.appended([calling('c', ['x']), ...talk(10)])
  harness.summarizer.answer = async () => {
    harness.summarizer.answer = () => undefined
    await harness.restart().appended({ id: 'r', role: 'tool', tool_call_id: 'x', content: 'late' })
    return undefined
  }
  await harness.compact('force')
  const context = await harness.context()
  expect(context.messageIds.slice(0, 2)).toEqual(['c', 'r'])
  expect(coverageProblems(await harness.events())).toEqual([])
  await harness.appended(say(20))
})
