/** A non-empty string; undefined for any other value. */
export const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/**
 * The text between the first `begin` and the last `end` after it (an empty one is the end of the text); undefined without
 * both. A pattern would search for the end again after each `begin`.
 */
export function textWithin(text: string, begin: string, end: string): string | undefined {
  const at = text.indexOf(begin)
  const from = at + begin.length
  const to = text.lastIndexOf(end)
  return at === -1 || to < from ? undefined : text.slice(from, to)
}
