/** OpenAI's Chat Completions: a list of messages, and the answer as a message or as deltas of one. */
import { given } from '../../domain/values/given.js'
import type { MessageInput } from '../../domain/values/message.js'
import {
  keptPart,
  madeCalls,
  openaiRefusal,
  said,
  saidInput,
  usageOf,
  withCalls,
  withInstructions,
  type Answer,
  type AnswerReader,
  type Api,
  type Asked,
  type Said,
} from '../api.js'
import { fieldsOf, indexOf, isFields, listOf, numberOf, others, parseJson, textOf, type Fields } from '../json.js'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])
const KNOWN = new Set(['role', 'content', 'name', 'tool_calls', 'tool_call_id'])

/** What a function is called with, as the API says it: a text. Some servers write an object in its place. */
const isNamed = (named: unknown): boolean =>
  isFields(named) && (textOf(named['name']) ?? '') !== '' && textOf(named['arguments']) !== undefined

/** Calls as the ledger takes them; undefined where one is none, and then all are kept as they came. */
function callsOf(value: unknown): readonly Fields[] | undefined {
  const calls = listOf(value).map(fieldsOf)
  const ids = new Set<string>()
  for (const call of calls) {
    const { id, type, function: named } = call
    const isCall =
      typeof id === 'string' &&
      id !== '' &&
      !ids.has(id) &&
      (type === undefined || typeof type === 'string') &&
      (named === undefined ? type !== 'function' && type !== undefined : isNamed(named))
    if (!isCall) return undefined
    ids.add(id)
  }
  return calls
}

/** A message of a request or of an answer, in the ledger's form. */
function inputOf(message: Fields): MessageInput {
  const role = textOf(message['role']) ?? ''
  const { content } = message
  const isContent = typeof content === 'string' || Array.isArray(content) || content === null || content === undefined
  const unknown = others(message, KNOWN)
  const name = textOf(message['name'])
  const callId = textOf(message['tool_call_id'])
  const calls = role === 'assistant' ? callsOf(message['tool_calls']) : undefined
  if (!ROLES.has(role) || !isContent || (role === 'tool' && callId === undefined))
    return saidInput(
      { role: role === 'assistant' ? role : 'user', content: typeof content === 'string' ? content : '' },
      { message },
    )
  const kept = Array.isArray(content) ? content.map(keptPart) : (content ?? '')
  return saidInput(
    {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one of the roles above
      role: role as MessageInput['role'],
      content: kept,
      ...(name === undefined || name === '' ? {} : { name }),
      ...madeCalls(calls ?? []),
      ...(role === 'tool' && callId !== undefined ? { tool_call_id: callId } : {}),
    },
    {
      ...unknown,
      ...(calls === undefined && listOf(message['tool_calls']).length > 0
        ? { unread_calls: message['tool_calls'] }
        : {}),
    },
  )
}

const saidOf = (message: unknown): Said => said(inputOf(fieldsOf(message)), [message])

function read(body: Fields): Asked | undefined {
  const { messages, model, tools, max_tokens, max_completion_tokens, ...parameters } = body
  if (!Array.isArray(messages) || messages.length === 0) return undefined
  return {
    ...withInstructions(withCalls(messages.map(saidOf))),
    model: textOf(model),
    tools: listOf(tools),
    maxTokens: numberOf(max_completion_tokens) ?? numberOf(max_tokens),
    parameters,
    held: undefined,
  }
}

function usage(value: unknown): Fields | undefined {
  if (!isFields(value)) return undefined
  const cached = fieldsOf(value['prompt_tokens_details'])['cached_tokens']
  const reasoning = fieldsOf(value['completion_tokens_details'])['reasoning_tokens']
  return usageOf(
    numberOf(value['prompt_tokens']),
    numberOf(value['completion_tokens']),
    numberOf(cached),
    undefined,
    numberOf(reasoning),
  )
}

function answerOf(body: unknown): Answer {
  const { id, model, choices, error, usage: told } = fieldsOf(body)
  const [first, ...rest] = listOf(choices)
  const choice = fieldsOf(first)
  const message = isFields(choice['message']) ? choice['message'] : undefined
  const finish = textOf(choice['finish_reason'])
  return {
    message:
      message === undefined
        ? undefined
        : inputOf({ ...message, role: 'assistant', ...(rest.length === 0 ? {} : { other_choices: rest }) }),
    raw: message === undefined ? [] : [message],
    isComplete: message !== undefined,
    responseId: textOf(id),
    model: textOf(model),
    usage: usage(told),
    finish,
    error,
  }
}

/** A choice as its deltas make it. */
interface Choice {
  content: string | undefined
  refusal: string | undefined
  finish: string | undefined
  readonly calls: Record<string, unknown>[]
  /** Fields of other providers: texts are joined, anything else is the last that came. */
  readonly unknown: Record<string, unknown>
}

const newChoice = (): Choice => ({
  content: undefined,
  refusal: undefined,
  finish: undefined,
  calls: [],
  unknown: {},
})

function takeCall(choice: Choice, delta: Fields): void {
  const index = indexOf(delta['index']) ?? choice.calls.length
  const call = (choice.calls[index] ??= { id: undefined, type: 'function' })
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'index') continue
    if (!isFields(value)) {
      if (value !== null && value !== undefined) call[name] = value
      continue
    }
    const inner = { ...fieldsOf(call[name]) }
    for (const [key, part] of Object.entries(value)) {
      const before = inner[key]
      inner[key] = typeof part === 'string' && typeof before === 'string' && key !== 'name' ? before + part : part
    }
    call[name] = inner
  }
}

const DELTA = new Set(['role', 'content', 'refusal', 'tool_calls'])

function takeDelta(choice: Choice, delta: Fields): void {
  const content = textOf(delta['content'])
  const refusal = textOf(delta['refusal'])
  if (content !== undefined) choice.content = (choice.content ?? '') + content
  if (refusal !== undefined) choice.refusal = (choice.refusal ?? '') + refusal
  for (const call of listOf(delta['tool_calls'])) takeCall(choice, fieldsOf(call))
  for (const [name, value] of Object.entries(others(delta, DELTA))) {
    const before = choice.unknown[name]
    if (value !== null && value !== undefined)
      choice.unknown[name] = typeof value === 'string' && typeof before === 'string' ? before + value : value
  }
}

const messageOf = (choice: Choice): Fields => ({
  role: 'assistant',
  content: choice.content ?? null,
  ...given({ refusal: choice.refusal }),
  ...choice.unknown,
  ...(choice.calls.length === 0 ? {} : { tool_calls: choice.calls.filter((call) => call !== undefined) }),
})

function reader(): AnswerReader {
  const choices: Choice[] = []
  let responseId: string | undefined
  let model: string | undefined
  let told: Fields | undefined
  let error: unknown
  let isDone = false

  return {
    take({ data }) {
      if (data === '[DONE]') {
        isDone = true
        return
      }
      const chunk = fieldsOf(parseJson(data))
      if (chunk['error'] !== undefined) error = chunk['error']
      responseId ??= textOf(chunk['id'])
      model ??= textOf(chunk['model'])
      told = usage(chunk['usage']) ?? told
      for (const each of listOf(chunk['choices'])) {
        const { index, delta, finish_reason } = fieldsOf(each)
        const choice = (choices[indexOf(index) ?? 0] ??= newChoice())
        takeDelta(choice, fieldsOf(delta))
        choice.finish = textOf(finish_reason) ?? choice.finish
      }
    },
    answer() {
      const [first, ...rest] = choices
      const isComplete = first?.finish !== undefined && isDone && error === undefined
      const hasSaid =
        first !== undefined && (isComplete || (first.content ?? first.refusal ?? '') !== '' || first.calls.length > 0)
      return {
        message: hasSaid
          ? inputOf({
              ...messageOf(first),
              ...(rest.length === 0
                ? {}
                : {
                    other_choices: rest
                      .filter((choice) => choice !== undefined)
                      .map((choice) => ({ message: messageOf(choice), finish_reason: choice.finish })),
                  }),
            })
          : undefined,
        raw: first === undefined ? [] : [messageOf(first)],
        isComplete,
        responseId,
        model,
        usage: told,
        finish: first?.finish,
        error,
      }
    },
  }
}

/** OpenAI's Chat Completions. */
export const chatCompletions: Api = {
  name: 'chat-completions',
  matches: (path) => path.endsWith('/chat/completions'),
  read,
  answerOf,
  reader,
  write(body, shown) {
    const messages = shown.map(({ chat, said: message, isWhole }) =>
      message !== undefined && isWhole ? (message.raw[0] ?? chat) : others({ ...chat }, new Set(['as_sent'])),
    )
    return { ...body, messages }
  },
  offer: (body, { name, description, parameters }) => ({
    ...body,
    tools: [...listOf(body['tools']), { type: 'function', function: { name, description, parameters } }],
  }),
  follow: (body, { raw }, results) => ({
    ...body,
    messages: [
      ...listOf(body['messages']),
      ...raw,
      ...results.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
    ],
  }),
  refusal: openaiRefusal,
}
