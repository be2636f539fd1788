/** Answers of the three APIs, whole and as the events that their providers send. */
import type { UpstreamAnswer } from './upstream-stub.js'

/** A call that an answer makes. */
interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** What a model says. */
export interface ScriptedAnswer {
  readonly id?: string | undefined
  readonly text?: string | undefined
  readonly thinking?: string | undefined
  readonly calls?: readonly ScriptedCall[]
  /** The default is 20. */
  readonly inputTokens?: number | undefined
}

const inputTokensOf = ({ inputTokens = 20 }: ScriptedAnswer): number => inputTokens

/** A text in pieces that end anywhere. */
const pieces = (text: string, size = 7): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_none, at) => text.slice(at * size, (at + 1) * size))

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const named = (type: string, value: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`

/** Chat Completions. */
export const chat = {
  whole(answer: ScriptedAnswer, isCompressed = false): UpstreamAnswer {
    const { id = 'chatcmpl-1', text, calls = [] } = answer
    return {
      ...(isCompressed ? { gzip: true as const } : {}),
      json: {
        id,
        object: 'chat.completion',
        created: 1_700_000_000,
        model: 'gpt-stub-1',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: text ?? null,
              refusal: null,
              ...(calls.length === 0
                ? {}
                : {
                    tool_calls: calls.map((call) => ({
                      id: call.id,
                      type: 'function',
                      function: { name: call.name, arguments: JSON.stringify(call.input) },
                    })),
                  }),
            },
            logprobs: null,
            finish_reason: calls.length === 0 ? 'stop' : 'tool_calls',
          },
        ],
        usage: {
          prompt_tokens: inputTokensOf(answer),
          completion_tokens: 5,
          total_tokens: inputTokensOf(answer) + 5,
          prompt_tokens_details: { cached_tokens: 4 },
        },
      },
    }
  },
  events(answer: ScriptedAnswer): string[] {
    const { id = 'chatcmpl-1', text = '', calls = [] } = answer
    const chunk = (delta: object, finish: string | null = null): string =>
      data({
        id,
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: 'gpt-stub-1',
        choices: [{ index: 0, delta, finish_reason: finish }],
        usage: null,
      })
    return [
      chunk({ role: 'assistant', content: text === '' ? null : '', refusal: null }),
      ...pieces(text).map((piece) => chunk({ content: piece })),
      ...calls.flatMap((call, index) => [
        chunk({
          tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
        }),
        ...pieces(JSON.stringify(call.input)).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      chunk({}, calls.length === 0 ? 'stop' : 'tool_calls'),
      data({
        id,
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: 'gpt-stub-1',
        choices: [],
        usage: {
          prompt_tokens: inputTokensOf(answer),
          completion_tokens: 5,
          total_tokens: inputTokensOf(answer) + 5,
        },
      }),
      'data: [DONE]\n\n',
    ]
  },
}

const messageUsage = (answer: ScriptedAnswer): Readonly<Record<string, number>> => ({
  input_tokens: inputTokensOf(answer),
  output_tokens: 5,
  cache_read_input_tokens: 4,
  cache_creation_input_tokens: 2,
})

/** What signs a thought. */
const signatureOf = (thinking: string): string => Buffer.from(thinking).toString('base64')

/** Anthropic's Messages. */
export const messages = {
  blocks: ({ thinking, text, calls = [] }: ScriptedAnswer): Record<string, unknown>[] => [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: signatureOf(thinking) }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
  ],
  whole(answer: ScriptedAnswer): UpstreamAnswer {
    return {
      json: {
        id: answer.id ?? 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-stub-1',
        content: messages.blocks(answer),
        stop_reason: (answer.calls ?? []).length === 0 ? 'end_turn' : 'tool_use',
        stop_sequence: null,
        usage: messageUsage(answer),
      },
    }
  },
  events(answer: ScriptedAnswer): string[] {
    const { id = 'msg_1', thinking, text, calls = [] } = answer
    let index = -1
    const block = (start: object, deltas: readonly object[]): string[] => {
      index += 1
      return [
        named('content_block_start', { index, content_block: start }),
        ...deltas.map((delta) => named('content_block_delta', { index, delta })),
        named('content_block_stop', { index }),
      ]
    }
    return [
      named('message_start', {
        message: {
          id,
          type: 'message',
          role: 'assistant',
          model: 'claude-stub-1',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...messageUsage(answer), output_tokens: 1 },
        },
      }),
      named('ping', {}),
      ...(thinking === undefined
        ? []
        : block({ type: 'thinking', thinking: '', signature: '' }, [
            ...pieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
            { type: 'signature_delta', signature: signatureOf(thinking) },
          ])),
      ...(text === undefined
        ? []
        : block(
            { type: 'text', text: '' },
            pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
          )),
      ...calls.flatMap((call) =>
        block(
          { type: 'tool_use', id: call.id, name: call.name, input: {} },
          ['', ...pieces(JSON.stringify(call.input).replaceAll('":', '": '))].map((piece) => ({
            type: 'input_json_delta',
            partial_json: piece,
          })),
        ),
      ),
      named('message_delta', {
        delta: { stop_reason: calls.length === 0 ? 'end_turn' : 'tool_use', stop_sequence: null },
        usage: { output_tokens: 5 },
      }),
      named('message_stop', {}),
    ]
  },
}

/** OpenAI's Responses. */
export const responses = {
  items({ id = 'resp_1', thinking, text, calls = [] }: ScriptedAnswer): Record<string, unknown>[] {
    return [
      ...(thinking === undefined
        ? []
        : [
            {
              id: `rs_${id}`,
              type: 'reasoning',
              summary: [{ type: 'summary_text', text: thinking }],
              encrypted_content: `enc-${thinking.length}`,
            },
          ]),
      ...(text === undefined
        ? []
        : [
            {
              id: `msg_${id}`,
              type: 'message',
              status: 'completed',
              role: 'assistant',
              content: [{ type: 'output_text', text, annotations: [] }],
            },
          ]),
      ...calls.map((call) => ({
        id: `fc_${call.id}`,
        type: 'function_call',
        status: 'completed',
        call_id: call.id,
        name: call.name,
        arguments: JSON.stringify(call.input),
      })),
    ]
  },
  response: (answer: ScriptedAnswer, status: string, output: readonly unknown[]): Record<string, unknown> => ({
    id: answer.id ?? 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status,
    model: 'gpt-stub-1',
    output,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    usage:
      status === 'completed'
        ? {
            input_tokens: inputTokensOf(answer),
            input_tokens_details: { cached_tokens: 4 },
            output_tokens: 5,
            output_tokens_details: { reasoning_tokens: 2 },
            total_tokens: inputTokensOf(answer) + 5,
          }
        : null,
  }),
  whole: (answer: ScriptedAnswer): UpstreamAnswer => ({
    json: responses.response(answer, 'completed', responses.items(answer)),
  }),
  events(answer: ScriptedAnswer): string[] {
    let sequence = -1
    const event = (type: string, value: object): string => {
      sequence += 1
      return named(type, { sequence_number: sequence, ...value })
    }
    const items = responses.items(answer)
    return [
      event('response.created', { response: responses.response(answer, 'in_progress', []) }),
      event('response.in_progress', { response: responses.response(answer, 'in_progress', []) }),
      ...items.flatMap((item, at) => {
        const opened =
          item['type'] === 'message'
            ? { ...item, status: 'in_progress', content: [] }
            : item['type'] === 'function_call'
              ? { ...item, status: 'in_progress', arguments: '' }
              : item
        const position = { item_id: item['id'], output_index: at }
        const inner =
          item['type'] === 'message'
            ? [
                event('response.content_part.added', {
                  ...position,
                  content_index: 0,
                  part: { type: 'output_text', text: '', annotations: [] },
                }),
                ...pieces(answer.text ?? '').map((delta) =>
                  event('response.output_text.delta', { ...position, content_index: 0, delta, logprobs: [] }),
                ),
                event('response.output_text.done', {
                  ...position,
                  content_index: 0,
                  text: answer.text ?? '',
                  logprobs: [],
                }),
                event('response.content_part.done', {
                  ...position,
                  content_index: 0,
                  part: { type: 'output_text', text: answer.text ?? '', annotations: [] },
                }),
              ]
            : item['type'] === 'function_call'
              ? [
                  ...pieces(String(item['arguments'])).map((delta) =>
                    event('response.function_call_arguments.delta', { ...position, delta }),
                  ),
                  event('response.function_call_arguments.done', {
                    ...position,
                    name: item['name'],
                    arguments: item['arguments'],
                  }),
                ]
              : []
        return [
          event('response.output_item.added', { output_index: at, item: opened }),
          ...inner,
          event('response.output_item.done', { output_index: at, item }),
        ]
      }),
      event('response.completed', { response: responses.response(answer, 'completed', items) }),
    ]
  },
}

/** Gemini's `generateContent` and `streamGenerateContent`. */
export const gemini = {
  parts: ({ text, calls = [] }: ScriptedAnswer): Record<string, unknown>[] => [
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } })),
  ],
  response: (answer: ScriptedAnswer, parts: readonly object[], isLast: boolean): object => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(isLast ? { finishReason: 'STOP' } : {}) }],
    ...(isLast
      ? {
          usageMetadata: {
            promptTokenCount: inputTokensOf(answer),
            candidatesTokenCount: 5,
            totalTokenCount: inputTokensOf(answer) + 5,
          },
        }
      : {}),
    modelVersion: 'gemini-stub-1',
    responseId: answer.id ?? 'gemini-1',
  }),
  whole: (answer: ScriptedAnswer): UpstreamAnswer => ({
    json: gemini.response(answer, gemini.parts(answer), true),
  }),
  events(answer: ScriptedAnswer): string[] {
    const texts = pieces(answer.text ?? '').map((text) => gemini.response(answer, [{ text }], false))
    return [...texts, gemini.response(answer, gemini.parts({ calls: answer.calls ?? [] }), true)].map(data)
  },
}
