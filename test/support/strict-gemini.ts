/** What Gemini's `generateContent` refuses in its contents, written down from its documentation. */
type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON that is looked at field by field
  typeof value === 'object' && value !== null ? (value as Fields) : {}
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const partsWith = (entry: unknown, field: string): Fields[] =>
  list(fields(entry)['parts'])
    .map(fields)
    .filter((part) => field in part)

/** The rules that a request breaks; none for a valid one. */
export function strictGemini(body: Fields): string[] {
  const wrong: string[] = []
  const contents = list(body['contents'])
  if (contents.length === 0) wrong.push('there are no contents')
  if (fields(contents[0])['role'] === 'model') wrong.push('the first content is not the user’s')
  for (const [at, entry] of contents.entries()) {
    const where = `contents[${String(at)}]`
    const { role, parts } = fields(entry)
    if (role !== 'user' && role !== 'model' && role !== undefined)
      wrong.push(`${where}.role is ${JSON.stringify(role)}`)
    if (list(parts).length === 0) wrong.push(`${where} has no parts`)
    for (const part of list(parts).map(fields)) {
      const kinds = Object.keys(part).filter((key) => !key.startsWith('thought'))
      if (kinds.length === 0) wrong.push(`${where} has a part without content`)
    }
    const calls = partsWith(entry, 'functionCall').length
    const results = partsWith(entry, 'functionResponse').length
    if (calls > 0 && role !== 'model') wrong.push(`${where} calls, and is not the model’s`)
    const before = partsWith(contents[at - 1], 'functionCall').length
    if (results > 0 && results !== before)
      wrong.push(`${where} has ${String(results)} results of the ${String(before)} calls before it`)
    if (calls > 0 && partsWith(contents[at + 1], 'functionResponse').length !== calls)
      wrong.push(`${where}: ${String(calls)} calls are not answered`)
  }
  return wrong
}
