/** The URLs of the page. Every state has a URL. Ids are in the query, which allows any text. */

/** A path with query parameters. Undefined parameters are omitted. */
export function link(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value))
  const text = params.toString()
  return text === '' ? path : `${path}?${text}`
}

/** Parameters of the conversation page. */
export interface ConversationQuery {
  readonly c: string
  /** Revision, time or message; default: now. */
  readonly at?: string | number | undefined
  /** Revision to compare with. */
  readonly since?: string | number | undefined
  /** Id of the message to highlight. */
  readonly m?: string | undefined
  /** Words to highlight. */
  readonly q?: string | undefined
  /** Line to explain, as message index and line index: `12.3`. */
  readonly why?: string | undefined
  /** Part of the context to show. */
  readonly part?: number | undefined
}

/** The URL of a conversation at a point in time. */
export const conversationLink = ({ c, at, since, m, q, why, part }: ConversationQuery): string =>
  link('/conversation', { c, at, since, m, q, why, part })
