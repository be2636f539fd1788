/** The four APIs of the scripted model: the paths, how a request is read, and the form of an answer. */
import { strictChat } from '../../support/strict-chat.js'
import { strictGemini } from '../../support/strict-gemini.js'
import { strictMessages } from '../../support/strict-messages.js'
import { strictResponses } from '../../support/strict-responses.js'
import { chat, gemini, messages, responses } from '../../support/upstream-answers.js'
import type { UpstreamAnswer } from '../../support/upstream-stub.js'
import { fieldsOf, jsonOf, listOf, textsOf, type ContextMessage, type Fields, type ModelRequest } from './request.js'
import type { ScriptedStep } from './script.js'

/** An API of a model provider. */
export interface ModelApi {
  readonly name: 'Messages' | 'Chat Completions' | 'Responses' | 'Gemini'
  matches(path: string): boolean
  read(body: Fields, path: string): ModelRequest
  /** Rules of the real API that the request breaks. */
  problems(body: Fields): readonly string[]
  answer(answer: ScriptedStep, isStreamed: boolean): UpstreamAnswer
  error(message: string): unknown
}

const streamed = (chunks: readonly string[]): UpstreamAnswer => ({ chunks })
const nameOf = (tool: unknown): string => String(fieldsOf(tool)['name'] ?? fieldsOf(fieldsOf(tool)['function'])['name'])

/** Messages of one entry of an Anthropic list: each result is a message of its own. */
function anthropicMessages(entry: unknown): readonly ContextMessage[] {
  const { role, content } = fieldsOf(entry)
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(fieldsOf)
  const results = blocks
    .filter(({ type }) => type === 'tool_result')
    .map((block) => ({
      role: 'tool' as const,
      texts: textsOf(block['content']),
      calls: [],
      resultOf: String(block['tool_use_id']),
    }))
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id: String(id), name: String(name), input }))
  const texts = textsOf(blocks.filter(({ type }) => type !== 'tool_result' && type !== 'tool_use'))
  if (texts.length === 0 && calls.length === 0) return results
  return [...results, { role: role === 'assistant' || role === 'system' ? role : 'user', texts, calls }]
}

const anthropic: ModelApi = {
  name: 'Messages',
  matches: (path) => path.endsWith('/messages'),
  read: (body) => ({
    instructions: textsOf(body['system']).join('\n'),
    messages: listOf(body['messages']).flatMap(anthropicMessages),
    tools: listOf(body['tools']).map(nameOf),
    isStreamed: body['stream'] === true,
  }),
  // The real API joins adjacent messages of one role.
  problems: (body) => strictMessages(body, new Map()).filter((problem) => !problem.endsWith('role does not alternate')),
  answer: (answer, isStreamed) => (isStreamed ? streamed(messages.events(answer)) : messages.whole(answer)),
  error: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
}

function chatMessage(entry: unknown): ContextMessage {
  const { role, content, tool_calls: calls, tool_call_id: resultOf } = fieldsOf(entry)
  return {
    role:
      role === 'developer' ? 'system' : role === 'assistant' || role === 'tool' || role === 'system' ? role : 'user',
    texts: textsOf(content).filter((text) => text !== ''),
    calls: listOf(calls).map((call) => {
      const { id, function: called, custom } = fieldsOf(call)
      const { name, arguments: text, input } = fieldsOf(called ?? custom)
      return { id: String(id), name: String(name), input: jsonOf(text ?? input) }
    }),
    ...(typeof resultOf === 'string' ? { resultOf } : {}),
  }
}

/** Messages in the form of Chat Completions, which is also the form of `context-ledger context --format openai`. */
export const chatMessages = (list: unknown): readonly ContextMessage[] => listOf(list).map(chatMessage)

const completions: ModelApi = {
  name: 'Chat Completions',
  matches: (path) => path.endsWith('/chat/completions'),
  read: (body) => ({
    instructions: '',
    messages: chatMessages(body['messages']),
    tools: listOf(body['tools']).map(nameOf),
    isStreamed: body['stream'] === true,
  }),
  problems: strictChat,
  answer: (answer, isStreamed) => (isStreamed ? streamed(chat.events(answer)) : chat.whole(answer)),
  error: (message) => ({ error: { message, type: 'invalid_request_error', code: null, param: null } }),
}

function responsesMessage(item: unknown): ContextMessage {
  const { type = 'message', role, content, call_id: id, name, arguments: text, input, output } = fieldsOf(item)
  if (type === 'message')
    return {
      role: role === 'developer' || role === 'system' ? 'system' : role === 'assistant' ? 'assistant' : 'user',
      texts: textsOf(content),
      calls: [],
    }
  if (type === 'function_call' || type === 'custom_tool_call')
    return {
      role: 'assistant',
      texts: [],
      calls: [{ id: String(id), name: String(name), input: type === 'function_call' ? jsonOf(text) : input }],
    }
  if (type === 'function_call_output' || type === 'custom_tool_call_output')
    return { role: 'tool', texts: textsOf(output), calls: [], resultOf: String(id) }
  return { role: 'assistant', texts: [JSON.stringify(item)], calls: [] }
}

/** The name of a tool; the names of the tools of a namespace, each as `NAMESPACE/NAME`. */
function namesOf(tool: unknown): readonly string[] {
  const { type, name, tools } = fieldsOf(tool)
  return type === 'namespace' ? listOf(tools).map((each) => `${String(name)}/${nameOf(each)}`) : [nameOf(tool)]
}

/** A part of an answer in which calls name the namespace of their tool in its own field. */
const withNamespaces = (chunk: string): string =>
  chunk.replaceAll(/"name":"([^"/]+)\/([^"/]+)"/gu, '"namespace":"$1","name":"$2"')
/** The events of an answer, with a compaction of the provider after the other items. */
function responsesEvents(answer: ScriptedStep): readonly string[] {
  const events = responses.events(answer)
  if (answer.compaction === undefined) return events
  const item = { id: `cmp_${answer.id ?? ''}`, type: 'compaction', encrypted_content: answer.compaction }
  const items = responses.items(answer)
  const completed = responses.response(answer, 'completed', [...items, item])
  const written = [
    { type: 'response.output_item.added', output_index: items.length, item },
    { type: 'response.output_item.done', output_index: items.length, item },
    { type: 'response.completed', response: completed },
  ].map((value, at) => ({ ...value, sequence_number: events.length - 1 + at }))
  return [...events.slice(0, -1), ...written.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`)]
}

/** The request without the provider's own compactions, which may be anywhere in its list. */
const withoutCompactions = (body: Fields): Fields =>
  Array.isArray(body['input'])
    ? { ...body, input: body['input'].filter((item) => fieldsOf(item)['type'] !== 'compaction') }
    : body

const openaiResponses: ModelApi = {
  name: 'Responses',
  matches: (path) => path.endsWith('/responses'),
  read: (body) => ({
    instructions: textsOf(body['instructions']).join('\n'),
    messages:
      typeof body['input'] === 'string'
        ? [{ role: 'user', texts: [body['input']], calls: [] }]
        : listOf(body['input']).map(responsesMessage),
    tools: listOf(body['tools']).flatMap(namesOf),
    isStreamed: body['stream'] === true,
  }),
  problems: (body) => strictResponses(withoutCompactions(body), new Map()),
  answer: (answer, isStreamed) =>
    isStreamed ? streamed(responsesEvents(answer).map(withNamespaces)) : responses.whole(answer),
  error: (message) => ({ error: { message, type: 'invalid_request_error', code: null, param: null } }),
}

/** Messages of one entry of Gemini's list. A call without an id gets one from its position. */
function geminiMessages(entry: unknown, at: number): readonly ContextMessage[] {
  const { role, parts } = fieldsOf(entry)
  const all = listOf(parts).map(fieldsOf)
  const results = all
    .filter((part) => 'functionResponse' in part)
    .map((part) => {
      const { id, name, response } = fieldsOf(part['functionResponse'])
      const { output, error } = fieldsOf(response)
      return {
        role: 'tool' as const,
        texts: [typeof output === 'string' ? output : typeof error === 'string' ? error : JSON.stringify(response)],
        calls: [],
        resultOf: String(id ?? name),
      }
    })
  const calls = all
    .filter((part) => 'functionCall' in part)
    .map((part, index) => {
      const { id, name, args } = fieldsOf(part['functionCall'])
      return {
        id: typeof id === 'string' ? id : `${String(at)}-${String(index)}`,
        name: String(name),
        input: args ?? {},
      }
    })
  const texts = textsOf(all.filter((part) => !('functionResponse' in part) && !('functionCall' in part)))
  if (texts.length === 0 && calls.length === 0) return results
  return [...results, { role: role === 'model' ? 'assistant' : 'user', texts, calls }]
}

const geminiApi: ModelApi = {
  name: 'Gemini',
  matches: (path) => /:(?:streamG|g)enerateContent$/u.test(path),
  read: (body, path) => ({
    instructions: textsOf(fieldsOf(body['systemInstruction'])['parts']).join('\n'),
    messages: listOf(body['contents']).flatMap(geminiMessages),
    tools: listOf(body['tools']).flatMap((tool) => listOf(fieldsOf(tool)['functionDeclarations']).map(nameOf)),
    isStreamed: path.includes(':stream'),
  }),
  problems: strictGemini,
  answer: (answer, isStreamed) => (isStreamed ? streamed(gemini.events(answer)) : gemini.whole(answer)),
  error: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
}

export const MODEL_APIS: readonly ModelApi[] = [anthropic, completions, openaiResponses, geminiApi]
