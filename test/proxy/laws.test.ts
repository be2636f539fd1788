/** What holds of any stream and of any list. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Api, Asked, Said, Shown } from '../../src/proxy/api.js'
import { anthropicMessages } from '../../src/proxy/apis/anthropic-messages.js'
import { chatCompletions } from '../../src/proxy/apis/chat-completions.js'
import { openaiResponses } from '../../src/proxy/apis/openai-responses.js'
import { newLine, entriesBehind, stepOf } from '../../src/proxy/line.js'
import { createSentEventReader, type SentEvent } from '../../src/domain/text/sent-events.js'
import { parseMessage, toChatMessage } from '../../src/domain/values/message.js'
import { chat, messages, responses } from '../support/upstream-answers.js'

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
const runs = { numRuns: 60 }

describe('a stream', () => {
  it('gives the same events however its bytes are cut, with any ends of lines', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ event: fc.constantFrom('', 'ping', 'delta'), data: anyText, id: fc.constantFrom('', '7') }),
          { maxLength: 8 },
        ),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
        (events, end, sizes) => {
          // An id without data moves the place that a client goes on behind.
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
          // A carriage return at the very end may have a line feed behind it.
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
  ] as const)('says what the whole answer says (%s)', (_name, api, answers) => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const whole = answers.whole(answer)
        if (typeof whole === 'string' || !('json' in whole)) throw new Error('the stub gives no body')
        const reader = api.reader()
        const events = createSentEventReader()
        for (const chunk of answers.events(answer))
          for (const event of events.take(Buffer.from(chunk))) reader.take(event)
        const streamed = reader.answer()
        const read = api.answerOf(whole.json)
        expect(streamed.isComplete).toBe(true)
        const saying = ({ message }: typeof read): unknown => [
          message?.role,
          message?.content ?? '',
          message?.tool_calls,
        ]
        fc.pre(read.message?.content !== '' || read.message.tool_calls !== undefined)
        expect(saying(streamed)).toEqual(saying(read))
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

/** A list of each API that says the same; calls have an id of their own turn. */
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

/** A list that was read, as the ledger shows all of it. */
const shownOf = (asked: Asked | undefined, inTheLedger: (said: Said) => Pick<Shown, 'said' | 'isWhole'>): Shown[] =>
  [...(asked?.instructions ?? []), ...(asked?.messages ?? [])].map((said) => {
    const parsed = parseMessage(said.input)
    if (parsed._tag === 'Left') throw new Error(`${parsed.left.field} ${parsed.left.detail}`)
    return { chat: toChatMessage(parsed.right), ...inTheLedger(said) }
  })

describe.each(bodies)('a list', (api, bodyOf) => {
  it(`is written as it was read, where the ledger shows all of it (${api.name})`, () => {
    fc.assert(
      fc.property(anyList, (turns) => {
        const body = bodyOf(turns)
        const asked = api.read(body)
        const shown = shownOf(asked, (said) => ({ said, isWhole: true }))
        expect(api.write(body, shown)).toEqual(body)
      }),
      runs,
    )
  })

  it(`says the same where the client has it no more, and the ledger writes it (${api.name})`, () => {
    fc.assert(
      fc.property(anyList, (turns) => {
        const body = bodyOf(turns)
        const asked = api.read(body)
        // Instructions that stand beside the list stay there.
        const shown = shownOf(asked, (said) => ({ said: said.raw.length === 0 ? said : undefined, isWhole: false }))
        const again = api.read(api.write(body, shown))
        expect(again?.messages.map(({ hash }) => hash)).toEqual(asked?.messages.map(({ hash }) => hash))
      }),
      runs,
    )
  })

  it(`goes on from each of its beginnings, and is asked again at each (${api.name})`, () => {
    fc.assert(
      fc.property(anyList, fc.nat(), (turns, cut) => {
        const asked = api.read(bodyOf(turns))
        if (asked === undefined) throw new Error('the list is not read')
        const line = newLine('a')
        const at = 1 + (cut % asked.messages.length)
        line.entries = entriesBehind(line, undefined, asked.messages.slice(0, at))
        expect(stepOf(line, asked, false)).toEqual({ kind: 'goes-on', from: at, edits: [] })
        line.entries = entriesBehind(line, undefined, asked.messages)
        const earlier = { ...asked, messages: asked.messages.slice(0, at) }
        expect(stepOf(line, earlier, false).kind).toBe(at === asked.messages.length ? 'goes-on' : 'again')
      }),
      runs,
    )
  })
})
