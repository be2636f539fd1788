/** A model request in one form for all APIs. The scripted model reads it, and contexts are compared with it. */

/** A call of a tool. */
interface ContextCall {
  readonly id: string
  readonly name: string
  /** An object, or the text if a tool takes text. */
  readonly input: unknown
}

/** A message of a context. */
export interface ContextMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** Texts of the message, in order. */
  readonly texts: readonly string[]
  readonly calls: readonly ContextCall[]
  /** Of a tool's result: the id of its call. */
  readonly resultOf?: string | undefined
}

/** A model request. */
export interface ModelRequest {
  /** System prompt, if the API has a field of its own for it. */
  readonly instructions: string
  readonly messages: readonly ContextMessage[]
  /** Names of the tools that the request offers. */
  readonly tools: readonly string[]
  readonly isStreamed: boolean
}

export type Fields = Readonly<Record<string, unknown>>

/** The value's fields; none if it is no object. */
export const fieldsOf = (value: unknown): Fields =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON that is read field by field
  typeof value === 'object' && value !== null ? (value as Fields) : {}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Texts of a content: a string, or the texts of its parts. A part without a text is its JSON. */
export function textsOf(content: unknown): readonly string[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [content]
  return listOf(content).map((part) => {
    const { text } = fieldsOf(part)
    return typeof text === 'string' ? text : JSON.stringify(part)
  })
}

/** The JSON value of a text; the text if it is no JSON. */
export function jsonOf(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return text
  }
}
