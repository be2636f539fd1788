/** The door for messages, and their way out to the chat API. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { either as E } from 'fp-ts'
import {
  contentText,
  messageFields,
  sameMessage,
  toChatMessage,
  type MessageInput,
} from '../../../src/domain/values/message.js'
import { parseMessage } from '../../../src/domain/values/parse-message.js'
import { messageOf } from '../../support/harness.js'

const call = { id: 'x', type: 'function', function: { name: 'run', arguments: '{}' } }

/** A field that only a provider knows. */
const provider: object = { mark: { seen: true } }

describe('a message at the door', () => {
  it('is taken as the chat API has it, and what nobody knows is kept', () => {
    expect(
      messageOf({ id: 'm', role: 'assistant', content: null, tool_calls: [call], refusal: null, audio: { id: 'a' } }),
    ).toEqual({
      messageId: 'm',
      role: 'assistant',
      content: null,
      toolCalls: [call],
      extra: { refusal: null, audio: { id: 'a' } },
    })
  })

  it('is taken as the JSON Lines files have it', () => {
    expect(
      messageOf({
        role: 'tool',
        content: '',
        tool_call_id: 'x',
        created_at: '2026-03-10T09:51:03+02:00',
        kind: 'tool_result',
        is_error: true,
      }),
    ).toEqual({
      role: 'tool',
      content: '',
      toolCallId: 'x',
      createdAt: '2026-03-10T07:51:03.000Z',
      attributes: { kind: 'tool_result', isError: true },
    })
  })

  it.each([
    [{ role: 'robot', content: 'x' }, 'role'],
    [{ content: 'x' }, 'role'],
    [{ role: 'user' }, 'content'],
    [{ role: 'user', content: null }, 'content'],
    [{ role: 'user', content: 5 }, 'content'],
    [{ role: 'assistant' }, 'content'],
    [{ role: 'tool', content: 'x' }, 'tool_call_id'],
    [{ role: 'user', content: 'x', tool_call_id: 'x' }, 'tool_call_id'],
    [{ role: 'user', content: 'x', tool_calls: [call] }, 'tool_calls'],
    [{ role: 'assistant', content: null, tool_calls: [call, call] }, 'tool_calls'],
    [{ role: 'user', content: 'x', created_at: 'yesterday' }, 'created_at'],
    [{ role: 'user', content: 'x', created_at: 1e18 }, 'created_at'],
    // Microseconds: a year that no reader of the log would take.
    [{ role: 'user', content: 'x', created_at: 1_700_000_000_000_000 }, 'created_at'],
    [{ role: 'user', content: 'x', id: '' }, 'id'],
    [{ role: 'user', content: 'x', big: 1n }, 'message'],
    ['text', 'message'],
    [null, 'message'],
  ])('%# is refused by the name of its field: %s', (input, field) => {
    expect(parseMessage(input)).toMatchObject(E.left({ kind: 'BadMessage', field }))
  })

  it('is what JSON says of it, and nothing that its sender changes later', () => {
    const image = { url: 'https://example.org/a.png' }
    const attributes = { list: [1] }
    const parsed = messageOf({
      role: 'user',
      content: [{ type: 'image_url', image_url: image, not: Number.NaN, gone: undefined, at: new Date(0) }],
      attributes,
      ...provider,
    })
    image.url = 'changed'
    attributes.list.push(2)
    expect(parsed).toStrictEqual({
      role: 'user',
      content: [
        {
          type: 'image_url',
          image_url: { url: 'https://example.org/a.png' },
          not: null,
          at: '1970-01-01T00:00:00.000Z',
        },
      ],
      attributes: { list: [1] },
      extra: provider,
    })
  })
})

/** What the door says to a message, as `field detail`; undefined where it takes it. */
const refusal = (input: unknown): string | undefined => {
  const parsed = parseMessage(input)
  return E.isLeft(parsed) ? `${parsed.left.field} ${parsed.left.detail}` : undefined
}

describe('a misspelt field', () => {
  it.each([
    ['toolCalls', 'tool_calls'],
    ['ToolCalls', 'tool_calls'],
    ['tool-calls', 'tool_calls'],
    ['TOOL_CALLS', 'tool_calls'],
    ['tool_call', 'tool_calls'],
    ['tool_cals', 'tool_calls'],
    ['toolCallId', 'tool_call_id'],
    ['tool_call_ids', 'tool_call_id'],
    ['createdAt', 'created_at'],
    ['isError', 'is_error'],
    ['ID', 'id'],
    ['Role', 'role'],
    ['pined', 'pinned'],
    ['atributes', 'attributes'],
    ['answer', 'answers'],
    ['nmae', 'name'],
    ['Content', 'content'],
  ])('%s is refused with the one that was meant', (field, meant) => {
    expect(refusal({ role: 'assistant', content: 'x', [field]: 'y' })).toBe(
      `${field} is no field of a message: did you mean ${meant}?`,
    )
  })

  it('is one letter off any of ours, or in any other spelling', () => {
    const fields = ['tool_calls', 'tool_call_id', 'created_at', 'pinned', 'attributes', 'answers', 'is_error']
    const spelt = fc.constantFrom(...fields).chain((field) =>
      fc
        .oneof(
          fc.constantFrom(
            field.replaceAll(/_(.)/gu, (_all, letter: string) => letter.toUpperCase()),
            field.toUpperCase(),
            field.replaceAll('_', '-'),
          ),
          fc.nat(field.length - 1).map((at) => field.slice(0, at) + field.slice(at + 1)),
          fc
            .tuple(fc.nat(field.length), fc.constantFrom('a', 'b', 'c', 'x', 'y', 'z'))
            .map(([at, letter]) => field.slice(0, at) + letter + field.slice(at)),
        )
        .filter((given) => !fields.includes(given))
        .map((given) => ({ given, field })),
    )
    fc.assert(
      fc.property(spelt, ({ given, field }) => {
        expect(refusal({ role: 'assistant', content: 'x', [given]: 'y' })).toBe(
          `${given} is no field of a message: did you mean ${field}?`,
        )
      }),
    )
  })

  it.each([
    'refusal',
    'annotations',
    'audio',
    'reasoning_content',
    'reasoning',
    'reasoning_details',
    'function_call',
    'cache_control',
    'context',
    'end_turn',
    'provider_specific_fields',
    'prefix',
    'metadata',
    '_id',
    'index',
    'logprobs',
    'thinking_blocks',
    'created',
    'parsed',
    'content_parts',
  ])("%s is a provider's own, and passes", (field) => {
    expect(messageOf({ role: 'assistant', content: 'x', [field]: { deep: [1] } }).extra).toEqual({
      [field]: { deep: [1] },
    })
  })
})

describe('a message of another API', () => {
  const part = (type: string, rest: object = {}): unknown => ({
    role: 'assistant',
    content: [
      { type: 'text', text: 'so' },
      { type, ...rest },
    ],
  })
  it.each([
    [
      part('tool_use', { id: 't', name: 'run', input: {} }),
      'content.1.type',
      'Anthropic',
      'tool_calls of an assistant message',
    ],
    [
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
      'content.0.type',
      'Anthropic',
      'tool_call_id is its tool_use_id',
    ],
    [part('server_tool_use'), 'content.1.type', 'Anthropic', 'tool_calls'],
    [part('web_search_tool_result'), 'content.1.type', 'Anthropic', 'tool_call_id'],
    [
      { role: 'user', content: [{ type: 'input_text', text: 'x' }] },
      'content.0.type',
      'Responses API',
      "{ type: 'text', text }",
    ],
    [part('output_text', { text: 'x' }), 'content.1.type', 'Responses API', "{ type: 'text', text }"],
    [
      { role: 'user', content: [{ type: 'input_image', image_url: 'x' }] },
      'content.0.type',
      'Responses API',
      'image_url',
    ],
    [
      { type: 'function_call', call_id: 'c', name: 'run', arguments: '{}' },
      'type',
      'Responses API',
      'id is its call_id',
    ],
    [
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      'type',
      'Responses API',
      'tool_call_id is its call_id',
    ],
    [{ type: 'web_search_call', id: 'w' }, 'type', 'Responses API', 'tool_calls'],
    [{ type: 'reasoning', summary: [] }, 'type', 'Responses API', 'content of the assistant'],
    [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
      'type',
      'another API',
      'leave `type` away',
    ],
    [
      part('tool-call', { toolCallId: 't', toolName: 'run', input: {} }),
      'content.1.type',
      'AI SDK',
      'id is its toolCallId',
    ],
    [
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 't', output: {} }] },
      'content.0.type',
      'AI SDK',
      'tool_call_id is its toolCallId',
    ],
    [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'x' }] }, 'parts', 'AI SDK', 'content'],
    [{ role: 'assistant', content: 'x', toolInvocations: [] }, 'toolInvocations', 'AI SDK', 'tool_calls'],
    [
      { role: 'assistant', content: null, tool_calls: [{ id: 't', type: 'tool_call', name: 'run', args: {} }] },
      'tool_calls.0.type',
      'another library',
      'arguments is its args',
    ],
    [
      { role: 'function', name: 'run', content: 'x' },
      'role',
      'retired functions',
      "{ role: 'tool', tool_call_id, content }",
    ],
  ])('%# is refused with what to do: %j', (input, field, api, advice) => {
    const sentence = refusal(input)
    expect(sentence).toContain(api)
    expect(sentence).toContain(advice)
    expect(parseMessage(input)).toMatchObject(E.left({ kind: 'BadMessage', field }))
  })

  it.each([
    'text',
    'image_url',
    'input_audio',
    'file',
    'refusal',
    'thinking',
    'redacted_thinking',
    'reasoning',
    'image',
    'document',
    'video_url',
    'custom',
  ])('a part %s passes, and comes back as it came', (type) => {
    const content = [{ type, text: 'x', signature: 'Eq==', nested: { b: 1, a: [2] } }]
    expect(JSON.stringify(toChatMessage(messageOf({ role: 'assistant', content })).content)).toBe(
      JSON.stringify(content),
    )
  })

  it('a call that is custom passes; one of a function without the function does not', () => {
    expect(
      messageOf({
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'x', type: 'custom', custom: { name: 'run', input: 'ls' } }],
      }).toolCalls,
    ).toHaveLength(1)
    expect(
      refusal({ role: 'assistant', content: null, tool_calls: [{ id: 'x', type: 'function', name: 'run', args: {} }] }),
    ).toContain('tool_calls.0.function is missing')
  })
})

describe('the same message', () => {
  it('has the same role, content, name, calls and call id, whatever else differs', () => {
    expect(
      sameMessage(
        messageOf({ id: 'a', role: 'user', content: 'x', created_at: 0 }),
        messageOf({ id: 'b', role: 'user', content: 'x', attributes: { a: 1 }, ...provider }),
      ),
    ).toBe(true)
    expect(
      sameMessage(
        messageOf({ role: 'assistant', content: null, tool_calls: [call] }),
        messageOf({ role: 'assistant', content: '', tool_calls: [{ ...call }] }),
      ),
    ).toBe(true)
    const parts = [
      { content: 'y' },
      { role: 'assistant' as const },
      { name: 'Ines' },
      { content: [{ type: 'text', text: 'x' }] },
    ]
    for (const change of parts)
      expect(
        sameMessage(messageOf({ role: 'user', content: 'x' }), messageOf({ role: 'user', content: 'x', ...change })),
      ).toBe(false)
  })
})

describe('a message for the chat API', () => {
  it('goes out as it came in', () => {
    const message = { refusal: null, role: 'assistant' as const, content: 'hi', name: 'Bot-1', tool_calls: [call] }
    expect(toChatMessage(messageOf(message))).toEqual(message)
  })

  it('has a name that the API takes', () => {
    expect(
      toChatMessage(messageOf({ role: 'user', content: 'x', name: `Ines <ines> / ${'z'.repeat(80)}` })).name,
    ).toMatch(/^[^\s<|\\/>]{1,64}$/u)
  })
})

it('parts that are no text are named', () => {
  expect(
    contentText([
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: {} },
      { type: 'input_text', text: 'there' },
    ]),
  ).toBe('look\n[image_url]\nthere')
  expect(contentText(null)).toBe('')
})

// `MessageInput` is written by hand, so that editors show a description of each field.
type Fields = typeof messageFields
type InputName = {
  [Name in keyof Fields]: Fields[Name] extends { readonly input: { readonly name: infer Input } } ? Input : never
}[keyof Fields]
const withoutType: Exclude<InputName, keyof MessageInput>[] = []

it('each field of a message that a caller may set is in the type of the input', () => {
  expect(withoutType).toEqual([])
})
