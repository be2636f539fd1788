/** For tests of the proxy: a coding agent of each API. Its list grows with the messages of its model and its user. */
import { strictChat } from './strict-chat.js'
import { strictMessages } from './strict-messages.js'
import { strictResponses } from './strict-responses.js'
import { chat, messages, responses, type ScriptedAnswer } from './upstream-answers.js'
import type { UpstreamAnswer, UpstreamCall } from './upstream-stub.js'

const words = (seed: number, length: number): string =>
  Array.from(
    { length },
    (_none, at) =>
      ['berth', 'crane', 'hull', 'tide', 'cargo', 'pilot', 'quay'][(seed * 31 + at * 7 + ((seed * at) % 5)) % 7],
  ).join(' ')

/** What the model does at a turn: it calls one or several tools, or talks to its user. */
export function answerAt(turn: number): ScriptedAnswer {
  const id = `answer_${String(turn)}`
  const thinking = turn % 3 === 0 ? `Turn ${String(turn)}: ${words(turn, 20)}` : undefined
  const spread = thinking === undefined ? {} : { thinking }
  if (turn % 5 === 4) return { id, text: `Done with step ${String(turn)}. ${words(turn, 60)}`, ...spread }
  const calls = Array.from({ length: 1 + (turn % 3) }, (_none, at) => ({
    id: `call_${String(turn)}_${String(at)}`,
    name: at % 2 === 0 ? 'read_file' : 'run_command',
    input: { path: `src/file-${String(turn)}.ts`, note: words(turn + at, 12) },
  }))
  return { id, ...(turn % 2 === 0 ? { text: `I look at step ${String(turn)}.` } : {}), calls, ...spread }
}

/** What a tool gives; now and then far too much. */
const resultOf = (turn: number, at: number): string =>
  `result ${String(turn)}.${String(at)}: ${words(turn * 3 + at, turn % 37 === 36 ? 6_000 : 40 + (turn % 11) * 20)}`
const userAt = (turn: number): string => `User at ${String(turn)}: go on with ${words(turn, 15)}`

const tools = ['read_file', 'run_command'].map((name) => ({
  name,
  description: `Does ${name} with the path that is given, and gives what came of it`,
  parameters: { type: 'object', properties: { path: { type: 'string' }, note: { type: 'string' } } },
}))

/** An agent of one API: its list, and how the list goes on. */
export interface Agent {
  readonly path: string
  readonly request: () => object
  readonly answer: (answer: ScriptedAnswer) => UpstreamAnswer
  readonly takes: (answer: ScriptedAnswer, turn: number) => void
  /** The agent's user says something. */
  readonly report: (text: string) => void
  /** What its user said last is said no more. */
  readonly unsays: () => void
  /** The agent compacts by itself: a summary replaces everything before its last two messages. */
  readonly compacts: (summary: string) => void
  /** The elements of what went upstream that are compared for a common beginning. */
  readonly elements: (body: UpstreamCall['body']) => readonly unknown[]
  readonly check: (body: UpstreamCall['body']) => string[]
}

function chatAgent(): Agent {
  const list: object[] = [
    { role: 'system', content: 'You are a coding agent in a port.' },
    { role: 'user', content: userAt(0) },
  ]
  return {
    path: '/v1/chat/completions',
    request: () => ({
      model: 'gpt-stub-1',
      messages: list,
      tools: tools.map((each) => ({ type: 'function', function: each })),
      stream: true,
    }),
    answer: (answer) => ({ chunks: chat.events(answer) }),
    takes(answer, turn) {
      const calls = answer.calls ?? []
      list.push({
        role: 'assistant',
        content: answer.text ?? null,
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map(({ id, name, input }) => ({
                id,
                type: 'function',
                function: { name, arguments: JSON.stringify(input) },
              })),
            }),
      })
      if (calls.length === 0) list.push({ role: 'user', content: userAt(turn + 1) })
      for (const [at, call] of calls.entries())
        list.push({ role: 'tool', tool_call_id: call.id, content: resultOf(turn, at) })
    },
    unsays: () => list.pop(),
    report: (content) => list.push({ role: 'user', content }),
    compacts: (content) => list.splice(1, list.length - 3, { role: 'user', content }),
    elements: (body) => (Array.isArray(body['messages']) ? body['messages'] : []),
    check: strictChat,
  }
}

function messagesAgent(): Agent {
  const list: { role: string; content: Record<string, unknown>[] }[] = [
    { role: 'user', content: [{ type: 'text', text: userAt(0) }] },
  ]
  const signed = new Map<string, string>()
  return {
    path: '/v1/messages',
    request: () => ({
      model: 'claude-stub-1',
      max_tokens: 1_000,
      system: [{ type: 'text', text: 'You are a coding agent in a port.', cache_control: { type: 'ephemeral' } }],
      tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
      // The marks of the cache wander with the end of the list.
      messages: list.map(({ role, content }, at) => ({
        role,
        content:
          at < list.length - 2
            ? content
            : content.map((block, place) =>
                place === content.length - 1 && role === 'user'
                  ? { ...block, cache_control: { type: 'ephemeral' } }
                  : block,
              ),
      })),
      stream: true,
    }),
    answer: (answer) => ({ chunks: messages.events(answer) }),
    takes(answer, turn) {
      const calls = answer.calls ?? []
      const content = messages.blocks(answer)
      for (const block of content)
        if (block['type'] === 'thinking') signed.set(String(block['signature']), String(block['thinking']))
      list.push({ role: 'assistant', content })
      list.push({
        role: 'user',
        content:
          calls.length === 0
            ? [{ type: 'text', text: userAt(turn + 1) }]
            : calls.map((call, at) => ({
                type: 'tool_result',
                tool_use_id: call.id,
                content: [{ type: 'text', text: resultOf(turn, at) }],
              })),
      })
    },
    unsays: () => list.pop(),
    report: (text) => list.push({ role: 'user', content: [{ type: 'text', text }] }),
    compacts: (text) => list.splice(0, list.length - 2, { role: 'user', content: [{ type: 'text', text }] }),
    elements: (body) =>
      (Array.isArray(body['messages']) ? body['messages'] : []).map(
        (message) =>
          JSON.parse(JSON.stringify(message).replaceAll(',"cache_control":{"type":"ephemeral"}', '')) as unknown,
      ),
    check: (body) => strictMessages(body, signed),
  }
}

function responsesAgent(): Agent {
  const list: Record<string, unknown>[] = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: userAt(0) }] },
  ]
  const lastTexts = new Map<string, { readonly json: string; readonly next: string }>()
  return {
    path: '/v1/responses',
    request: () => ({
      model: 'gpt-stub-1',
      instructions: 'You are a coding agent in a port.',
      input: list,
      tools: tools.map((each) => ({ type: 'function', ...each, strict: false })),
      store: false,
      include: ['reasoning.encrypted_content'],
      stream: true,
    }),
    answer: (answer) => ({ chunks: responses.events(answer) }),
    takes(answer, turn) {
      const calls = answer.calls ?? []
      const items = responses.items(answer)
      for (const [at, item] of items.entries())
        if (item['type'] === 'reasoning')
          lastTexts.set(String(item['id']), { json: JSON.stringify(item), next: String(items[at + 1]?.['id']) })
      list.push(...items)
      if (calls.length === 0)
        list.push({ type: 'message', role: 'user', content: [{ type: 'input_text', text: userAt(turn + 1) }] })
      for (const [at, call] of calls.entries())
        list.push({ type: 'function_call_output', call_id: call.id, output: resultOf(turn, at) })
    },
    unsays: () => list.pop(),
    report: (text) => list.push({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
    compacts: (text) =>
      list.splice(0, list.length - 2, { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
    elements: (body) => (Array.isArray(body['input']) ? body['input'] : []),
    check: (body) => strictResponses(body, lastTexts),
  }
}

export const agents: readonly (readonly [string, () => Agent])[] = [
  ['chat', chatAgent],
  ['messages', messagesAgent],
  ['responses', responsesAgent],
]
