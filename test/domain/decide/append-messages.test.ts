/** Messages join the conversation: once each, with their tokens, and a result only behind its call. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { decide, inParts, partlyRecorded } from '../../../src/domain/decide/index.js'
import type { Event } from '../../../src/domain/events/index.js'
import { derivedMessageId } from '../../../src/domain/values/ids.js'
import type { MessageInput } from '../../../src/domain/values/message.js'
import { appended, archived, at, calls, pinned, prunedBy, result } from '../../support/builders.js'
import { NOW, append } from '../../support/commands.js'
import { answering, calling } from '../../support/conversations.js'
import { configuredWith, givenEvents, small, stateAfter } from '../../support/given-events.js'

const user = (id: string, content = 'Berth 7?'): MessageInput => ({ id, role: 'user', content })

describe('AppendMessages', () => {
  it('records each message with its tokens, and now where it brings no time', () => {
    givenEvents()
      .when(append({ ...user('a'), created_at: at(5) }, { role: 'assistant', content: 'Free.' }))
      .records(
        {
          type: 'MessageAppended',
          data: { messageId: 'a', role: 'user', content: 'Berth 7?', createdAt: at(5), tokens: 4 },
        },
        {
          type: 'MessageAppended',
          data: {
            messageId: derivedMessageId('c1', 1),
            role: 'assistant',
            content: 'Free.',
            createdAt: NOW,
            tokens: 4,
          },
        },
      )
  })

  it('records the same message once, in one command too, whatever its time', () => {
    givenEvents(appended('a', { content: 'Berth 7?' }))
      .when(append(user('a'), { ...user('a'), created_at: at(7) }))
      .records()
    expect(givenEvents().when(append(user('a'), user('a'))).events).toHaveLength(1)
  })

  it('refuses the same id with other content, and an id that is none', () => {
    givenEvents(appended('a'))
      .when(append(user('a')))
      .rejected({ kind: 'MessageIdTaken', messageId: 'a' })
    givenEvents()
      .when(append(user('a'), user('a', 'other')))
      .rejected({ kind: 'MessageIdTaken', messageId: 'a' })
    givenEvents()
      .when(append(user('a\u0000')))
      .rejected({ kind: 'BadId', field: 'id', detail: 'has a control character' })
  })

  it('takes a result only for a call that waits, live or folded', () => {
    const refused = { kind: 'ToolResultWithoutCall', messageId: 'r', toolCallId: 'x' }
    givenEvents()
      .when(append(answering('r', 'x')))
      .rejected(refused)
    givenEvents(calls('c', 'y'))
      .when(append(answering('r', 'x')))
      .rejected(refused)
    givenEvents(calls('c', 'x'), result('r0', 'x'))
      .when(append(answering('r', 'x')))
      .rejected(refused)
    expect(givenEvents(calls('c', 'x')).when(append(answering('r', 'x'))).events).toHaveLength(1)
    expect(givenEvents().when(append(calling('c', ['x']), answering('r', 'x'))).events).toHaveLength(2)
    const carried = {
      ...prunedBy({ b: ['c'] }).data.carried,
      compactedCalls: [{ callId: 'x', name: 'run', batchId: 'b' }],
    }
    expect(
      givenEvents(calls('c', 'x'), archived('b', ['c']), prunedBy({ b: ['c'] }, { carried })).when(
        append(answering('r', 'x')),
      ).events,
    ).toHaveLength(1)
  })

  it('refuses a pin beyond a quarter of the window, together with leading and pinned messages', () => {
    givenEvents(small)
      .when(append({ ...user('p', 'x'.repeat(1_200)), pinned: true }))
      .rejected({ kind: 'PinTooLarge', messageId: 'p', tokens: 302, limit: 250 })
    givenEvents(small, appended('s', { role: 'system', tokens: 200 }))
      .when(append({ ...user('p', 'x'.repeat(200)), pinned: true }))
      .rejected({ kind: 'PinTooLarge', messageId: 'p', tokens: 252, limit: 250 })
    expect(givenEvents(small).when(append({ ...user('p'), pinned: true })).events).toMatchObject([
      { data: { pinned: true } },
    ])
  })

  it('counts what has to stand beside a pin: the least of its call and of the results, those to come included', () => {
    const ids = Array.from({ length: 12 }, (_, place) => `call_${String(place)}`)
    const large = { content: 'x'.repeat(9_000), tokens: 2_254 }
    const groupWithPin = [
      calls('c', ...ids),
      ...ids.map((id) => appended(`r${id}`, { role: 'tool', toolCallId: id, ...large })),
    ]
    const window = configuredWith({ modelMaxTokens: 1_600 })
    const tooLarge = (messageId: string): unknown =>
      expect.objectContaining({ kind: 'PinTooLarge', messageId, limit: 400 })
    // Twelve results of 9,000 characters are shown in a few words each where nothing else helps.
    expect(givenEvents(window, ...groupWithPin).when({ type: 'PinMessage', messageId: 'c' }).events).toHaveLength(1)
    givenEvents(window, calls('c', ...ids, ...ids.map((id) => `another_${id}`)))
      .when({ type: 'PinMessage', messageId: 'c' })
      .rejected(tooLarge('c'))
    givenEvents(window, ...groupWithPin, appended('p', { tokens: 300 }), pinned('p'))
      .when({ type: 'PinMessage', messageId: 'rcall_3' })
      .rejected(tooLarge('rcall_3'))
  })

  it('decides the same for many messages in one command as for one after the other', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e')
    const message: fc.Arbitrary<MessageInput> = fc.oneof(
      fc.record({ id, text: fc.constantFrom('x', 'y') }).map((each) => user(each.id, each.text)),
      fc.constantFrom('x', 'y').map((content): MessageInput => ({ role: 'user', content })),
      fc.record({ id, call: fc.subarray(['p', 'q'], { minLength: 1 }) }).map((each) => calling(each.id, each.call)),
      fc.record({ id, call: fc.constantFrom('p', 'q') }).map((each) => answering(each.id, each.call)),
    )
    const earlier = [calls('old', 'p'), appended('a', { content: 'x' })]
    fc.assert(
      fc.property(fc.array(message, { minLength: 2, maxLength: 8 }), fc.boolean(), (messages, hasEarlier) => {
        const start = stateAfter([small, ...(hasEarlier ? earlier : [])])
        const oneByOne: Event[] = []
        let refusal: unknown
        for (const each of messages) {
          const decided = decide(stateAfter(oneByOne, start), append(each))
          if (E.isRight(decided)) oneByOne.push(...decided.right)
          else refusal ??= decided.left
          if (refusal !== undefined) break
        }
        const together = decide(start, append(...messages))
        expect(together).toEqual(refusal === undefined ? E.right(oneByOne) : E.left(refusal))
      }),
    )
  })

  it('decides the same in parts as in one command, also if all of its messages must be new', () => {
    const messages = fc.array(
      fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd', derivedMessageId('c1', 1)), isNamed: fc.boolean() }),
      { minLength: 1, maxLength: 9 },
    )
    fc.assert(
      fc.property(messages, fc.integer({ min: 1, max: 4 }), fc.boolean(), (given, size, isAtomic) => {
        const start = stateAfter([small, appended('a', { content: 'x' })])
        const command = {
          ...append(
            ...given.map(({ id, isNamed }): MessageInput => (isNamed ? user(id, 'x') : { role: 'user', content: 'x' })),
          ),
          ...(isAtomic ? { requestSize: given.length } : {}),
        }
        const events: Event[] = []
        let refusal: unknown
        for (const part of inParts(command, size)) {
          const decided = decide(stateAfter(events, start), part)
          if (E.isRight(decided)) events.push(...decided.right)
          else refusal ??= decided.left
          if (refusal !== undefined) break
        }
        refusal ??= partlyRecorded(command, events.length)
        expect(decide(start, command)).toEqual(refusal === undefined ? E.right(events) : E.left(refusal))
      }),
    )
  })

  it('records all of a command or none of it', () => {
    givenEvents(small)
      .when(append(user('a'), answering('r', 'x'), user('b')))
      .rejected({ kind: 'ToolResultWithoutCall', messageId: 'r', toolCallId: 'x' })
  })
})
