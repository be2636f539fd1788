/**
 * Bounded work: deciding on an append reads as many messages of a long conversation as of a short one, and a plan reads
 * each message a few times. Counted in reads of a field, so the speed of the machine does not matter.
 */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { planAhead } from '../../src/domain/compaction/plan.js'
import type { Conversation } from '../../src/domain/conversation/conversation.js'
import type { LiveMessage } from '../../src/domain/conversation/live-message.js'
import { decide } from '../../src/domain/decide/index.js'
import type { Event } from '../../src/domain/events/index.js'
import { appended, calls, result, summarized } from '../support/builders.js'
import { append } from '../support/commands.js'
import { answering, calling } from '../support/conversations.js'
import { configuredWith, stateAfter } from '../support/given-events.js'

const COUNTED = ['messageId', 'tokens', 'toolCalls', 'toolCallId'] as const

/** The state with messages that count how often they are read. */
function counting(state: Conversation): { readonly state: Conversation; readonly takeReads: () => number } {
  let reads = 0
  const counted = (message: LiveMessage): LiveMessage => {
    const copy = { ...message }
    for (const field of COUNTED) {
      const value = message[field]
      Object.defineProperty(copy, field, {
        enumerable: true,
        get() {
          reads += 1
          return value
        },
      })
    }
    return copy
  }
  return {
    state: { ...state, window: state.window.map(counted), retained: state.retained.map(counted) },
    takeReads() {
      const taken = reads
      reads = 0
      return taken
    },
  }
}

/** Messages with a call and its result among every eight. */
const talk = (count: number): Event[] =>
  Array.from({ length: count }, (_none, place) => {
    const id = `m${String(place)}`
    if (place % 8 === 5) return calls(id, `call-${String(place)}`)
    if (place % 8 === 6) return result(id, `call-${String(place - 1)}`)
    return appended(id, { role: place % 2 === 0 ? 'user' : 'assistant', tokens: 10 })
  })

const APPENDS = {
  'a new message': () => append({ id: 'new', role: 'user', content: 'Berth 7?' }),
  'a message without an id': () => append({ role: 'user', content: 'Berth 7?' }),
  'the newest message again': (count: number) =>
    append({ id: `m${String(count - 1)}`, role: 'user', content: `content of m${String(count - 1)}` }),
  'a call with its result': () => append(calling('c', ['x']), answering('r', 'x')),
  'ten messages': () =>
    append(
      ...Array.from({ length: 10 }, (_none, at) => ({ id: `t${String(at)}`, role: 'user' as const, content: 'Yes.' })),
    ),
}

/** The reads of deciding on each append and of evolving by it, in a window that had an append before. */
function readsByAppend(count: number): Record<string, number> {
  const begun = counting(stateAfter([configuredWith({ modelMaxTokens: 4_000_000 }), ...talk(count)]))
  const first = decide(begun.state, append({ id: 'first', role: 'user', content: 'Hello.' }))
  if (E.isLeft(first)) throw new Error(first.left.kind)
  const state = stateAfter(first.right, begun.state)
  return Object.fromEntries(
    Object.entries(APPENDS).map(([name, command]) => {
      begun.takeReads()
      const decided = decide(state, command(count))
      if (E.isRight(decided)) stateAfter(decided.right, state)
      return [name, begun.takeReads()]
    }),
  )
}

describe('bounded work', () => {
  it('an append reads as much of a window of 2,000 messages as of one of 200', () => {
    expect(readsByAppend(2_000)).toEqual(readsByAppend(200))
  })

  it.each([0, 0.5])('a plan reads each message a few times, if a share of %d has a summary already', (share) => {
    const readsPerMessage = (count: number): number => {
      const tokens = 10 * count
      // Between nine tenths of the soft limit and the soft limit, every append makes a plan.
      const policy = configuredWith({ modelMaxTokens: Math.ceil(tokens / 0.76), chunkSize: count * 2 })
      const covered = Array.from({ length: 8 * Math.floor((share * count) / 8) }, (_none, place) => `m${String(place)}`)
      const chunk = covered.length === 0 ? [] : [summarized('k', covered)]
      const { state, takeReads } = counting({ ...stateAfter([policy, ...talk(count), ...chunk]), tokens })
      takeReads()
      planAhead(state)
      return takeReads() / count
    }
    const short = readsPerMessage(200)
    expect(short).toBeGreaterThan(1)
    expect(readsPerMessage(2_000)).toBeLessThan(short + 2)
  })
})
