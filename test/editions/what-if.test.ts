/** Policies evaluated on a recorded conversation: predictable figures, without writes and model calls. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createWhatIf, totalOf, type WhatIf, type WhatIfRequest } from '../../src/application/editions/what-if.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { appended as recordEvents, eventNamed } from '../support/events.js'
import { CONVERSATION, contextIn, createHarness, type Harness } from '../support/harness.js'

async function tried(
  harness: Harness,
  policies: WhatIfRequest['policies'],
  more: Partial<WhatIfRequest> = {},
): Promise<WhatIf> {
  const result = await createWhatIf({
    log: harness.log,
    clock: harness.clock,
    extractive: createExtractiveSummarizer(),
  })({ conversationIds: [CONVERSATION], policies, ...more })
  if (E.isLeft(result)) throw new Error(JSON.stringify(result.left))
  return result.right
}

/** Eighty messages, compacted after each one as in an import. */
async function importedConversation(): Promise<{
  readonly harness: Harness
  readonly sent: readonly number[]
  readonly all: readonly number[]
}> {
  const harness = createHarness({ policy: SMALL })
  const sent: number[] = []
  const all: number[] = []
  let messages = 0
  for (const message of talk(80)) {
    const state = await harness.conversations.load(CONVERSATION)
    if (message.role === 'assistant') {
      sent.push(contextIn(state).tokens)
      all.push(messages)
    }
    await harness.appended(message)
    messages += (await harness.conversations.load(CONVERSATION)).window.at(-1)?.tokens ?? 0
    await harness.compact('ahead')
  }
  return { harness, sent, all }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0)

describe('what if', () => {
  it('skips and names a conversation with an unreadable event; on its own it is an error', async () => {
    const { harness } = await importedConversation()
    await harness.appended(talk(4), 'bad')
    await recordEvents(harness.log.store, conversationStream('bad'), [eventNamed('odd')])
    const policies = [{ name: 'same', settings: {} }]
    const alone = await tried(harness, policies)
    expect(await tried(harness, policies, { conversationIds: ['bad', CONVERSATION], goesOn: true })).toEqual({
      ...alone,
      untried: [
        { conversationId: 'bad', reason: expect.stringMatching(/^conversation-bad revision \d+ \(Noted\): /u) },
      ],
    })
    await expect(tried(harness, policies, { conversationIds: ['bad'] })).rejects.toThrow('conversation-bad')
  })

  it('reports the recorded contexts, cycles and calls, and the course without compaction', async () => {
    const { harness, sent, all } = await importedConversation()
    const { rows } = await tried(harness, [{ name: 'same', settings: {} }])
    const [recorded, none] = rows
    expect([recorded?.kind, none?.kind]).toEqual(['recorded', 'none'])
    expect(recorded?.courses[0]).toMatchObject({
      requests: 40,
      contexts: sent,
      tokensSent: sum(sent),
      largestContext: Math.max(...sent),
      calls: harness.summarizer.calls.length,
      aboveWindow: 0,
    })
    expect(recorded?.courses[0]?.cycles).toBe((await harness.eventsOf('MessagesPruned')).length)
    expect(none?.courses[0]).toMatchObject({
      cycles: 0,
      calls: 0,
      contexts: all,
      aboveWindow: all.filter((tokens) => tokens > 1_000).length,
    })
  })

  it('with the current policy matches the recorded course, as closely as average summaries allow', async () => {
    const { harness } = await importedConversation()
    const [recorded, , same] = (await tried(harness, [{ name: 'same', settings: {} }])).rows
    const [went, would] = [recorded?.courses[0], same?.courses[0]]
    expect([would?.cycles, would?.calls, would?.requests]).toEqual([went?.cycles, went?.calls, went?.requests])
    expect(Math.abs((would?.tokensSent ?? 0) - (went?.tokensSent ?? 0)) / (went?.tokensSent ?? 1)).toBeLessThan(0.03)
  })

  it('a window without room for the pinned messages is exceeded by the contexts', async () => {
    const harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 4_000 } })
    await harness.appended([{ id: 'p', role: 'user', content: 'x'.repeat(3_600), pinned: true }, ...talk(20)])
    const { rows } = await tried(harness, [
      { name: 'small', settings: { modelMaxTokens: 700 } },
      { name: 'large', settings: { modelMaxTokens: 2_000 } },
    ])
    expect(rows.slice(2).map(totalOf)).toMatchObject([
      { requests: 10, aboveWindow: 10 },
      { requests: 10, aboveWindow: 0 },
    ])
  })

  it('a larger window makes fewer cycles and sends more; each policy has its row, in order', async () => {
    const { harness } = await importedConversation()
    const { rows } = await tried(harness, [
      { name: 'small', settings: { modelMaxTokens: 700 } },
      { name: 'large', settings: { modelMaxTokens: 2_000 } },
    ])
    const [, none, small, large] = rows.map(totalOf)
    expect(rows.map(({ name }) => name)).toEqual(['as recorded', 'no compaction', 'small', 'large'])
    expect(small?.cycles).toBeGreaterThan(large?.cycles ?? 0)
    expect(large?.cycles).toBeGreaterThan(0)
    expect(small?.tokensSent).toBeLessThan(large?.tokensSent ?? 0)
    expect(large?.tokensSent).toBeLessThan(none?.tokensSent ?? 0)
    expect(small?.largestContext).toBeLessThanOrEqual(700)
  })

  it('records nothing and calls no model, with either kind of summaries', async () => {
    const { harness } = await importedConversation()
    const head = await harness.store.head()
    const calls = harness.summarizer.calls.length
    for (const summaries of ['recorded', 'extractive'] as const) {
      const { rows } = await tried(harness, [{ name: 'small', settings: { modelMaxTokens: 700 } }], { summaries })
      expect(totalOf(rows[2] ?? { name: '', kind: 'tried', courses: [] }).calls).toBeGreaterThan(0)
    }
    expect([await harness.store.head(), harness.summarizer.calls.length]).toEqual([head, calls])
  })

  it('a conversation that was never compacted uses extractive summaries', async () => {
    const harness = createHarness({ policy: { modelMaxTokens: 100_000 } })
    await harness.appended(talk(60))
    const [recorded, none, small] = (await tried(harness, [{ name: 'small', settings: SMALL }])).rows.map(totalOf)
    expect(recorded?.tokensSent).toBe(none?.tokensSent)
    expect(small?.cycles).toBeGreaterThan(0)
  })

  it('rejects an invalid policy and an unknown conversation', async () => {
    const { harness } = await importedConversation()
    const kind = async (request: WhatIfRequest): Promise<unknown> => {
      const result = await createWhatIf({
        log: harness.log,
        clock: harness.clock,
        extractive: createExtractiveSummarizer(),
      })(request)
      return E.isLeft(result) ? result.left : 'done'
    }
    expect(
      await kind({ conversationIds: [CONVERSATION], policies: [{ name: 'bad', settings: { systemReserve: 900 } }] }),
    ).toMatchObject({ kind: 'BadPolicy', field: 'modelMaxTokens' })
    expect(await kind({ conversationIds: ['nowhere'], policies: [{ name: 'same', settings: {} }] })).toEqual({
      kind: 'NoSuchConversation',
      conversationId: 'nowhere',
    })
  })
})
