/** The context that a model gets, in the cases where it is not simply what was recorded. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { contextOf, viewText, type Context } from '../../../src/domain/compaction/context.js'
import type { Event } from '../../../src/domain/events/index.js'
import type { ContentPart } from '../../../src/domain/values/message.js'
import { shorten } from '../../../src/domain/conversation/shorten.js'
import { defaultEstimator, messageTokens } from '../../../src/domain/values/tokens.js'
import { appended, archived, configuration, prunedBy } from '../../support/builders.js'
import { problemsOfEveryApi } from '../../support/chat-validity.js'
import { configuredWith, stateAfter } from '../../support/given-events.js'
import { contextIn } from '../../support/harness.js'

const calls = (id: string, callIds: readonly string[], args = '{}'): Event =>
  appended(id, {
    role: 'assistant',
    content: null,
    toolCalls: callIds.map((callId) => ({ id: callId, type: 'function', function: { name: 'run', arguments: args } })),
    tokens: 10 + Math.ceil(args.length / 4) * callIds.length,
  })
const result = (id: string, callId: string, content = 'done'): Event =>
  appended(id, { role: 'tool', content, toolCallId: callId, tokens: 4 + Math.ceil(content.length / 4) })
const text = (id: string, content: string, some: Parameters<typeof appended>[1] = {}): Event =>
  appended(id, { content, tokens: 2 + defaultEstimator.text(content), ...some })
const contextAfter = (...events: Event[]): Context =>
  contextIn(stateAfter(events[0]?.type === 'ConversationConfigured' ? events : [configuredWith({}), ...events]))
const tiny = configuredWith({ modelMaxTokens: 512 })

describe('a context', () => {
  it('of a conversation without a fact is empty', () => {
    expect(contextIn(stateAfter([]))).toMatchObject({ messages: [], tokens: 0, revision: -1 })
  })

  it('has leading messages, the view, pinned ones from before the window, and the window, in this order', () => {
    const context = contextAfter(
      configuredWith({}),
      appended('s', { role: 'system' }),
      appended('d', { role: 'developer' }),
      appended('a'),
      appended('p', { pinned: true }),
      appended('b'),
      appended('late-system', { role: 'system' }),
      archived('k', ['a', 'b']),
      prunedBy({ k: ['a', 'b'] }, { windowStart: 6 }),
    )
    expect(context.messageIds).toEqual(['s', 'p', 'late-system'])
    expect(context.viewAt).toBe(0)
    expect(context.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(
        /^content of s\n\ncontent of d\n\n\[Context Summary — 2 messages compressed across 1 compaction cycle;/u,
      ),
    })
    expect(viewText(context)).toMatch(/^\[Context Summary/u)
    expect(context.messages[2]).toEqual({ role: 'user', content: '[system message]\ncontent of late-system' })
    expect(context.adapted).toEqual([0, 2])
  })
})

describe('calls and results', () => {
  it('a call without a result has a placeholder, which the result takes the place of', () => {
    const open = contextAfter(calls('c', ['x', 'y']), result('ry', 'y'), text('u', 'and?'))
    expect(open.messages.map((message) => message.tool_call_id)).toEqual([undefined, undefined, 'y', 'x', undefined])
    expect(open.openCalls).toEqual([{ callId: 'x', name: 'run', messageId: 'c' }])
    const late = contextAfter(calls('c', ['x', 'y']), result('ry', 'y'), text('u', 'and?'), result('rx', 'x'))
    expect(late.messageIds).toEqual([undefined, 'c', 'ry', 'rx', 'u'])
    expect(late.openCalls).toBeUndefined()
  })

  it('the tokens of what is only shown count', () => {
    const open = stateAfter([configuredWith({}), calls('c', ['x', 'y']), text('u', 'and?')])
    expect(open.tokens).toBe(contextIn(open).tokens)
    const answered = stateAfter([result('ry', 'y')], open)
    expect(answered.tokens).toBe(contextIn(answered).tokens)
  })

  it('of the same id belong to the call before them', () => {
    const context = contextAfter(
      calls('c1', ['x']),
      result('r1', 'x'),
      calls('c2', ['x']),
      text('u', 'wait'),
      result('r2', 'x'),
    )
    expect(context.messageIds).toEqual([undefined, 'c1', 'r1', 'c2', 'r2', 'u'])
    expect(problemsOfEveryApi(context.messages)).toEqual([])
  })
})

it('a late result of a call that was folded keeps its parts', () => {
  const carried = {
    ...prunedBy({ b: ['c'] }).data.carried,
    compactedCalls: [{ callId: 'x', name: 'run', batchId: 'b' }],
  }
  const parts = [
    { type: 'text', text: 'the chart' },
    { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
  ]
  const state = stateAfter([
    configuredWith({}),
    calls('c', ['x']),
    archived('b', ['c']),
    prunedBy(
      { b: ['c'] },
      { carried: { ...carried, configuration: configuration({ estimator: defaultEstimator.name }) } },
    ),
    appended('r', { role: 'tool', toolCallId: 'x', content: parts, tokens: 1_005 }),
  ])
  const context = contextIn(state)
  expect(context.messages.at(-1)).toEqual({
    role: 'user',
    content: [{ type: 'text', text: '[late result of the call run (x), which is summarized in b]' }, ...parts],
  })
  expect(context.tokens).toBe(state.tokens)
})

describe('what does not fit', () => {
  it('is shortened in the middle, and says how much is left out and where it can be read', () => {
    const context = contextAfter(tiny, text('u', `begin ${'x'.repeat(4_000)} end`), text('v', 'short'))
    const [message] = context.messages
    expect(message?.content).toMatch(/^begin x[^]*characters left out[^]*the whole text: message u [^]*x end$/u)
    expect(context.shortened).toEqual([{ id: 'u', how: 'shortened', characters: expect.any(Number) }])
    expect(context.tokens).toBeLessThanOrEqual(512)
  })

  it('tears no character, in any script', () => {
    for (const unit of ['决', '😀', 'é', 'a決😀']) {
      const short = shorten(unit.repeat(2_000), 60, 'here', defaultEstimator)
      expect(short.isWellFormed()).toBe(true)
      expect(defaultEstimator.text(short)).toBeLessThanOrEqual(60)
    }
    expect(shorten('short', 60, 'here', defaultEstimator)).toBe('short')
  })

  it('arguments of a call stay JSON', () => {
    const args = JSON.stringify({
      path: 'src/berth.ts',
      text: 'y'.repeat(3_000),
      nested: { list: ['z'.repeat(3_000), 5, null] },
    })
    for (const argument of [args, `{${'"'.repeat(3_000)}`, JSON.stringify('w'.repeat(3_000))]) {
      const context = contextAfter(tiny, calls('c', ['x'], argument), result('r', 'x'), text('u', 'and?'))
      expect(problemsOfEveryApi(context.messages)).toEqual([])
      expect(context.tokens).toBeLessThanOrEqual(512)
      expect(context.shortened?.map(({ id }) => id)).toContain('c')
    }
    const shortened = contextAfter(tiny, calls('c', ['x'], args), result('r', 'x'))
    expect(JSON.parse(shortened.messages[1]?.tool_calls?.[0]?.function?.arguments ?? '')).toMatchObject({
      path: 'src/berth.ts',
      nested: { list: [expect.stringContaining('left out'), 5, null] },
    })
  })

  it('leaves out the oldest groups, visibly, and keeps the last message', () => {
    const context = contextAfter(
      configuredWith({ modelMaxTokens: 512 }),
      ...Array.from({ length: 60 }, (_, number) => text(`m${String(number)}`, 'berth '.repeat(12))),
    )
    expect(context.messages[0]).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/^\[\.\.\. \d+ earlier messages or call groups are left out/u),
    })
    expect(context.messageIds.at(-1)).toBe('m59')
    expect(context.shortened?.find(({ how }) => how === 'left-out')?.id).toBe('m0')
    expect(context.tokens).toBeLessThanOrEqual(512)
  })

  it('a call goes with its results', () => {
    const context = contextAfter(
      tiny,
      calls('c', ['x', 'y']),
      result('rx', 'x', 'x'.repeat(400)),
      result('ry', 'y', 'y'.repeat(400)),
      ...Array.from({ length: 12 }, (_, number) => text(`m${String(number)}`, 'berth '.repeat(30))),
    )
    expect(problemsOfEveryApi(context.messages)).toEqual([])
    expect(['c', 'rx', 'ry'].map((id) => context.messageIds.includes(id))).toEqual([false, false, false])
  })

  const image = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }
  const pdf = {
    type: 'file',
    file: { filename: 'report.pdf', file_data: `data:application/pdf;base64,${'QUJDRA'.repeat(20_000)}` },
  }
  const ASK: ContentPart = { type: 'text', text: 'Summarize this PDF.' }
  const withParts = (id: string, content: readonly ContentPart[], some: Parameters<typeof appended>[1] = {}): Event => {
    const message = { role: 'user' as const, content, ...some }
    return appended(id, { ...message, tokens: messageTokens(message, defaultEstimator) })
  }

  it('shows a text in the place of a part that does not fit, and keeps the text beside it', () => {
    const context = contextAfter(tiny, text('u', 'hello'), withParts('q', [ASK, pdf, image]))
    expect(context.messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'Summarize this PDF.' },
      {
        type: 'text',
        text: "[file, report.pdf, application/pdf, 90000 bytes: left out to fit the model's window; the log has it in message q]",
      },
      { type: 'text', text: "[image: left out to fit the model's window; the log has it in message q]" },
    ])
    expect(context.shortened).toEqual([{ id: 'q', how: 'shortened', characters: expect.any(Number) }])
    expect(context.shortened?.[0]?.characters).toBeGreaterThan(119_000)
    expect(context.tokens).toBeLessThanOrEqual(512)
  })

  it('keeps a file whole in the newest message as long as it fits by itself', () => {
    const window = configuredWith({ modelMaxTokens: 8_000 })
    const history = Array.from({ length: 40 }, (_, number) => text(`m${String(number)}`, 'berth '.repeat(200)))
    const context = contextAfter(window, ...history, withParts('q', [ASK, pdf]))
    expect(context.messages.at(-1)?.content).toEqual([{ type: 'text', text: 'Summarize this PDF.' }, pdf])
    expect(context.tokens).toBeLessThanOrEqual(8_000)
  })

  it('names a last message that nothing makes fit, so that the context still ends with it', () => {
    const many = Array.from({ length: 12 }, (_, at) => `a-rather-long-id-of-a-call-${'x'.repeat(60)}-${String(at)}`)
    const context = contextAfter(tiny, text('u', 'hello'), calls('c', many, JSON.stringify({ text: 'y'.repeat(600) })))
    expect(context.messageIds.at(-1)).toBe('c')
    expect(context.messages.at(-1)?.content).toContain('message c does not fit')
    expect(context.shortened?.map(({ id, how }) => [id, how])).toContainEqual(['c', 'shortened'])
    expect(context.tokens).toBeLessThanOrEqual(512)
  })

  it('leaves the newest message in, also where its call stands at the start of the window', () => {
    const context = contextAfter(
      tiny,
      calls('c', ['x']),
      ...Array.from({ length: 40 }, (_, number) => text(`m${String(number)}`, 'berth '.repeat(12))),
      result('r', 'x', 'the late answer'),
    )
    expect(context.messages[context.messageIds.indexOf('r')]).toMatchObject({
      role: 'tool',
      content: 'the late answer',
    })
    expect(problemsOfEveryApi(context.messages)).toEqual([])
    expect(context.tokens).toBeLessThanOrEqual(512)
  })

  it('says that all of the view is left out', () => {
    const events = [
      configuredWith({ modelMaxTokens: 512 }),
      appended('a'),
      archived('k', ['a'], {
        content: `[depth:0|start:2026-01-01T00:00:00.000Z|end:2026-01-01T00:00:00.000Z|count:1]\n${'what was done '.repeat(40)}`,
      }),
      prunedBy({ k: ['a'] }),
      text('q', 'x'.repeat(1_960)),
    ]
    const context = contextAfter(...events)
    expect(context.viewAt).toBeUndefined()
    expect(context.messages.map(({ content }) => content)).toEqual(['x'.repeat(1_960)])
    expect(context.shortened?.map(({ id, how }) => [id, how])).toEqual([['view', 'left-out']])
  })

  it('leaves a pinned message as it is, wherever it lies, and beside twelve results', () => {
    const ids = Array.from({ length: 12 }, (_, at) => `x${String(at)}`)
    const window = configuredWith({ modelMaxTokens: 2_048 })
    const pinnedText = text('p', 'Never touch production.', { pinned: true })
    const context = contextAfter(
      window,
      pinnedText,
      calls('c', ids),
      ...ids.map((id) => result(`r${id}`, id, 'z'.repeat(9_000))),
      ...Array.from({ length: 150 }, (_, number) => text(`m${String(number)}`, 'berth '.repeat(30))),
    )
    expect(context.messages[context.messageIds.indexOf('p')]?.content).toBe('Never touch production.')
    const pinnedResult = contextAfter(
      window,
      calls('c', ids),
      ...ids.map((id) =>
        id === 'x3'
          ? appended('p', { role: 'tool', toolCallId: id, content: 'exactly this', tokens: 8, pinned: true })
          : result(`r${id}`, id, 'z'.repeat(9_000)),
      ),
      text('u', 'y'.repeat(4_800)),
    )
    expect(pinnedResult.messages[pinnedResult.messageIds.indexOf('p')]).toMatchObject({
      role: 'tool',
      content: 'exactly this',
    })
    expect(pinnedResult.messages.at(-1)?.content).toBe('y'.repeat(4_800))
    expect(problemsOfEveryApi(pinnedResult.messages)).toEqual([])
    expect(pinnedResult.tokens).toBeLessThanOrEqual(2_048)
  })

  it('of pinned messages is an error that names them, where the window became smaller', () => {
    const events = [
      configuredWith({ modelMaxTokens: 8_000 }),
      text('p', 'x'.repeat(4_000), { pinned: true }),
      text('q', 'x'.repeat(2_000), { pinned: true }),
      text('u', 'hello'),
    ]
    expect(contextOf(stateAfter([...events, configuredWith({ modelMaxTokens: 1_024 })]))).toEqual(
      E.left({ kind: 'PinnedTooLarge', messageIds: ['p', 'q'], tokens: 1_518, limit: 1_024 }),
    )
    expect(contextAfter(...events, configuredWith({ modelMaxTokens: 2_048 })).messageIds).toEqual(['p', 'q', 'u'])
  })

  it('of the leading messages themselves is an error that names them', () => {
    const state = stateAfter([
      tiny,
      appended('s', { role: 'system', tokens: 400 }),
      appended('d', { role: 'developer', tokens: 200 }),
    ])
    expect(contextOf(state)).toEqual(
      E.left({ kind: 'LeadingTooLarge', messageIds: ['s', 'd'], tokens: 600, limit: 512 }),
    )
  })
})

describe('over budget', () => {
  it('says tokens, limit, why, and which messages it may not fold', () => {
    expect(contextAfter(tiny, text('u', 'x'.repeat(1_900))).overBudget).toEqual({
      tokens: 477,
      limit: 409,
      reason: 'recent-messages',
      messageIds: ['u'],
    })
    expect(contextAfter(tiny, text('u', 'x'.repeat(100))).overBudget).toBeUndefined()
  })

  it('says that compaction is due where it is', () => {
    const due = configuredWith({ modelMaxTokens: 512, keepRecent: 1, chunkSize: 2, chunkMinTokens: 0 })
    expect(
      contextAfter(due, ...Array.from({ length: 5 }, (_, number) => text(`m${String(number)}`, 'x'.repeat(350))))
        .overBudget,
    ).toMatchObject({ reason: 'compaction-due', messageIds: ['m4'] })
  })
})
