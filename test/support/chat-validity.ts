/**
 * The public rules of the APIs for a list of messages in the form of the OpenAI chat API, written from these rules and
 * not from our code. Each check returns one sentence for each rule that is broken.
 *
 * Sources, read in 2026:
 * - OpenAI: the reference of Chat Completions (roles, names, calls, and that results follow their call).
 * - Anthropic: the reference of Messages ("there is no "system" role for input messages", "Consecutive user or assistant
 *   turns in your request will be combined into a single turn") and its errors `messages: first message must use the
 *   "user" role`, `messages: text content blocks must be non-empty` and `text content blocks must contain non-whitespace
 *   text`.
 * - Gemini: its errors "Please ensure that function call turn comes immediately after a user turn or after a function
 *   response turn" (google-gemini/gemini-cli issue 11814: also for a history that starts with a function call),
 *   "contents.parts must not be empty" (vercel/ai issue 3775) and "contents is not specified". `systemInstruction` is one
 *   content, and `contents` have the roles user and model. Two model turns in a row are refused where the second one has
 *   a function call (continuedev/continue pull request 11805), so a client that does not merge them gets a 400.
 * - Chat templates of Qwen 3.5 and later: "System message must be at the beginning." (vllm-project/vllm issue 41114, for a
 *   late and for a second system message), "No user query found in messages." and "Unexpected message role.".
 */

interface Call {
  readonly id?: unknown
  readonly type?: unknown
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown }
}

interface Message {
  readonly role?: unknown
  readonly content?: unknown
  readonly name?: unknown
  readonly tool_calls?: readonly Call[]
  readonly tool_call_id?: unknown
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function shapeProblems({ role, content, name, tool_calls: calls, tool_call_id: callId }: Message): string[] {
  const problems: string[] = []
  if (typeof role !== 'string' || !ROLES.has(role)) problems.push(`the role ${String(role)} is none`)
  const isText = typeof content === 'string'
  const isParts =
    Array.isArray(content) &&
    content.every(
      (part: unknown) => typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string',
    )
  if (!isText && !isParts && !(content === null && role === 'assistant'))
    problems.push('the content is neither text nor parts')
  if (name !== undefined && (typeof name !== 'string' || !/^[^\s<|\\/>]{1,64}$/u.test(name)))
    problems.push(`the name ${JSON.stringify(name)} is refused`)
  if (calls !== undefined && role !== 'assistant') problems.push(`${String(role)} cannot call tools`)
  if (calls?.length === 0) problems.push('an empty list of calls is refused')
  if ((role === 'tool') !== (callId !== undefined))
    problems.push('a call id belongs to tool messages, and to each of them')
  return problems
}

function callProblems(calls: readonly Call[], badArguments: ReadonlySet<string>): string[] {
  const ids = calls.map((call) => call.id)
  return [
    ...(new Set(ids).size === ids.length ? [] : ['a call id comes twice in one message']),
    ...calls.flatMap((call) => {
      if (typeof call.id !== 'string' || call.id === '') return ['a call without an id']
      if (typeof call.type !== 'string') return [`call ${call.id} has no type`]
      if (call.function === undefined) return []
      const { name, arguments: args } = call.function
      if (typeof name !== 'string' || name === '') return [`call ${call.id} names no function`]
      if (typeof args !== 'string') return [`call ${call.id} has no arguments`]
      return isJson(args) || badArguments.has(args) ? [] : [`the arguments of call ${call.id} are no JSON`]
    }),
  ]
}

/**
 * Everything that the API would refuse.
 * @param badArguments arguments that were no JSON when they came: they may be shown as they came
 */
function chatProblems(messages: readonly object[], badArguments: ReadonlySet<string> = new Set()): string[] {
  const problems: string[] = []
  let waiting = new Set<unknown>()
  for (const [at, given] of messages.entries()) {
    const message: Message = given
    const say = (problem: string): number =>
      problems.push(`messages[${String(at)}] (${String(message.role)}): ${problem}`)
    shapeProblems(message).forEach(say)
    if (message.role === 'tool') {
      if (!waiting.delete(message.tool_call_id))
        say(`no call ${String(message.tool_call_id)} waits for a result right before it`)
    } else if (waiting.size > 0) {
      say(`stands between the calls ${[...waiting].join(', ')} and their results`)
      waiting = new Set()
    }
    if (message.tool_calls !== undefined) {
      callProblems(message.tool_calls, badArguments).forEach(say)
      waiting = new Set(message.tool_calls.map((call) => call.id))
    }
  }
  if (waiting.size > 0) problems.push(`at the end: the calls ${[...waiting].join(', ')} have no result`)
  return problems
}

const APIS = ['openai', 'anthropic', 'gemini', 'qwen'] as const
export type CheckedApi = (typeof APIS)[number]

const isInstruction = ({ role }: Message): boolean => role === 'system' || role === 'developer'

/** Whether a message has a text that is empty or blank, or no content although it has no calls. */
function isEmpty({ content, tool_calls: calls }: Message): boolean {
  if (typeof content === 'string') return content.trim() === '' && !(content === '' && calls !== undefined)
  if (!Array.isArray(content)) return calls === undefined
  const parts: readonly { readonly type?: unknown; readonly text?: unknown }[] = content
  return (
    parts.length === 0 ||
    parts.some(({ type, text }) => type === 'text' && (typeof text !== 'string' || text.trim() === ''))
  )
}

/** The reasons for which each API refuses a message, given the conversation message before it. */
const MESSAGE_RULES: Readonly<
  Record<CheckedApi, (message: Message, before: Message | undefined, at: number) => (string | false)[]>
> = {
  openai: () => [],
  anthropic: (message, before, at) => [
    isInstruction(message) && before !== undefined && `${String(message.role)} is no role after the first message`,
    isInstruction(message) && at > 0 && 'the system prompt is more than one message',
    !isInstruction(message) &&
      before === undefined &&
      message.role !== 'user' &&
      'the first message must be a user message',
    isEmpty(message) && 'text content blocks must be non-empty',
  ],
  gemini: (message, before, at) => [
    isInstruction(message) && (before !== undefined || at > 0) && 'the system instruction is more than one message',
    !isInstruction(message) && before === undefined && message.role !== 'user' && 'contents begin with the model',
    message.tool_calls !== undefined &&
      before?.role !== 'user' &&
      before?.role !== 'tool' &&
      'the function call turn follows neither a user turn nor a function response turn',
    isEmpty(message) && 'contents.parts must not be empty',
  ],
  qwen: (message, _before, at) => [
    message.role === 'system' && at > 0 && 'the system message must be at the beginning',
    message.role === 'developer' && 'unexpected message role',
  ],
}

/**
 * Everything that an API would refuse. A list with only instructions is not a request yet.
 * @param badArguments arguments that arrived as invalid JSON: the request may show them unchanged
 */
export function apiProblems(
  messages: readonly object[],
  api: CheckedApi,
  badArguments: ReadonlySet<string> = new Set(),
): string[] {
  const list: readonly Message[] = messages
  if (list.every(isInstruction)) return chatProblems(messages, badArguments)
  const problems = chatProblems(messages, badArguments)
  let before: Message | undefined
  for (const [at, message] of list.entries()) {
    for (const problem of MESSAGE_RULES[api](message, before, at))
      if (problem !== false) problems.push(`${api}: messages[${String(at)}] (${String(message.role)}): ${problem}`)
    if (!isInstruction(message)) before = message
  }
  if (api === 'qwen' && !list.some(({ role }) => role === 'user'))
    problems.push('qwen: no user query found in messages')
  return problems
}

/** Everything that any of the APIs would refuse. */
export const problemsOfEveryApi = (messages: readonly object[], badArguments?: ReadonlySet<string>): string[] => [
  ...new Set(APIS.flatMap((api) => apiProblems(messages, api, badArguments))),
]
