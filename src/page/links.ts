/** The addresses of the page: each state of it has one. Ids stand in the query, where every text may stand. */

/** Where a link leads, with what stands in its query; what is undefined is left out. */
export function link(path: string, query: Readonly<Record<string, string | number | bigint | undefined>> = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value))
  const text = params.toString()
  return text === '' ? path : `${path}?${text}`
}

/** A conversation at a moment, as it may be shown. */
export interface Place {
  readonly c: string
  /** The moment; now where it is left out. */
  readonly at?: string | bigint | number | undefined
  /** The revision that it is compared with. */
  readonly since?: string | bigint | undefined
  /** The message that is looked for. */
  readonly m?: string | undefined
  /** Words that are marked in the texts. */
  readonly q?: string | undefined
  /** The line that is explained: the place of its message, and its own, as `12.3`. */
  readonly why?: string | undefined
  /** The part of the context that is shown. */
  readonly part?: number | undefined
}

/** The address of a conversation at a moment. */
export const conversationLink = ({ c, at, since, m, q, why, part }: Place): string =>
  link('/conversation', { c, at, since, m, q, why, part })
