/** What a cycle folds, in which chunks, and what stays. */
import { describe, expect, it } from '@jest/globals'
import type { Batch } from '../../../src/domain/conversation/batch.js'
import type { Conversation } from '../../../src/domain/conversation/conversation.js'
import type { Event, Trigger } from '../../../src/domain/events/index.js'
import {
  dueTrigger,
  isBackingOff,
  planAhead,
  planCycle,
  planResummarization,
  retryAfterMessages,
  splitChunk,
  triggerOf,
  type Plan,
} from '../../../src/domain/compaction/plan.js'
import type { PolicySettings } from '../../../src/domain/values/policy-settings.js'
import { appended, at, compactionFailed, pinned, summarized } from '../../support/builders.js'
import { configuredWith, stateAfter } from '../../support/given-events.js'

const message = (number: number, tokens = 100, some: Parameters<typeof appended>[1] = {}): Event =>
  appended(`m${String(number)}`, { tokens, ...some })
const messages = (count: number, tokens = 100, from = 0): Event[] =>
  Array.from({ length: count }, (_, place) => message(from + place, tokens))
const state = (settings: PolicySettings, ...events: Event[]): Conversation =>
  stateAfter([
    configuredWith({
      modelMaxTokens: 2_000,
      keepRecent: 2,
      chunkSize: 4,
      chunkMinTokens: 0,
      maxSummaryTokens: 50,
      ...settings,
    }),
    ...events,
  ])

function planned(of: Conversation, trigger: Trigger = 'soft'): Plan {
  const plan = planCycle(of, trigger)
  if (plan.kind === 'none') throw new Error(`no plan: ${plan.reason}`)
  return plan
}

const chunksOf = (plan: Plan): string[] =>
  plan.chunks.map((chunk) => `${chunk.kind} ${chunk.messages.map((one) => one.messageId).join(' ')}`)

describe('a trigger', () => {
  it.each([
    [15, undefined],
    [16, 'soft'],
    [20, 'soft'],
    [21, 'hard'],
  ] as const)('of %i messages of 100 tokens in a window of 2,000 is %s', (count, trigger) => {
    expect(triggerOf(state({}, ...messages(count)))).toBe(trigger)
  })

  it('rests after a failure until enough messages came', () => {
    const failed = [...messages(16), compactionFailed({ attempt: 3, retryAfterMessages: 2 })]
    expect(dueTrigger(state({}, ...failed))).toBeUndefined()
    expect(isBackingOff(state({}, ...failed, message(16)))).toBe(true)
    expect(dueTrigger(state({}, ...failed, ...messages(2, 10, 16)))).toBe('soft')
    expect([1, 2, 3, 4, 5, 6].map((attempt) => retryAfterMessages(attempt, 6))).toEqual([1, 1, 2, 4, 6, 6])
  })
})

it('what failed ahead of need rests until messages came, or a limit asks for it', () => {
  const failed = [...messages(15), compactionFailed({ attempt: 5, retryAfterMessages: 4, trigger: 'ahead' })]
  expect(isBackingOff(state({}, ...failed))).toBe(true)
  expect(isBackingOff(state({}, ...failed, message(15, 10)))).toBe(true)
  expect(dueTrigger(state({}, ...failed, message(15)))).toBe('soft')
})

describe('chunks', () => {
  it('have chunkSize messages, and the recent ones stay', () => {
    expect(chunksOf(planned(state({}, ...messages(16))))).toEqual([
      'new m0 m1 m2 m3',
      'new m4 m5 m6 m7',
      'new m8 m9 m10 m11',
      'new m12 m13',
    ])
  })

  it('have chunkMinTokens too, and a short rest joins the chunk before it', () => {
    expect(chunksOf(planned(state({ chunkMinTokens: 600 }, ...messages(16))))).toEqual([
      'new m0 m1 m2 m3 m4 m5',
      'new m6 m7 m8 m9 m10 m11 m12 m13',
    ])
  })

  it('have chunkMaxTokens at the most', () => {
    expect(chunksOf(planned(state({ chunkMaxTokens: 250 }, ...messages(16))))).toEqual([
      'new m0 m1',
      'new m2 m3',
      'new m4 m5',
      'new m6 m7',
      'new m8 m9',
      'new m10 m11',
      'new m12 m13',
    ])
    expect(chunksOf(planned(state({ chunkMaxTokens: 250 }, message(0, 900), ...messages(8, 100, 1))))[0]).toBe('new m0')
  })

  it('leave pinned messages out, and a call with a pinned result', () => {
    const calls = { role: 'assistant' as const, content: null, toolCalls: [{ id: 'x', type: 'function' }] }
    const plan = planned(
      state(
        {},
        message(0, 100, { pinned: true }),
        message(1),
        message(2, 100, calls),
        message(3, 100, { role: 'tool', toolCallId: 'x', pinned: true }),
        ...messages(13, 100, 4),
      ),
    )
    expect(chunksOf(plan)[0]).toBe('new m1 m4 m5 m6')
  })

  it('that are recorded come first, while their messages are an unchanged run at the head', () => {
    const recorded = [
      ...messages(16),
      summarized('one', ['m0', 'm1', 'm2', 'm3', 'm4']),
      summarized('two', ['m5', 'm6']),
    ]
    expect(chunksOf(planned(state({}, ...recorded), 'manual'))).toEqual([
      'recorded m0 m1 m2 m3 m4',
      'recorded m5 m6',
      'new m7 m8 m9 m10',
      'new m11 m12 m13',
    ])
    expect(chunksOf(planned(state({}, message(99), ...recorded.slice(1))))).not.toContain('recorded m5 m6')
  })

  it('that are recorded leave alone at a limit where that is enough, and with the rest where it is not', () => {
    const enough = [...messages(16), summarized('one', ['m0', 'm1', 'm2', 'm3', 'm4']), summarized('two', ['m5', 'm6'])]
    expect(chunksOf(planned(state({}, ...enough)))).toEqual(['recorded m0 m1 m2 m3 m4', 'recorded m5 m6'])
    expect(chunksOf(planned(state({}, ...enough, ...messages(5, 100, 16)), 'hard'))).toEqual([
      'recorded m0 m1 m2 m3 m4',
      'recorded m5 m6',
    ])
    expect(chunksOf(planned(state({}, ...messages(22), ...enough.slice(16)), 'hard')).slice(0, 3)).toEqual([
      'recorded m0 m1 m2 m3 m4',
      'recorded m5 m6',
      'new m7 m8 m9 m10',
    ])
    // Less than two summaries' worth makes no cycle of its own.
    expect(chunksOf(planned(state({}, ...messages(16), summarized('one', ['m0']))))[1]).toBe('new m1 m2 m3 m4')
  })

  it('made anew for the same messages supersede the old ones, and all that continue them', () => {
    const repeated = state(
      {},
      ...messages(16),
      summarized('one', ['m0', 'm1']),
      summarized('two', ['m2', 'm3']),
      summarized('three', ['m0', 'm1', 'm2']),
    )
    expect(repeated.chunks.map((chunk) => chunk.chunkId)).toEqual(['three'])
  })

  it('too large for a request become two near the middle, where no rule objects', () => {
    const { window } = state(
      {},
      message(0, 10),
      message(1, 100, { role: 'assistant', content: null, toolCalls: [{ id: 'x', type: 'function' }] }),
      message(2, 100, { role: 'tool', toolCallId: 'x' }),
      message(3, 10),
    )
    expect(splitChunk(window, window, 4).map((part) => part.length)).toEqual([1, 3])
    expect(splitChunk(window, window.slice(1, 3), 4)).toHaveLength(1)
  })
})

describe('ahead of need', () => {
  // The soft limit is 1,600 tokens, nine tenths of it 1,440.
  const ahead = (of: Conversation): string | undefined => {
    const next = planAhead(of)
    return next === undefined
      ? undefined
      : `${next.messages.map((one) => one.messageId).join(' ')} behind ${next.continues?.chunkId ?? 'nothing'}`
  }

  it('what is recorded behind a chunk that a pin holds is not bought again', () => {
    const blocked = [
      ...messages(15),
      summarized('c1', ['m0']),
      pinned('m0', 1),
      summarized('c2', ['m1', 'm2', 'm3', 'm4']),
    ]
    expect(ahead(state({}, ...blocked))).toBe('m5 m6 m7 m8 behind c2')
    expect(chunksOf(planned(state({}, ...blocked, message(15))))[0]).toBe('recorded m1 m2 m3 m4')
  })

  it('chunks are taken in the order of their messages, whichever was recorded first', () => {
    const back = [
      ...messages(15),
      summarized('two', ['m4', 'm5', 'm6', 'm7'], { firstRevision: 5, lastRevision: 8 }),
      summarized('one', ['m0', 'm1', 'm2', 'm3'], { firstRevision: 1, lastRevision: 4 }),
    ]
    expect(ahead(state({}, ...back))).toBe('m8 m9 m10 m11 behind two')
  })

  it('nothing is planned while the context is far from its limit, or when it is reached', () => {
    expect(ahead(state({}, ...messages(14)))).toBeUndefined()
    expect(ahead(state({}, ...messages(16)))).toBeUndefined()
    expect(ahead(stateAfter([]))).toBeUndefined()
  })

  it('the whole chunks are, one behind the other, as a cycle would cut them; a short rest waits or is joined', () => {
    expect(ahead(state({}, ...messages(15)))).toBe('m0 m1 m2 m3 behind nothing')
    expect(
      ahead(
        state(
          {},
          ...messages(15),
          summarized('one', ['m0', 'm1', 'm2', 'm3']),
          summarized('two', ['m4', 'm5', 'm6', 'm7']),
        ),
      ),
    ).toBe('m8 m9 m10 m11 behind two')
    expect(
      ahead(
        state(
          {},
          ...messages(15),
          summarized('one', ['m0', 'm1', 'm2', 'm3']),
          summarized('two', ['m4', 'm5', 'm6', 'm7']),
          summarized('three', ['m8', 'm9', 'm10', 'm11']),
        ),
      ),
    ).toBeUndefined()
    expect(ahead(state({ chunkMinTokens: 900 }, ...messages(15)))).toBe(
      'm0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 behind nothing',
    )
  })

  it('a chunk of less than two summaries’ worth is not, nor one that is not full unless a request takes no more', () => {
    expect(ahead(state({ maxSummaryTokens: 200 }, ...messages(15)))).toBeUndefined()
    expect(ahead(state({ chunkSize: 14 }, ...messages(15)))).toBeUndefined()
    expect(ahead(state({ chunkMaxTokens: 250 }, ...messages(15)))).toBe('m0 m1 behind nothing')
  })

  it('a chunk with a message that was pinned since is cut anew, and so are those behind it', () => {
    expect(
      ahead(
        state(
          {},
          ...messages(15),
          summarized('one', ['m0', 'm1', 'm2', 'm3']),
          summarized('two', ['m4', 'm5', 'm6', 'm7']),
          pinned('m5', 6),
        ),
      ),
    ).toBe('m4 m6 m7 m8 behind one')
  })
})

describe('no plan', () => {
  it('for keepRecent + 1 messages at the soft limit, and it says why', () => {
    expect(planCycle(state({}, ...messages(3, 600)), 'soft')).toEqual({
      kind: 'none',
      reason: 'recent-messages',
      messageIds: ['m1', 'm2'],
    })
  })

  it('where pinned and leading messages take the limit', () => {
    const pinnedText = message(1, 1_500, { pinned: true })
    expect(
      planCycle(state({}, message(0, 200, { role: 'system' }), pinnedText, ...messages(3, 10, 2)), 'soft'),
    ).toEqual({ kind: 'none', reason: 'pinned-and-leading', messageIds: ['m0', 'm1'] })
  })

  it('where an open call holds everything back', () => {
    const open = message(0, 100, { role: 'assistant', content: null, toolCalls: [{ id: 'x', type: 'function' }] })
    expect(planCycle(state({ chunkSize: 30 }, open, ...messages(15, 100, 1)), 'soft')).toMatchObject({
      kind: 'none',
      reason: 'open-calls',
    })
  })

  it('for less than two summaries’ worth', () => {
    expect(planCycle(state({ maxSummaryTokens: 200, keepRecent: 12 }, ...messages(16, 100)), 'soft').kind).toBe('none')
  })

  it('by hand where nothing may be folded; anything else may', () => {
    expect(planCycle(state({}, ...messages(2, 10)), 'manual').kind).toBe('none')
    expect(chunksOf(planned(state({}, ...messages(3, 10)), 'manual'))).toEqual(['new m0'])
  })
})

describe('the hard limit', () => {
  it('folds into the recent messages, down to the last call group, as far as it takes', () => {
    const large = state({ keepRecent: 5 }, ...messages(5, 500))
    expect(planCycle(large, 'soft').kind).toBe('none')
    expect(chunksOf(planned(large, 'hard'))).toEqual(['new m0 m1'])
    const calls = { role: 'assistant' as const, content: null, toolCalls: [{ id: 'x', type: 'function' }] }
    const group = state(
      { keepRecent: 5 },
      message(0, 300),
      message(1, 100, calls),
      message(2, 1_700, { role: 'tool', toolCallId: 'x' }),
    )
    expect(chunksOf(planned(group, 'hard'))).toEqual(['new m0'])
  })

  it('folds nothing into the recent messages where that cannot bring it below', () => {
    expect(planCycle(state({ keepRecent: 5 }, message(0, 300), message(1, 5_000)), 'hard')).toMatchObject({
      kind: 'none',
      reason: 'recent-messages',
    })
  })
})

describe('batches become one', () => {
  const batch = (number: number, depth: number): Batch => ({
    batchId: `b${String(number)}`,
    label: 'l',
    depth,
    startTime: at(0),
    endTime: at(1),
    messageCount: 1,
    firstRevision: 0,
    lastRevision: 0,
    content: 'c',
    tokens: 1,
    revision: number,
  })
  const chosen = (depths: readonly number[], clips = { clipFirst: 1, clipLast: 1, buffer: 2 }): string[] | undefined =>
    planResummarization(
      depths.map((depth, number) => batch(number, depth)),
      clips,
    )?.map(({ batchId }) => batchId)

  it('only where more than the first, the last and the buffer are active', () => {
    expect(chosen([0, 0, 0, 0])).toBeUndefined()
    expect(chosen([0, 0, 0, 0, 0])).toEqual(['b1', 'b2', 'b3'])
  })

  it('the oldest run of the lowest depth that is long enough', () => {
    expect(chosen([0, 1, 0, 0, 0, 0])).toEqual(['b2', 'b3', 'b4'])
    expect(chosen([0, 1, 1, 1, 0, 0, 0])).toEqual(['b1', 'b2', 'b3'])
    expect(chosen([0, 1, 1, 1, 0, 0, 0, 0])).toEqual(['b4', 'b5', 'b6'])
    expect(chosen([0, 1, 0, 1, 0, 1, 0])).toBeUndefined()
  })

  it('so that depth grows with the logarithm', () => {
    let batches: Batch[] = []
    for (let number = 0; number < 500; number += 1) {
      batches = [...batches, batch(number, 0)]
      for (
        let sources = planResummarization(batches, { clipFirst: 1, clipLast: 1, buffer: 3 });
        sources !== undefined;
        sources = planResummarization(batches, { clipFirst: 1, clipLast: 1, buffer: 3 })
      ) {
        const first = batches.indexOf(sources[0] ?? batch(0, 0))
        batches = [
          ...batches.slice(0, first),
          batch(1_000 + number, 1 + Math.max(...sources.map(({ depth }) => depth))),
          ...batches.slice(first + sources.length),
        ]
      }
    }
    expect(Math.max(...batches.map(({ depth }) => depth))).toBeLessThanOrEqual(6)
    expect(batches.length).toBeLessThan(30)
  })
})

it('a conversation without a configuration has no trigger and no plan', () => {
  const empty = stateAfter([])
  expect(triggerOf(empty)).toBeUndefined()
  expect(planCycle(empty, 'manual').kind).toBe('none')
})
