/**
 * What the OpenAI chat API asks of a list of messages, written from its rules and not from our code, so that it can
 * judge our contexts. Gives one sentence for each thing that is wrong.
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
export function chatProblems(messages: readonly object[], badArguments: ReadonlySet<string> = new Set()): string[] {
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
