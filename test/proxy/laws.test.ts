/** Properties of every stream and of every message list. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Api, ProxyRequest, SourceMessage, OutgoingMessage } from '../../src/application/model-apis/api.js'
import { anthropicMessages } from '../../src/application/model-apis/anthropic-messages.js'
import { chatCompletions } from '../../src/application/model-apis/chat-completions.js'
import { openaiResponses } from '../../src/application/model-apis/openai-responses.js'
import { matchRequest } from '../../src/interfaces/proxy/match-request.js'
import { entriesAfter, newTrackedConversation } from '../../src/interfaces/proxy/tracked-conversation.js'
import { createSentEventReader, type SentEvent } from '../../src/domain/text/sent-events.js'
import { toChatMessage } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import { chat, messages, responses } from '../support/upstream-answers.js'
import { repeated } from '../support/length.js'

const anyText = fc.string({ unit: 'binary', maxLength: 30 })
const anyAnswer = fc.record({
  id: fc.constant('answer_1'),
  thinking: fc.option(anyText, { nil: undefined }),
  text: fc.option(
    anyText.filter((text) => text !== ''),
    { nil: undefined },
  ),
  calls: fc
    .uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/u), { maxLength: 3 })
    .map((ids) => ids.map((id) => ({ id, name: 'read_file', input: { path: id } }))),
})
const runs = { numRuns: repeated(60, 20) }

describe('a stream', () => {
  it('gives the same events for any chunks and line endings', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ event: fc.constantFrom('', 'ping', 'delta'), data: anyText, id: fc.constantFrom('', '7') }),
          { maxLength: 8 },
        ),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
        (events, end, sizes) => {
          // An id without data only moves the position from which a client resumes.
          const written = events.map(({ event, data, id }) => ({
            event,
            id,
            data: id !== '' && data === '' ? '' : JSON.stringify(data),
          }))
          const bytes = Buffer.from(
            written
              .map(
                ({ event, data, id }) =>
                  `: a comment${end}${event === '' ? '' : `event: ${event}${end}`}${id === '' ? '' : `id: ${id}${end}`}${data === '' ? '' : `data: ${data}${end}`}${end}`,
              )
              .join(''),
          )
          const reader = createSentEventReader()
          const read: SentEvent[] = []
          for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1
            read.push(...reader.take(bytes.subarray(at, at + size)))
            at += size
          }
          // A carriage return at the end may be followed by a line feed.
          read.push(...reader.take(Buffer.from('\n')))
          expect(read).toEqual(
            written.map(({ event, data, id }) => ({
              event: event === '' ? 'message' : event,
              data,
              ...(id === '' ? {} : { id }),
            })),
          )
        },
      ),
      runs,
    )
  })

  it.each([
    ['chat', chatCompletions, chat],
    ['messages', anthropicMessages, messages],
    ['responses', openaiResponses, responses],
  ] as const)('gives the same message as the complete answer (%s)', (_name, api, answers) => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const complete = answers.whole(answer)
        if (typeof complete === 'string' || !('json' in complete)) throw new Error('the stub has no body')
        const reader = api.createAnswerReader()
        const events = createSentEventReader()
        for (const chunk of answers.events(answer))
          for (const event of events.take(Buffer.from(chunk))) reader.take(event)
        const streamed = reader.answer()
        const read = api.readAnswer(complete.json)
        expect(streamed.isComplete).toBe(true)
        const fieldsOf = ({ message }: typeof read): unknown => [
          message?.role,
          message?.content ?? '',
          message?.tool_calls,
        ]
        fc.pre(read.message?.content !== '' || read.message.tool_calls !== undefined)
        expect(fieldsOf(streamed)).toEqual(fieldsOf(read))
      }),
      runs,
    )
  })
})

const anyList = fc.array(
  fc.oneof(
    anyText.filter((text) => text.trim() !== ''),
    anyAnswer,
  ),
  { minLength: 1, maxLength: 8 },
)
type Turns = readonly (
  | string
  | {
      readonly thinking: string | undefined
      readonly text: string | undefined
      readonly calls: readonly { id: string; name: string; input: object }[]
    }
)[]

/** The same turns as a request of each API; the ids of calls contain the number of their turn. */
const bodies: readonly (readonly [Api, (turns: Turns) => Record<string, unknown>])[] = [
  [
    chatCompletions,
    (turns) => ({
      messages: turns.flatMap((turn, at): object[] =>
        typeof turn === 'string'
          ? [{ role: 'user', content: turn }]
          : [
              {
                role: 'assistant',
                content: turn.text ?? null,
                ...(turn.calls.length === 0
                  ? {}
                  : {
                      tool_calls: turn.calls.map(({ id, name, input }) => ({
                        id: `${id}${String(at)}`,
                        type: 'function',
                        function: { name, arguments: JSON.stringify(input) },
                      })),
                    }),
              },
              ...turn.calls.map(({ id }) => ({ role: 'tool', tool_call_id: `${id}${String(at)}`, content: 'done' })),
            ],
      ),
    }),
  ],
  [
    anthropicMessages,
    (turns) => ({
      system: 'Be brief.',
      messages: turns.flatMap((turn, at): object[] =>
        typeof turn === 'string'
          ? [
              { role: 'user', content: turn },
              { role: 'assistant', content: [{ type: 'text', text: 'yes' }] },
            ]
          : [
              {
                role: 'user',
                content: [{ type: 'text', text: 'go on', cache_control: { type: 'ephemeral' } }],
              },
              {
                role: 'assistant',
                content: messages.blocks({
                  text: 'so',
                  ...(turn.thinking === undefined ? {} : { thinking: turn.thinking }),
                  calls: turn.calls.map((call) => ({
                    ...call,
                    input: { ...call.input },
                    id: `${call.id}${String(at)}`,
                  })),
                }),
              },
              ...(turn.calls.length === 0
                ? []
                : [
                    {
                      role: 'user',
                      content: turn.calls.map(({ id }) => ({
                        type: 'tool_result',
                        tool_use_id: `${id}${String(at)}`,
                        content: 'done',
                      })),
                    },
                    { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
                  ]),
            ],
      ),
    }),
  ],
  [
    openaiResponses,
    (turns) => ({
      instructions: 'Be brief.',
      input: turns.flatMap((turn, at): object[] =>
        typeof turn === 'string'
          ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: turn }] }]
          : [
              { type: 'message', role: 'user', content: 'go on' },
              ...responses.items({
                id: `r${String(at)}`,
                text: 'so',
                ...(turn.thinking === undefined ? {} : { thinking: turn.thinking }),
                calls: turn.calls.map((call) => ({ ...call, input: { ...call.input }, id: `${call.id}${String(at)}` })),
              }),
              ...turn.calls.map(({ id }) => ({
                type: 'function_call_output',
                call_id: `${id}${String(at)}`,
                output: 'done',
              })),
            ],
      ),
    }),
  ],
]

/** All messages of a request as outgoing messages. */
const outgoingOf = (
  request: ProxyRequest | undefined,
  sourceOf: (message: SourceMessage) => Pick<OutgoingMessage, 'source' | 'isUnchanged'>,
): OutgoingMessage[] =>
  [...(request?.instructions ?? []), ...(request?.messages ?? [])].map((message) => {
    const parsed = parseMessage(message.input)
    if (parsed._tag === 'Left') throw new Error(`${parsed.left.field} ${parsed.left.detail}`)
    return { chat: toChatMessage(parsed.right), ...sourceOf(message) }
  })

describe.each(bodies)('a list', (api, bodyOf) => {
  it(`is written as it was read if no message is changed (${api.name})`, () => {
    fc.assert(
      fc.property(anyList, (turns) => {
        const body = bodyOf(turns)
        const outgoing = outgoingOf(api.readRequest(body), (source) => ({ source, isUnchanged: true }))
        expect(api.writeRequest(body, outgoing)).toEqual(body)
      }),
      runs,
    )
  })

  it(`has the same hashes if the ledger writes messages that the client dropped (${api.name})`, () => {
    fc.assert(
      fc.property(anyList, (turns) => {
        const body = bodyOf(turns)
        const request = api.readRequest(body)
        // Instructions outside the message list stay there.
        const outgoing = outgoingOf(request, (message) => ({
          source: message.raw.length === 0 ? message : undefined,
          isUnchanged: false,
        }))
        const reread = api.readRequest(api.writeRequest(body, outgoing))
        expect(reread?.messages.map(({ hash }) => hash)).toEqual(request?.messages.map(({ hash }) => hash))
      }),
      runs,
    )
  })

  it(`continues each of its prefixes, and each prefix repeats it (${api.name})`, () => {
    fc.assert(
      fc.property(anyList, fc.nat(), (turns, cut) => {
        const request = api.readRequest(bodyOf(turns))
        if (request === undefined) throw new Error('the request is not read')
        const conversation = newTrackedConversation('a')
        const length = 1 + (cut % request.messages.length)
        conversation.entries = entriesAfter(conversation, undefined, request.messages.slice(0, length))
        expect(matchRequest(conversation, request, false)).toEqual({ kind: 'continues', from: length, edits: [] })
        conversation.entries = entriesAfter(conversation, undefined, request.messages)
        const prefix = { ...request, messages: request.messages.slice(0, length) }
        const expected = length === request.messages.length ? 'continues' : 'repeats'
        expect(matchRequest(conversation, prefix, false).kind).toBe(expected)
      }),
      runs,
    )
  })
})
