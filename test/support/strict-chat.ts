/** What OpenAI's Chat Completions refuses in a list of messages, written down from its documentation. */
type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON that is looked at field by field
  typeof value === 'object' && value !== null ? (value as Fields) : {}
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

/** The rules that a request breaks; none for a valid one. */
export function strictChat(body: Fields): string[] {
  const wrong: string[] = []
  const messages = list(body['messages'])
  if (messages.length === 0) wrong.push('there are no messages')
  let open = new Set<unknown>()
  for (const [at, each] of messages.entries()) {
    const message = fields(each)
    const where = `messages[${String(at)}]`
    const { role, content } = message
    if (typeof role !== 'string' || !ROLES.has(role)) wrong.push(`${where}.role is ${String(role)}`)
    if (role === 'tool') {
      if (!open.delete(message['tool_call_id'])) wrong.push(`${where} answers no call of the message before`)
    } else if (open.size > 0) {
      wrong.push(`${where}: calls ${[...open].join(', ')} are not answered`)
      open = new Set()
    }
    const calls = list(message['tool_calls'])
    if (calls.length > 0 && role !== 'assistant') wrong.push(`${where} has calls, and is ${String(role)}`)
    if ('tool_calls' in message && calls.length === 0) wrong.push(`${where}.tool_calls is empty`)
    for (const call of calls) {
      const { id, type, function: named, custom } = fields(call)
      const { name, arguments: args } = fields(named)
      if (typeof id !== 'string' || id === '' || open.has(id))
        wrong.push(`${where} has a call without an id of its own`)
      if (type === 'custom') {
        const { name: tool, input } = fields(custom)
        if (typeof tool !== 'string' || typeof input !== 'string') wrong.push(`${where} has no call with free text`)
      } else {
        if (type !== 'function' || typeof name !== 'string' || typeof args !== 'string')
          wrong.push(`${where} has no call of a function`)
        try {
          JSON.parse(String(args))
        } catch {
          wrong.push(`${where} has arguments that are no JSON`)
        }
      }
      open.add(id)
    }
    const isContent = typeof content === 'string' || (Array.isArray(content) && content.length > 0)
    if (!isContent && !(role === 'assistant' && calls.length > 0)) wrong.push(`${where}.content is missing`)
    for (const part of list(content)) {
      const { type, text } = fields(part)
      if (typeof type !== 'string' || (type === 'text' && typeof text !== 'string'))
        wrong.push(`${where} has a part that is none`)
    }
  }
  if (open.size > 0) wrong.push('the last calls are not answered')
  return wrong
}
