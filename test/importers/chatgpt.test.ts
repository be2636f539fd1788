/** Handwritten exports of ChatGPT, in the formats of 2023 to 2026. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { chatgpt } from '../../src/application/importers/chatgpt.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { itemsOf, lawfulItems, ofKind } from '../support/transcript-laws.js'

const FILE = '/home/ada/export/conversations.json'
const record = (value: unknown) => ({ value, where: { file: FILE } })
const read = (value: unknown): TranscriptItem[] => itemsOf(chatgpt, FILE, [record(value)])

/** A node: its parent, and its message. Children follow from the parents. */
type Sketch = readonly [parent: string | undefined, message: object | undefined]
const conversation = (nodes: Readonly<Record<string, Sketch>>, current: string, more: object = {}): object => ({
  title: 'Berths',
  create_time: 1773129600.25,
  conversation_id: 'k1',
  current_node: current,
  mapping: Object.fromEntries(
    Object.entries(nodes).map(([id, [parent, message]]) => [
      id,
      {
        id,
        parent: parent ?? null,
        message: message ?? null,
        children: Object.entries(nodes).flatMap(([child, [of]]) => (of === id ? [child] : [])),
      },
    ]),
  ),
  ...more,
})
const messageNode = (role: string, content: object, more: object = {}): object => ({
  author: { role, name: null, metadata: {} },
  create_time: 1773129601.5,
  content,
  metadata: role === 'assistant' ? { model_slug: 'gpt-5' } : {},
  recipient: 'all',
  ...more,
})
const text = (words: string): object => ({ content_type: 'text', parts: [words] })
const user = (words: string, more: object = {}): object => messageNode('user', text(words), more)
const answer = (words: string, more: object = {}): object => messageNode('assistant', text(words), more)

const messages = (items: readonly TranscriptItem[]) => ofKind(items, 'message')
const bodies = (items: readonly TranscriptItem[]): unknown[] => messages(items).map(({ body }) => body)
/** The emitted ids, and the withdrawn ids in brackets. */
const story = (items: readonly TranscriptItem[]): string[] =>
  items.flatMap((item) =>
    item.kind === 'message' ? [item.sourceId] : item.kind === 'withdrawal' ? [`-${item.sourceIds.join(' ')}`] : [],
  )

it('a conversation has a title and a time, and its messages have times and models', () => {
  const items = read([
    conversation({ root: [undefined, undefined], q: ['root', user('Which berths?')], a: ['q', answer('B2.')] }, 'a'),
  ])
  expect(items).toMatchObject([
    { kind: 'conversation', sourceId: 'k1', title: 'Berths', startedAt: '2026-03-10T08:00:00.250Z' },
    { sourceId: 'q', at: '2026-03-10T08:00:01.500Z', body: { role: 'user', content: 'Which berths?' } },
    { sourceId: 'a', model: 'gpt-5', answerId: 'a', where: { path: '[0].mapping.a' } },
  ])
})

it('an export contains several conversations, and a file may contain one', () => {
  const one = conversation({ q: [undefined, user('Hello')] }, 'q')
  const second = { ...one, conversation_id: undefined, id: 'k2' }
  const unnamed = { ...one, conversation_id: undefined }
  const sourceIds = (items: readonly TranscriptItem[]): string[] =>
    ofKind(items, 'conversation').map(({ sourceId }) => sourceId)
  expect(sourceIds(read([one, second, unnamed, 'odd']))).toEqual(['k1', 'k2', 'conversations[2]'])
  expect(sourceIds(read(one))).toEqual(['k1'])
  expect(ofKind(read([one, 'odd']), 'left-out')).toMatchObject([{ what: 'conversation', where: { path: '[1]' } }])
})

describe('branches', () => {
  const nodes: Record<string, Sketch> = {
    root: [undefined, undefined],
    q1: ['root', user('Which berths?')],
    a1: ['q1', answer('None.')],
    q2: ['a1', user('Sure?')],
    a1b: ['q1', answer('B2.')],
    q3: ['a1b', user('And cranes?')],
  }

  it('outside the current path are emitted at their branching point and withdrawn', () => {
    expect(story(read([conversation(nodes, 'q3')]))).toEqual(['q1', 'a1', 'q2', '-a1 q2', 'a1b', 'q3'])
  })

  it('that began later are withdrawn if the user went back', () => {
    expect(story(read([conversation(nodes, 'q1')]))).toEqual(['q1', 'a1', 'q2', '-a1 q2', 'a1b', 'q3', '-a1b q3'])
  })

  it('are the newest ones if there is no current node', () => {
    expect(story(read([conversation(nodes, 'gone')])).slice(-2)).toEqual(['a1b', 'q3'])
  })

  it('keep the items that were read before a branch was abandoned', () => {
    const before = read([
      conversation(
        {
          root: nodes['root'] ?? [undefined, undefined],
          q1: nodes['q1'] ?? [undefined, undefined],
          a1: ['q1', answer('None.')],
        },
        'a1',
      ),
    ])
    expect(read([conversation(nodes, 'q3')]).slice(0, before.length)).toEqual(before)
  })

  it('without a root are emitted as well, and nodes in a cycle are counted', () => {
    const items = read([
      conversation(
        { q1: [undefined, user('Hello')], lost: ['nowhere', user('Lost')], x: ['y', user('X')], y: ['x', user('Y')] },
        'q1',
      ),
    ])
    expect(story(items)).toEqual(['lost', '-lost', 'q1'])
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['node', 'node'])
  })
})

describe('the content of a message', () => {
  const contents = (...given: object[]): unknown[] => {
    const nodes = Object.fromEntries(
      given.map((message, at): [string, Sketch] => [
        `n${String(at)}`,
        [at === 0 ? undefined : `n${String(at - 1)}`, message],
      ]),
    )
    return bodies(read(conversation(nodes, `n${String(given.length - 1)}`)))
  }

  it('is texts, images and transcribed speech', () => {
    expect(
      contents(
        messageNode('user', {
          content_type: 'multimodal_text',
          parts: [
            'Look:',
            { content_type: 'image_asset_pointer', asset_pointer: 'file-service://f1' },
            { content_type: 'audio_transcription', text: 'and listen' },
          ],
        }),
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look:' },
          { type: 'image_asset_pointer', content_type: 'image_asset_pointer', asset_pointer: 'file-service://f1' },
          { type: 'text', content_type: 'audio_transcription', text: 'and listen' },
        ],
      },
    ])
  })

  it('is unchanged reasoning', () => {
    const thoughts = { content_type: 'thoughts', thoughts: [{ summary: 'Berths', content: 'List them.' }] }
    expect(contents(messageNode('assistant', thoughts))).toEqual([
      { role: 'assistant', content: [{ type: 'thoughts', ...thoughts }] },
    ])
  })

  it('is tool calls, in JSON or as text, and their results', () => {
    const items = contents(
      messageNode('assistant', text('{"query":"berths"}'), { recipient: 'browser.search' }),
      messageNode(
        'tool',
        { content_type: 'tether_quote', text: 'B2 is free.', url: 'https://harbour.example' },
        { author: { role: 'tool', name: 'browser' } },
      ),
      messageNode('assistant', { content_type: 'code', language: 'python', text: 'print(2)' }, { recipient: 'python' }),
      messageNode(
        'tool',
        { content_type: 'execution_output', text: '2' },
        { author: { role: 'tool', name: 'python' } },
      ),
      messageNode(
        'tool',
        { content_type: 'execution_output', text: 'and more' },
        { author: { role: 'tool', name: 'python' } },
      ),
    )
    expect(items).toEqual([
      {
        role: 'assistant',
        content: null,
        toolCalls: [
          { id: 'n0', type: 'function', function: { name: 'browser.search', arguments: '{"query":"berths"}' } },
        ],
      },
      { role: 'tool', content: 'B2 is free.', toolCallId: 'n0' },
      {
        role: 'assistant',
        content: null,
        toolCalls: [{ id: 'n2', type: 'custom', custom: { name: 'python', input: 'print(2)' } }],
      },
      { role: 'tool', content: '2', toolCallId: 'n2' },
      // A call has one result; further output of the tool is the program’s.
      { role: 'user', content: 'and more' },
    ])
  })

  it('marks failed calls', () => {
    const items = messages(
      read(
        conversation(
          {
            c: [undefined, messageNode('assistant', { content_type: 'code', text: '1/0' }, { recipient: 'python' })],
            r: [
              'c',
              messageNode('tool', {
                content_type: 'system_error',
                name: 'ZeroDivisionError',
                text: 'division by zero',
              }),
            ],
            c2: ['r', messageNode('assistant', { content_type: 'code', text: '1/0' }, { recipient: 'python' })],
            r2: [
              'c2',
              messageNode(
                'tool',
                { content_type: 'execution_output', text: 'x' },
                { metadata: { aggregate_result: { status: 'failed_with_in_kernel_exception' } } },
              ),
            ],
          },
          'r2',
        ),
      ),
    )
    expect(items.map(({ isError }) => isError)).toEqual([undefined, true, undefined, true])
  })

  it('is the program’s if ChatGPT added it with the role user', () => {
    const items = messages(
      read(
        conversation(
          {
            s: [undefined, messageNode('system', text('Be brief.'))],
            c: [
              's',
              messageNode('user', {
                content_type: 'user_editable_context',
                user_profile: 'A pilot.',
                user_instructions: 'Knots.',
              }),
            ],
            h: ['c', user('continue', { metadata: { is_visually_hidden_from_conversation: true } })],
            q: ['h', user('Hello')],
          },
          'q',
        ),
      ),
    )
    expect(items.map(({ body, byProgram }) => [body.role, byProgram])).toEqual([
      ['system', undefined],
      ['user', true],
      ['user', true],
      ['user', undefined],
    ])
    expect(items[1]?.body.content).toEqual([
      { type: 'text', text: 'A pilot.' },
      { type: 'text', text: 'Knots.' },
    ])
  })

  it('is counted by its type if it is empty', () => {
    const nodes: Record<string, Sketch> = {
      s: [undefined, messageNode('system', text(''))],
      b: ['s', messageNode('tool', { content_type: 'tether_browsing_display', result: '', summary: null })],
      n: ['b', { author: { role: 'user' }, content: null }],
      r: ['n', messageNode('narrator', text('Once'))],
    }
    expect(ofKind(read(conversation(nodes, 'r')), 'left-out').map(({ what }) => what)).toEqual([
      'text',
      'tether_browsing_display',
      'message',
      'text',
    ])
  })

  it('is read from unknown types', () => {
    expect(
      contents(
        user('q'),
        messageNode('assistant', { content_type: 'hologram', text: 'A ship.' }),
        messageNode('assistant', { content_type: 'scent', of: 'tar' }),
      ),
    ).toMatchObject([{}, { content: 'A ship.' }, { content: [{ type: 'scent', of: 'tar' }] }])
  })

  it('is one answer if messages of the model follow one another', () => {
    const items = messages(
      read(
        conversation(
          {
            q: [undefined, user('Hello')],
            t: ['q', messageNode('assistant', { content_type: 'thoughts', thoughts: [] })],
            c: ['t', answer('{}', { recipient: 'web.run' })],
            r: ['c', messageNode('tool', text('found'))],
            a: ['r', answer('So.')],
          },
          'a',
        ),
      ),
    )
    expect(items.map(({ answerId }) => answerId)).toEqual([undefined, 't', 't', undefined, 'a'])
  })
})

it('an export of any size is recognized', () => {
  const one = conversation({ q: [undefined, user('Hello')] }, 'q')
  const head = (value: unknown) => ({ path: FILE, records: [value], text: '' })
  expect(chatgpt.recognize(head([one]))).toBe('json')
  expect(chatgpt.recognize(head(one))).toBe('json')
  expect(chatgpt.recognize(head([]))).toBeUndefined()
  expect(chatgpt.recognize(head({ mapping: {} }))).toBeUndefined()
  expect(chatgpt.recognize({ path: FILE, records: [], text: JSON.stringify([one]).slice(0, 120) })).toBe('json')
})

describe('any export', () => {
  const node = fc.tuple(
    fc.nat(14),
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc
          .tuple(fc.constantFrom('user', 'assistant', 'system', 'tool'), fc.string(), fc.constantFrom('all', 'python'))
          .map(([role, words, recipient]) => messageNode(role, text(words), { recipient })),
      },
      { weight: 1, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.jsonValue().map((content) => ({ author: { role: 'assistant' }, content })) },
    ),
  )

  it('satisfies the rules for all transcripts, and emits or counts each message once', () => {
    fc.assert(
      fc.property(fc.array(node, { minLength: 1, maxLength: 14 }), fc.nat(14), (list, current) => {
        const nodes = Object.fromEntries(
          list.map(([parent, message], at): [string, Sketch] => [
            `n${String(at)}`,
            [parent < at ? `n${String(parent)}` : undefined, message],
          ]),
        )
        const items = lawfulItems(chatgpt, FILE, [record([conversation(nodes, `n${String(current)}`)])], 0)
        expect(messages(items).length + ofKind(items, 'left-out').length).toBe(
          list.filter(([, message]) => message !== undefined).length,
        )
      }),
      { numRuns: 150 },
    )
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, mapping) => {
        expect(read(value)).toBeInstanceOf(Array)
        expect(read([{ conversation_id: 'k', mapping }])).not.toHaveLength(0)
      }),
    )
  })
})
