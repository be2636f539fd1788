/** After a `compacted` line, the model has its instructions and the `replacement_history` of that line. */
import { jsonLines, listOf, objectOf, textOf, type Json } from '../raw-counts/json-lines.js'
import { callText, type RawContext, type ReadContexts } from './raw-contexts.js'

const TEXTS = ['text', 'image_url', 'encrypted_content']

const textsOf = (parts: unknown): RawContext =>
  typeof parts === 'string'
    ? [parts]
    : listOf(parts)
        .map(objectOf)
        .flatMap((part) => TEXTS.flatMap((field) => textOf(part[field]) ?? []))

function textsIn(item: Json): RawContext {
  const sealed = textOf(item['encrypted_content']) ?? []
  if ('output' in item) return textsOf(item['output'])
  if ('arguments' in item || 'input' in item) return [callText(item['name'], item['arguments'] ?? item['input'])]
  return [...textsOf(item['content']), ...textsOf(item['summary'])].concat(sealed)
}

export const codexContexts: ReadContexts = async (path) => {
  const lines = await jsonLines(path)
  const meta = lines.find(({ type }) => type === 'session_meta')
  const instructions = textsOf(objectOf(objectOf(meta?.['payload'])['base_instructions'])['text'])
  return lines
    .filter(({ type }) => type === 'compacted')
    .map(({ payload }): RawContext => [
      ...instructions,
      ...listOf(objectOf(payload)['replacement_history']).flatMap((item) => textsIn(objectOf(item))),
    ])
}
