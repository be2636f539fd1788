/** The door for messages, and their way out to the chat API. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { contentText, parseMessage, sameMessage, toChatMessage } from '../../src/domain/message.js'
import { messageOf } from '../support/harness.js'

const call = { id: 'x', type: 'function', function: { name: 'run', arguments: '{}' } }

describe('a message at the door', () => {
  it('is taken as the chat API has it, and what nobody knows is kept', () => {
    expect(messageOf({ id: 'm', role: 'assistant', content: null, tool_calls: [call], refusal: null, audio: { id: 'a' } })).toEqual({
      messageId: 'm', role: 'assistant', content: null, toolCalls: [call], extra: { refusal: null, audio: { id: 'a' } },
    })
  })

  it('is taken as the JSON Lines files have it', () => {
    expect(messageOf({ role: 'tool', content: '', tool_call_id: 'x', created_at: '2026-03-10T09:51:03+02:00', kind: 'tool_result', is_error: true })).toEqual({
      role: 'tool', content: '', toolCallId: 'x', createdAt: '2026-03-10T07:51:03.000Z', attributes: { kind: 'tool_result', isError: true },
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
    [{ role: 'user', content: 'x', createdAt: 1_700_000_000_000_000 }, 'createdAt'],
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
    const parsed = messageOf({ role: 'user', content: [{ type: 'image_url', image_url: image, not: Number.NaN, gone: undefined, at: new Date(0) }], attributes, extra: { seen: true } })
    image.url = 'changed'
    attributes.list.push(2)
    expect(parsed).toStrictEqual({
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: 'https://example.org/a.png' }, not: null, at: '1970-01-01T00:00:00.000Z' }],
      attributes: { list: [1] },
      extra: { extra: { seen: true } },
    })
  })
})

describe('the same message', () => {
  it('has the same role, content, name, calls and call id, whatever else differs', () => {
    expect(sameMessage(messageOf({ id: 'a', role: 'user', content: 'x', created_at: 0 }), messageOf({ id: 'b', role: 'user', content: 'x', attributes: { a: 1 }, seen: true }))).toBe(true)
    expect(sameMessage(messageOf({ role: 'assistant', content: null, tool_calls: [call] }), messageOf({ role: 'assistant', content: '', tool_calls: [{ ...call }] }))).toBe(true)
    const other = [{ content: 'y' }, { role: 'assistant' as const }, { name: 'Ines' }, { content: [{ type: 'text', text: 'x' }] }]
    for (const change of other) expect(sameMessage(messageOf({ role: 'user', content: 'x' }), messageOf({ role: 'user', content: 'x', ...change }))).toBe(false)
  })
})

describe('a message for the chat API', () => {
  it('goes out as it came in', () => {
    const message = { refusal: null, role: 'assistant' as const, content: 'hi', name: 'Bot-1', tool_calls: [call] }
    expect(toChatMessage(messageOf(message))).toEqual(message)
  })

  it('has a name that the API takes', () => {
    expect(toChatMessage(messageOf({ role: 'user', content: 'x', name: `Ines <ines> / ${'z'.repeat(80)}` })).name).toMatch(/^[^\s<|\\/>]{1,64}$/u)
  })
})

it('parts that are no text are named', () => {
  expect(contentText([{ type: 'text', text: 'look' }, { type: 'image_url', image_url: {} }, { type: 'input_text', text: 'there' }])).toBe('look\n[image_url]\nthere')
  expect(contentText(null)).toBe('')
})
