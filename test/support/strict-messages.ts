/** What Anthropic's Messages refuses in a request, written down from its documentation. */
type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON that is looked at field by field
  typeof value === 'object' && value !== null ? (value as Fields) : {}
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const blocks = (content: unknown): readonly unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)

/** Marks of the prompt cache that a request may have. */
const MOST_MARKS = 4

function marks(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return ('cache_control' in value ? 1 : 0) + Object.values(value).reduce((sum: number, each) => sum + marks(each), 0)
}

/** @param signed signatures that the provider gave, with the thoughts that they are of */
export function strictMessages(body: Fields, signed: ReadonlyMap<string, string>): string[] {
  const wrong: string[] = []
  const messages = list(body['messages'])
  if (fields(messages[0])['role'] !== 'user') wrong.push('the first message is not the user’s')
  if (marks([body['system'], body['tools'], body['messages']]) > MOST_MARKS)
    wrong.push('there are more than 4 marks of the cache')
  let open = new Set<unknown>()
  let before: unknown
  for (const [at, each] of messages.entries()) {
    const { role, content } = fields(each)
    const where = `messages[${String(at)}]`
    if (role === 'system') {
      // A directive is allowed between a user message and its answer.
      if (before !== 'user') wrong.push(`${where} is a directive behind no message of the user`)
      const next = at + 1 < messages.length ? String(fields(messages[at + 1])['role']) : 'assistant'
      if (next !== 'assistant') wrong.push(`${where} is a directive in front of ${next}`)
      if (blocks(content).length === 0 && fields(each)['output_config'] === undefined) wrong.push(`${where} is empty`)
      if (blocks(content).some((block) => fields(block)['type'] !== 'text'))
        wrong.push(`${where} has a block that is no text`)
      continue
    }
    if (role !== 'user' && role !== 'assistant') wrong.push(`${where}.role is ${String(role)}`)
    if (role === before) wrong.push(`${where}.role does not alternate`)
    before = role
    const all = blocks(content)
    if (all.length === 0) wrong.push(`${where} is empty`)
    let hasOther = false
    for (const block of all) {
      const { type, text, tool_use_id: answered, thinking, signature } = fields(block)
      if (type === 'tool_result') {
        if (role !== 'user') wrong.push(`${where} has a result, and is not the user’s`)
        if (hasOther) wrong.push(`${where} has a result behind something else`)
        if (!open.delete(answered))
          wrong.push(`${where} has a result of ${String(answered)}, which the message before did not call`)
      } else hasOther = true
      if (type === 'text' && (typeof text !== 'string' || text.trim() === '')) wrong.push(`${where} has an empty text`)
      if (type === 'thinking' && (role !== 'assistant' || signed.get(String(signature)) !== thinking))
        wrong.push(`${where} has a thought that was not signed so`)
      if (type === 'system' || typeof type !== 'string') wrong.push(`${where} has a block of type ${String(type)}`)
    }
    if (open.size > 0) wrong.push(`${where}: calls ${[...open].join(', ')} are not answered`)
    open = new Set()
    let followsCall = false
    for (const block of all) {
      const { type, id, name, input } = fields(block)
      if (type === 'tool_use') {
        followsCall = true
        if (role !== 'assistant') wrong.push(`${where} calls, and is not the assistant’s`)
        if (typeof id !== 'string' || open.has(id) || typeof name !== 'string')
          wrong.push(`${where} has a call without an id of its own`)
        if (typeof input !== 'object' || input === null || Array.isArray(input))
          wrong.push(`${where} has an input that is no object`)
        open.add(id)
      } else if (followsCall && type === 'text') wrong.push(`${where} has a text behind a call`)
    }
  }
  if (open.size > 0) wrong.push('the last calls are not answered')
  if (before !== 'user') wrong.push('the last message is not the user’s')
  return wrong
}
