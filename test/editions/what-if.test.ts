/** Other policies tried on what is recorded: figures that can be foretold, nothing written, and no model asked. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createWhatIf, totalOf, type WhatIf, type WhatIfRequest } from '../../src/editions/what-if.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import { createExtractiveSummarizer } from '../../src/summarizers/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { appended as recordEvents, eventNamed } from '../support/events.js'
import { CONVERSATION, contextIn, createHarness, type Harness } from '../support/harness.js'

async function tried(
  harness: Harness,
  policies: WhatIfRequest['policies'],
  more: Partial<WhatIfRequest> = {},
): Promise<WhatIf> {
  const done = await createWhatIf({ log: harness.log, clock: harness.clock, extractive: createExtractiveSummarizer() })(
    { conversationIds: [CONVERSATION], policies, ...more },
  )
  if (E.isLeft(done)) throw new Error(JSON.stringify(done.left))
  return done.right
}

/** Eighty messages, compacted as an import does: settled after each. */
async function told(): Promise<{
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
  it('goes on with the others where an event of one cannot be read, and names that one; asked for alone it is an error', async () => {
    const { harness } = await told()
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

  it('tells how it went: the contexts that were sent, cycles and calls; and how it would have gone without compaction', async () => {
    const { harness, sent, all } = await told()
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

  it('today’s policy comes to what was recorded, as closely as summaries of the average length do', async () => {
    const { harness } = await told()
    const [recorded, , same] = (await tried(harness, [{ name: 'same', settings: {} }])).rows
    const [went, would] = [recorded?.courses[0], same?.courses[0]]
    expect([would?.cycles, would?.calls, would?.requests]).toEqual([went?.cycles, went?.calls, went?.requests])
    expect(Math.abs((would?.tokensSent ?? 0) - (went?.tokensSent ?? 0)) / (went?.tokensSent ?? 1)).toBeLessThan(0.03)
  })

  it('a window without room for what is pinned is one that the contexts are above', async () => {
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

  it('a larger window makes fewer cycles and sends more; each policy has its row, in the order asked for', async () => {
    const { harness } = await told()
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

  it('records nothing and asks no model, whichever summaries stand in', async () => {
    const { harness } = await told()
    const head = await harness.store.head()
    const calls = harness.summarizer.calls.length
    for (const summaries of ['recorded', 'extractive'] as const) {
      const { rows } = await tried(harness, [{ name: 'small', settings: { modelMaxTokens: 700 } }], { summaries })
      expect(totalOf(rows[2] ?? { name: '', kind: 'tried', courses: [] }).calls).toBeGreaterThan(0)
    }
    expect([await harness.store.head(), harness.summarizer.calls.length]).toEqual([head, calls])
  })

  it('a conversation that was never compacted has extractive summaries', async () => {
    const harness = createHarness({ policy: { modelMaxTokens: 100_000 } })
    await harness.appended(talk(60))
    const [recorded, none, small] = (await tried(harness, [{ name: 'small', settings: SMALL }])).rows.map(totalOf)
    expect(recorded?.tokensSent).toBe(none?.tokensSent)
    expect(small?.cycles).toBeGreaterThan(0)
  })

  it('refuses a policy that cannot be, and a conversation that is not there', async () => {
    const { harness } = await told()
    const kind = async (request: WhatIfRequest): Promise<unknown> => {
      const done = await createWhatIf({
        log: harness.log,
        clock: harness.clock,
        extractive: createExtractiveSummarizer(),
      })(request)
      return E.isLeft(done) ? done.left : 'done'
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
