/** The APIs whose rules a context can follow, with these rules as data. */

export const SHAPES = ['strict', 'openai', 'anthropic', 'gemini'] as const
/** `strict` follows the rules of all three APIs, and of equally strict chat templates. */
export type Shape = (typeof SHAPES)[number]

/** The rules of an API for a list of messages, in addition to the rules of the OpenAI chat API. */
export interface ShapeRules {
  /** There is at most one system message, and it is the first message. */
  readonly hasOneSystemMessage: boolean
  /** The first message after the system message is a user message. */
  readonly beginsWithUser: boolean
  /** No text is empty or blank. */
  readonly hasNoEmptyText: boolean
  /** A message with tool calls follows a user message or a tool result. */
  readonly callsFollowUser: boolean
}

export const SHAPE_RULES: Readonly<Record<Shape, ShapeRules>> = {
  openai: { hasOneSystemMessage: false, beginsWithUser: false, hasNoEmptyText: false, callsFollowUser: false },
  // This API merges consecutive assistant messages into one turn.
  anthropic: { hasOneSystemMessage: true, beginsWithUser: true, hasNoEmptyText: true, callsFollowUser: false },
  gemini: { hasOneSystemMessage: true, beginsWithUser: true, hasNoEmptyText: true, callsFollowUser: true },
  strict: { hasOneSystemMessage: true, beginsWithUser: true, hasNoEmptyText: true, callsFollowUser: true },
}
