/** What OpenAI's Responses refuses in its input, written down from its documentation. */
type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON that is looked at field by field
  typeof value === 'object' && value !== null ? (value as Fields) : {}
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const PARTS: Readonly<Record<string, ReadonlySet<string>>> = {
  user: new Set(['input_text', 'input_image', 'input_file']),
  system: new Set(['input_text']),
  developer: new Set(['input_text']),
  assistant: new Set(['output_text', 'refusal']),
}

/** @param given the provider's reasoning items by id, as JSON, with the id of the item after each */
export function strictResponses(
  body: Fields,
  given: ReadonlyMap<string, { readonly json: string; readonly next: string }>,
): string[] {
  const wrong: string[] = []
  const { input } = body
  if (typeof input === 'string') return input === '' ? ['the input is empty'] : []
  const items = list(input)
  if (items.length === 0) wrong.push('the input is empty')
  const open = new Map<unknown, unknown>()
  let followsResult = false
  for (const [at, each] of items.entries()) {
    const item = fields(each)
    const where = `input[${String(at)}]`
    const type = item['type'] ?? 'message'
    const isResult = type === 'function_call_output' || type === 'custom_tool_call_output'
    if (!isResult && followsResult && open.size > 0)
      wrong.push(`${where}: calls ${[...open.keys()].join(', ')} are not answered`)
    followsResult = isResult
    if (type === 'message') {
      const { role, content } = item
      const parts = PARTS[String(role)]
      if (parts === undefined) wrong.push(`${where}.role is ${String(role)}`)
      if (typeof content !== 'string' && list(content).length === 0) wrong.push(`${where} is empty`)
      for (const part of list(content))
        if (parts?.has(String(fields(part)['type'])) !== true)
          wrong.push(`${where} has a part of type ${String(fields(part)['type'])}`)
      if (open.size > 0) wrong.push(`${where} stands between calls and their results`)
    } else if (type === 'function_call' || type === 'custom_tool_call') {
      if (typeof item['call_id'] !== 'string' || open.has(item['call_id']))
        wrong.push(`${where} has no call id of its own`)
      if (typeof item['name'] !== 'string') wrong.push(`${where} has no name`)
      if (type === 'function_call') {
        try {
          JSON.parse(String(item['arguments']))
        } catch {
          wrong.push(`${where} has arguments that are no JSON`)
        }
      }
      open.set(item['call_id'], type)
    } else if (isResult) {
      if (open.get(item['call_id']) !== type.slice(0, -'_output'.length)) wrong.push(`${where} answers no call`)
      open.delete(item['call_id'])
      if (typeof item['output'] !== 'string' && !Array.isArray(item['output'])) wrong.push(`${where} has no output`)
    } else if (type === 'reasoning') {
      const known = given.get(String(item['id']))
      if (known?.json !== JSON.stringify(item)) wrong.push(`${where} is reasoning that was not given so`)
      if (known !== undefined && fields(items[at + 1])['id'] !== known.next)
        wrong.push(`${where} is not followed by its item`)
    } else wrong.push(`${where}.type is ${JSON.stringify(type)}`)
  }
  if (open.size > 0) wrong.push('the last calls are not answered')
  return wrong
}
