/** Contexts follow the rules of an API. */
import { describe, expect, it } from '@jest/globals'
import { contextOf, viewText, type Context } from '../../../src/domain/compaction/context.js'
import type { Event } from '../../../src/domain/events/index.js'
import { contentText } from '../../../src/domain/values/message.js'
import type { PolicySettings } from '../../../src/domain/values/policy-settings.js'
import { defaultEstimator } from '../../../src/domain/values/tokens.js'
import { either as E } from 'fp-ts'
import { appended, archived, prunedBy } from '../../support/builders.js'
import { apiProblems, problemsOfEveryApi } from '../../support/chat-validity.js'
import { configuredWith, stateAfter } from '../../support/given-events.js'

const call = (id: string): Event =>
  appended(id, {
    role: 'assistant',
    content: null,
    toolCalls: [{ id: `${id}-call`, type: 'function', function: { name: 'run', arguments: '{}' } }],
    tokens: 10,
  })
const result = (id: string, content = 'done'): Event =>
  appended(`${id}-result`, {
    role: 'tool',
    content,
    toolCallId: `${id}-call`,
    tokens: 2 + defaultEstimator.text(content),
  })

function contextAfter(settings: PolicySettings, ...events: Event[]): Context {
  const state = stateAfter([configuredWith(settings), ...events])
  const context = contextOf(state)
  if (E.isLeft(context)) throw new Error(context.left.kind)
  expect(context.right.tokens).toBe(state.tokens)
  return context.right
}
const rolesOf = ({ messages }: Context): string => messages.map(({ role }) => role).join(' ')

/** The request and its answer are compacted, and a call is live. */
const compactedTask = (request: string): Event[] => [
  appended('u', { role: 'user', content: request, tokens: 2 + defaultEstimator.text(request) }),
  appended('a', { role: 'assistant' }),
  call('c'),
  result('c'),
  archived('k', ['u', 'a']),
  prunedBy({ k: ['u', 'a'] }, { windowStart: 3 }),
]

describe('the user message that a context begins with', () => {
  it('is the original request, marked as shown again, once it was compacted', () => {
    const context = contextAfter({}, ...compactedTask('Make every berth bookable.'))
    expect(rolesOf(context)).toBe('system user assistant tool')
    expect(context.messages[1]?.content).toMatch(
      /^\[Shown again: the original request of this conversation, from \d{4}-\d\d-\d\d\. It is not a new message\.\]\nMake every berth bookable\.$/u,
    )
    expect(context.messageIds).toEqual([undefined, undefined, 'c', 'c-result'])
    expect(problemsOfEveryApi(context.messages)).toEqual([])
  })

  it('is shortened to the tokens of a summary, visibly', () => {
    const context = contextAfter({ maxSummaryTokens: 64 }, ...compactedTask('Make every berth bookable. '.repeat(200)))
    expect(defaultEstimator.text(contentText(context.messages[1]?.content))).toBeLessThan(110)
    expect(context.messages[1]?.content).toContain('characters left out')
  })

  it('is a neutral line if the view has the request, or there is none', () => {
    const continues = '[The conversation continues from the summary above.]'
    const viewed = contextAfter({ view: 'session-summary' }, ...compactedTask('Make every berth bookable.'))
    expect(viewed.messages[1]).toEqual({ role: 'user', content: continues })
    const context = contextAfter({}, appended('a', { role: 'assistant' }))
    expect(context.messages[0]).toEqual({ role: 'user', content: '[The conversation begins with the assistant.]' })
  })

  it('is not inserted before a user message, for instructions alone, or for the shape openai', () => {
    expect(rolesOf(contextAfter({}, appended('u', { role: 'user' })))).toBe('user')
    expect(rolesOf(contextAfter({}, appended('s', { role: 'system' })))).toBe('system')
    expect(rolesOf(contextAfter({ shape: 'openai' }, ...compactedTask('Go.')))).toBe('system assistant tool')
  })
})

describe('the system message', () => {
  it('joins leading messages with parts and fields of a provider as they came, and the view at its end', () => {
    const part = { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }
    const context = contextAfter(
      {},
      appended('s', { role: 'system', content: [part], extra: { custom: 1 } }),
      appended('d', { role: 'developer', content: 'Be kind.' }),
      ...compactedTask('Go.').slice(0, -1),
      prunedBy({ k: ['u', 'a'] }, { windowStart: 5 }),
    )
    expect(context.messages[0]).toMatchObject({ role: 'system', custom: 1 })
    expect(context.messages[0]?.content).toEqual([
      part,
      { type: 'text', text: '\n\nBe kind.' },
      { type: 'text', text: `\n\n${viewText(context) ?? ''}` },
    ])
    expect(viewText(context)).toMatch(/^\[Context Summary/u)
    expect(context.messageIds[0]).toBe('s')
  })
})

describe('what an API would refuse', () => {
  it('an empty text has words in its place', () => {
    const context = contextAfter(
      {},
      appended('u', { role: 'user', content: '' }),
      appended('a', { role: 'assistant', content: ' ' }),
      appended('p', {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'image_url', image_url: { url: 'x:' } },
        ],
      }),
      call('c'),
      result('c', ''),
    )
    expect(context.messages.map(({ content }) => content)).toEqual([
      '[empty message]',
      '[empty message]',
      [{ type: 'image_url', image_url: { url: 'x:' } }],
      null,
      '[empty result]',
    ])
    expect(problemsOfEveryApi(context.messages)).toEqual([])
  })

  it('a line separates calls from the assistant message before them, where the API asks for it', () => {
    const events = [appended('u', { role: 'user' }), appended('a', { role: 'assistant' }), call('c'), result('c')]
    expect(rolesOf(contextAfter({}, ...events))).toBe('user assistant user assistant tool')
    expect(rolesOf(contextAfter({ shape: 'gemini' }, ...events))).toBe('user assistant user assistant tool')
    const anthropic = contextAfter({ shape: 'anthropic' }, ...events)
    expect(rolesOf(anthropic)).toBe('user assistant assistant tool')
    expect(apiProblems(anthropic.messages, 'anthropic')).toEqual([])
    expect(apiProblems(anthropic.messages, 'gemini')).toHaveLength(1)
  })
})
