/** OpenAI's Chat Completions API: a list of messages; the answer is a message, or deltas of one. */
import { isRecord } from '../../lib/is-record.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { MessageInput } from '../../domain/values/message.js'
import {
  chatCalls,
  toLedgerPart,
  toolCallsField,
  openaiErrorBody,
  sourceMessage,
  toLedgerMessage,
  openAiUsage,
  withUnmatchedResultsAsText,
  splitInstructions,
  type Answer,
  type AnswerReader,
  type Api,
  type ProxyRequest,
  type SourceMessage,
  type OutgoingMessage,
} from './api.js'
import { fieldsOf, indexOf, listOf, numberOf, withoutFields, parseJson, textOf, type Fields } from './json.js'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])
const KNOWN = new Set(['role', 'content', 'name', 'tool_calls', 'tool_call_id'])

/** Whether a call has a name and its arguments as text. Some servers send the arguments as an object. */
const isFunctionCall = (call: unknown): boolean =>
  isRecord(call) && (textOf(call['name']) ?? '') !== '' && textOf(call['arguments']) !== undefined

/** The calls; undefined if the ledger does not accept one of them. All are then recorded as they were sent. */
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
      (named === undefined ? type !== 'function' && type !== undefined : isFunctionCall(named))
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
  const unknown = withoutFields(message, KNOWN)
  const name = textOf(message['name'])
  const callId = textOf(message['tool_call_id'])
  const calls = role === 'assistant' ? callsOf(message['tool_calls']) : undefined
  if (!ROLES.has(role) || !isContent || (role === 'tool' && callId === undefined))
    return toLedgerMessage(
      { role: role === 'assistant' ? role : 'user', content: typeof content === 'string' ? content : '' },
      { message },
    )
  const recorded = Array.isArray(content) ? content.map(toLedgerPart) : (content ?? '')
  return toLedgerMessage(
    {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one of the roles above
      role: role as MessageInput['role'],
      content: recorded,
      ...(name === undefined || name === '' ? {} : { name }),
      ...toolCallsField(calls ?? []),
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

const messageOf = (message: unknown): SourceMessage => sourceMessage(inputOf(fieldsOf(message)), [message])

function read(body: Fields): ProxyRequest | undefined {
  const { messages, model, tools, max_tokens, max_completion_tokens, ...parameters } = body
  if (!Array.isArray(messages) || messages.length === 0) return undefined
  return {
    ...splitInstructions(withUnmatchedResultsAsText(messages.map(messageOf))),
    model: textOf(model),
    tools: listOf(tools),
    maxTokens: numberOf(max_completion_tokens) ?? numberOf(max_tokens),
    parameters,
    upstreamHistory: undefined,
  }
}

const usage = (value: unknown): Fields | undefined => openAiUsage(value, 'prompt', 'completion')

function answerOf(body: unknown): Answer {
  const { id, model, choices, error, usage: tokens } = fieldsOf(body)
  const [first, ...rest] = listOf(choices)
  const choice = fieldsOf(first)
  const message = isRecord(choice['message']) ? choice['message'] : undefined
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
    usage: usage(tokens),
    finish,
    error,
  }
}

/** A choice that is built from its deltas. */
interface Choice {
  content: string | undefined
  refusal: string | undefined
  finish: string | undefined
  readonly calls: Record<string, unknown>[]
  /** Fields of other providers: texts are joined, and of other values the last one counts. */
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
    if (!isRecord(value)) {
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
  for (const [name, value] of Object.entries(withoutFields(delta, DELTA))) {
    const before = choice.unknown[name]
    if (value !== null && value !== undefined)
      choice.unknown[name] = typeof value === 'string' && typeof before === 'string' ? before + value : value
  }
}

const choiceMessage = (choice: Choice): Fields => ({
  role: 'assistant',
  content: choice.content ?? null,
  ...withoutUndefined({ refusal: choice.refusal }),
  ...choice.unknown,
  ...(choice.calls.length === 0 ? {} : { tool_calls: choice.calls.filter((call) => call !== undefined) }),
})

function reader(): AnswerReader {
  const choices: Choice[] = []
  let responseId: string | undefined
  let model: string | undefined
  let tokens: Fields | undefined
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
      tokens = usage(chunk['usage']) ?? tokens
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
      const hasMessage =
        first !== undefined && (isComplete || (first.content ?? first.refusal ?? '') !== '' || first.calls.length > 0)
      return {
        message: hasMessage
          ? inputOf({
              ...choiceMessage(first),
              ...(rest.length === 0
                ? {}
                : {
                    other_choices: rest
                      .filter((choice) => choice !== undefined)
                      .map((choice) => ({ message: choiceMessage(choice), finish_reason: choice.finish })),
                  }),
            })
          : undefined,
        raw: first === undefined ? [] : [choiceMessage(first)],
        isComplete,
        responseId,
        model,
        usage: tokens,
        finish: first?.finish,
        error,
      }
    },
  }
}

/** A message as the client sent it, or as the context has it. A cleared message gets its recorded content. */
function messageFor({ chat, source: message, isUnchanged: isWhole }: OutgoingMessage): unknown {
  if (message !== undefined && isWhole) return message.raw[0] ?? chat
  if (message?.clearedFrom !== undefined && chat.role === message.input.role)
    return chat.role === 'tool'
      ? { ...fieldsOf(message.raw[0]), content: chat.content }
      : { ...fieldsOf(message.raw[0]), tool_calls: chatCalls(chat) }
  return withoutFields({ ...chat }, new Set(['as_sent']))
}

/** OpenAI's Chat Completions API. */
export const chatCompletions: Api = {
  name: 'chat-completions',
  hasSeparateInstructions: false,
  matches: (path) => path.endsWith('/chat/completions'),
  readRequest: read,
  readAnswer: answerOf,
  createAnswerReader: reader,
  writeRequest: (body, shown) => ({ ...body, messages: shown.map(messageFor) }),
  withTool: (body, { name, description, parameters }) => ({
    ...body,
    tools: [...listOf(body['tools']), { type: 'function', function: { name, description, parameters } }],
  }),
  withToolResults: (body, { raw }, results) => ({
    ...body,
    messages: [
      ...listOf(body['messages']),
      ...raw,
      ...results.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
    ],
  }),
  errorBody: openaiErrorBody,
}
