/** What may be asked of a conversation, and every way to be refused. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import type { Command } from '../../../src/domain/decide/index.js'
import type { Event } from '../../../src/domain/events/index.js'
import { derivedMessageId } from '../../../src/domain/values/ids.js'
import type { MessageInput } from '../../../src/domain/values/message.js'
import {
  appended,
  archived,
  at,
  compactionFailed,
  pinned,
  prunedBy,
  summarized,
  summarizer,
  unpinned,
} from '../../support/builders.js'
import { answering, calling } from '../../support/conversations.js'
import { configuredWith, given, nothing } from '../../support/given.js'
import { messageOf } from '../../support/harness.js'

const NOW = at(99)
const append = (...messages: MessageInput[]): Command => ({
  type: 'AppendMessages',
  messages: messages.map(messageOf),
  now: NOW,
})
const user = (id: string, content = 'Berth 7?'): MessageInput => ({ id, role: 'user', content })
const calls = (id: string, ...callIds: string[]): Event =>
  appended(id, {
    role: 'assistant',
    content: null,
    toolCalls: callIds.map((callId) => ({ id: callId, type: 'function', function: { name: 'run', arguments: '{}' } })),
  })
const result = (id: string, callId: string): Event =>
  appended(id, { role: 'tool', content: `result of ${callId}`, toolCallId: callId })
const small = configuredWith({ modelMaxTokens: 1_000, chunkSize: 3 })
const configure = (some: Partial<Extract<Command, { type: 'Configure' }>> = {}): Command => ({
  type: 'Configure',
  settings: undefined,
  scope: undefined,
  summarizerWindowTokens: 128_000,
  ...some,
})
const recordChunk = (...messageIds: string[]): Command => ({
  type: 'RecordChunk',
  messageIds,
  continues: undefined,
  summary: 'They talked.',
  summarizer: summarizer(),
})
const prune = (...chunkIds: string[]): Command => ({ type: 'ArchiveAndPrune', chunkIds, trigger: 'soft' })

describe('Configure', () => {
  it('records every setting with its number, the first time', () => {
    const [event] = nothing().when(configure({ settings: { keepRecent: 7 }, scope: 'tenant' })).events
    expect(event).toMatchObject({
      type: 'ConversationConfigured',
      data: { settings: { keepRecent: 7 }, scope: 'tenant', policy: { keepRecent: 7, contextBudget: 0.8 } },
    })
  })

  it('records nothing where nothing changes, and adds to what was set before', () => {
    given(small).when(configure()).records()
    given(small)
      .when(configure({ settings: { chunkSize: 3 } }))
      .records()
    expect(given(small).when(configure({ settings: { keepRecent: 7 } })).events).toMatchObject([
      { data: { settings: { modelMaxTokens: 1_000, chunkSize: 3, keepRecent: 7 } } },
    ])
  })

  it('refuses another scope, and settings that leave no window', () => {
    given(configuredWith({}, 'one'))
      .when(configure({ scope: 'two' }))
      .rejected({ kind: 'ScopeChanged', recorded: 'one', given: 'two' })
    given(small)
      .when(configure({ scope: 'two' }))
      .rejected({ kind: 'ScopeChanged', recorded: undefined, given: 'two' })
    given(configuredWith({}, 'one'))
      .when(configure({ scope: 'one' }))
      .records()
    given(small)
      .when(configure({ settings: { outputReserve: 999 } }))
      .rejected(expect.objectContaining({ kind: 'BadPolicy', field: 'modelMaxTokens' }))
  })

  it('comes before anything else', () => {
    nothing()
      .when(append(user('m')))
      .rejected({ kind: 'NotConfigured' })
    nothing().when({ type: 'PinMessage', messageId: 'm' }).rejected({ kind: 'NotConfigured' })
  })
})

describe('AppendMessages', () => {
  it('records each message with its tokens, and now where it brings no time', () => {
    given()
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
    given(appended('a', { content: 'Berth 7?' }))
      .when(append(user('a'), { ...user('a'), created_at: at(7) }))
      .records()
    expect(given().when(append(user('a'), user('a'))).events).toHaveLength(1)
  })

  it('refuses the same id with other content, and an id that is none', () => {
    given(appended('a'))
      .when(append(user('a')))
      .rejected({ kind: 'MessageIdTaken', messageId: 'a' })
    given()
      .when(append(user('a'), user('a', 'other')))
      .rejected({ kind: 'MessageIdTaken', messageId: 'a' })
    given()
      .when(append(user('a\u0000')))
      .rejected({ kind: 'BadId', field: 'id', detail: 'has a control character' })
  })

  it('takes a result only for a call that waits, live or folded', () => {
    const refused = { kind: 'ToolResultWithoutCall', messageId: 'r', toolCallId: 'x' }
    given()
      .when(append(answering('r', 'x')))
      .rejected(refused)
    given(calls('c', 'y'))
      .when(append(answering('r', 'x')))
      .rejected(refused)
    given(calls('c', 'x'), result('r0', 'x'))
      .when(append(answering('r', 'x')))
      .rejected(refused)
    expect(given(calls('c', 'x')).when(append(answering('r', 'x'))).events).toHaveLength(1)
    expect(given().when(append(calling('c', ['x']), answering('r', 'x'))).events).toHaveLength(2)
    const carried = {
      ...prunedBy({ b: ['c'] }).data.carried,
      foldedCalls: [{ callId: 'x', name: 'run', batchId: 'b' }],
    }
    expect(
      given(calls('c', 'x'), archived('b', ['c']), prunedBy({ b: ['c'] }, { carried })).when(
        append(answering('r', 'x')),
      ).events,
    ).toHaveLength(1)
  })

  it('refuses a pin beyond a quarter of the window, together with leading and pinned messages', () => {
    given(small)
      .when(append({ ...user('p', 'x'.repeat(1_200)), pinned: true }))
      .rejected({ kind: 'PinTooLarge', messageId: 'p', tokens: 302, limit: 250 })
    given(small, appended('s', { role: 'system', tokens: 200 }))
      .when(append({ ...user('p', 'x'.repeat(200)), pinned: true }))
      .rejected({ kind: 'PinTooLarge', messageId: 'p', tokens: 252, limit: 250 })
    expect(given(small).when(append({ ...user('p'), pinned: true })).events).toMatchObject([{ data: { pinned: true } }])
  })

  it('counts what has to stand beside a pin: the least of its call and of the results, those to come included', () => {
    const ids = Array.from({ length: 12 }, (_, place) => `call_${String(place)}`)
    const large = { content: 'x'.repeat(9_000), tokens: 2_254 }
    const beside = [
      calls('c', ...ids),
      ...ids.map((id) => appended(`r${id}`, { role: 'tool', toolCallId: id, ...large })),
    ]
    const window = configuredWith({ modelMaxTokens: 1_600 })
    const tooLarge = (messageId: string): unknown =>
      expect.objectContaining({ kind: 'PinTooLarge', messageId, limit: 400 })
    // Twelve results of 9,000 characters are shown in a few words each where nothing else helps.
    expect(given(window, ...beside).when({ type: 'PinMessage', messageId: 'c' }).events).toHaveLength(1)
    given(window, calls('c', ...ids, ...ids.map((id) => `another_${id}`)))
      .when({ type: 'PinMessage', messageId: 'c' })
      .rejected(tooLarge('c'))
    given(window, ...beside, appended('p', { tokens: 300 }), pinned('p'))
      .when({ type: 'PinMessage', messageId: 'rcall_3' })
      .rejected(tooLarge('rcall_3'))
  })

  it('records all of a command or none of it', () => {
    given(small)
      .when(append(user('a'), answering('r', 'x'), user('b')))
      .rejected({ kind: 'ToolResultWithoutCall', messageId: 'r', toolCallId: 'x' })
  })
})

describe('PinMessage and UnpinMessage', () => {
  it('record once what changes', () => {
    given(appended('a')).when({ type: 'PinMessage', messageId: 'a' }).records(pinned('a'))
    given(appended('a'), pinned('a')).when({ type: 'PinMessage', messageId: 'a' }).records()
    given(appended('a'), pinned('a')).when({ type: 'UnpinMessage', messageId: 'a' }).records(unpinned('a'))
    given(appended('a')).when({ type: 'UnpinMessage', messageId: 'a' }).records()
  })

  it('refuse a message that is not live, and a pin that is too large', () => {
    given(appended('a'))
      .when({ type: 'PinMessage', messageId: 'b' })
      .rejected({ kind: 'MessageNotLive', messageId: 'b' })
    given(small, appended('a', { tokens: 300 }))
      .when({ type: 'PinMessage', messageId: 'a' })
      .rejected({ kind: 'PinTooLarge', messageId: 'a', tokens: 300, limit: 250 })
  })
})

describe('RecordChunk', () => {
  it('records what it covers', () => {
    const [event] = given(appended('a', { createdAt: at(9) }), appended('b', { createdAt: at(4) }), appended('c')).when(
      recordChunk('a', 'b'),
    ).events
    expect(event).toMatchObject({
      type: 'ChunkSummarized',
      data: {
        messageIds: ['a', 'b'],
        firstRevision: 1n,
        lastRevision: 2n,
        startTime: at(4),
        endTime: at(9),
        messageCount: 2,
        summary: 'They talked.',
      },
    })
    expect(
      given(appended('a'), appended('b', { createdAt: at(4) }), ...(event === undefined ? [] : [event])).when(
        recordChunk('a', 'b'),
      ).events,
    ).toEqual([])
  })

  it('refuses messages that are gone', () => {
    given(appended('a')).when(recordChunk('a', 'b')).rejected({ kind: 'MessageNotLive', messageId: 'b' })
  })
})

describe('ArchiveAndPrune', () => {
  it('archives each chunk and prunes, in this order, and carries what a load needs', () => {
    const events = given(
      small,
      appended('s', { role: 'system' }),
      appended('a'),
      appended('p', { pinned: true }),
      calls('c', 'x'),
      appended('d'),
      appended('e'),
      appended('f'),
      summarized('k', ['a', 'c', 'd']),
    ).when(prune('k')).events
    expect(events).toMatchObject([
      {
        type: 'BatchArchived',
        data: {
          chunkId: 'k',
          depth: 0,
          messageIds: ['a', 'c', 'd'],
          label: `compaction-batch-c1-${at(3)}`,
          content: `[depth:0|start:${at(0)}|end:${at(3)}|count:3]\nsummary of k`,
        },
      },
      {
        type: 'MessagesPruned',
        data: {
          cycle: 1,
          windowStart: 6n,
          why: { trigger: 'soft', threshold: 800, terms: { modelMaxTokens: 1_000 } },
          carried: {
            messagesCompressed: 3,
            messagesAppended: 7,
            leading: [1n],
            originalTask: 2n,
            kept: [{ revision: 3n, pinned: true }],
            chunks: [],
            foldedCalls: [{ callId: 'x', name: 'run' }],
          },
        },
      },
    ])
  })

  it('refuses what has no summary', () => {
    given(appended('a')).when(prune('k')).rejected({ kind: 'NotArchivedYet', chunkId: 'k' })
    given(appended('a')).when(prune()).rejected({ kind: 'NotArchivedYet', chunkId: '' })
  })

  it('refuses to leave a hole, to part a call from its results, and to take what is pinned', () => {
    given(small, appended('a'), appended('b'), appended('c'), summarized('k', ['b']))
      .when(prune('k'))
      .rejected({ kind: 'NotAtHead', messageId: 'a' })
    given(small, calls('c', 'x'), result('r', 'x'), appended('d'), summarized('k', ['c']))
      .when(prune('k'))
      .rejected({ kind: 'CutInsideCallGroup', messageId: 'c' })
    given(small, calls('c', 'x'), appended('d'), summarized('k', ['c']))
      .when(prune('k'))
      .rejected({ kind: 'CutInsideCallGroup', messageId: 'c' })
    given(small, appended('a'), appended('b'), summarized('k', ['a']), pinned('a'))
      .when(prune('k'))
      .rejected({ kind: 'MessagePinned', messageId: 'a' })
    given(small, calls('c', 'x'), result('r', 'x'), appended('d'), summarized('k', ['c', 'r']), pinned('r', 2n))
      .when(prune('k'))
      .rejected({ kind: 'MessagePinned', messageId: 'c' })
  })
})

describe('RecordResummarization', () => {
  const three = ['a', 'b', 'c'].flatMap((name): Event[] => [archived(`b-${name}`, [name])])
  const resummarize = (...sourceBatchIds: string[]): Command => ({
    type: 'RecordResummarization',
    sourceBatchIds,
    summary: 'All of it.',
    summarizer: summarizer(),
  })

  it('records one batch a level deeper, with the span of all', () => {
    const before = given(appended('a'), appended('b'), appended('c'), ...three)
    const events = before.when(resummarize('b-a', 'b-b')).events
    expect(events).toMatchObject([
      {
        type: 'BatchesResummarized',
        data: {
          sourceBatchIds: ['b-a', 'b-b'],
          depth: 1,
          messageCount: 2,
          startTime: at(0),
          endTime: at(1),
          content: `[depth:1|start:${at(0)}|end:${at(1)}|count:2]\nAll of it.`,
        },
      },
    ])
    given(appended('a'), appended('b'), appended('c'), ...three, ...events)
      .when(resummarize('b-a', 'b-b'))
      .records()
  })

  it.each([[['b-a', 'b-c']], [['b-b', 'b-a']], [['b-a', 'nobody']], [['b-a']]])(
    'refuses %j: no run of active batches',
    (sources) => {
      given(appended('a'), appended('b'), appended('c'), ...three)
        .when(resummarize(...sources))
        .rejected({ kind: 'BatchesNotActive', batchIds: sources })
    },
  )
})

describe('what went wrong', () => {
  const { attempt: _attempt, retryAfterMessages: _retry, ...failure } = compactionFailed().data

  it('is counted in a row, and starts anew after a summary', () => {
    expect(given(small).when({ type: 'RecordFailure', ...failure }).events).toMatchObject([
      { data: { attempt: 1, retryAfterMessages: 1 } },
    ])
    expect(
      given(small, compactionFailed({ attempt: 4 })).when({ type: 'RecordFailure', ...failure }).events,
    ).toMatchObject([{ data: { attempt: 5, retryAfterMessages: 3 } }])
    expect(
      given(small, appended('a'), compactionFailed({ attempt: 4 }), summarized('k', ['a'])).when({
        type: 'RecordFailure',
        ...failure,
      }).events,
    ).toMatchObject([{ data: { attempt: 1 } }])
  })

  it('ahead of need rests as long as it ever does, and does not count against what a limit asks for', () => {
    expect(given(small).when({ type: 'RecordFailure', ...failure, trigger: 'ahead' }).events).toMatchObject([
      { data: { attempt: 1, retryAfterMessages: 3 } },
    ])
    expect(
      given(small, compactionFailed({ attempt: 4, trigger: 'ahead' })).when({ type: 'RecordFailure', ...failure })
        .events,
    ).toMatchObject([{ data: { attempt: 1, retryAfterMessages: 1 } }])
    expect(
      given(small, compactionFailed({ attempt: 4, trigger: 'ahead' })).when({
        type: 'RecordFailure',
        ...failure,
        trigger: 'ahead',
      }).events,
    ).toMatchObject([{ data: { attempt: 5 } }])
  })

  it('at a limit on spending waits for no messages: the day has to turn', () => {
    expect(given(small).when({ type: 'RecordFailure', ...failure, failure: 'limit-reached' }).events).toMatchObject([
      { data: { attempt: 1, retryAfterMessages: 0 } },
    ])
  })

  it('could not be helped is said once, and not at all where there is no need', () => {
    const huge = [small, appended('a', { tokens: 900 })]
    const [event] = given(...huge).when({ type: 'RecordCouldNotHelp', trigger: 'soft' }).events
    expect(event).toMatchObject({
      type: 'CompactionCouldNotHelp',
      data: { reason: 'recent-messages', tokens: 900, limit: 800, messageIds: ['a'] },
    })
    given(...huge, ...(event === undefined ? [] : [event]))
      .when({ type: 'RecordCouldNotHelp', trigger: 'soft' })
      .records()
    given(small, appended('a')).when({ type: 'RecordCouldNotHelp', trigger: 'soft' }).records()
  })
})
