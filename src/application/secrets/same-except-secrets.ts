/**
 * Compares values that were redacted by different rules: on another machine, by another policy, or by an earlier
 * version with fewer rules.
 */
import { isRecord } from '../../lib/is-record.js'

const MARK = /\[secret:[^\]:]+:[0-9a-f]+\]/u

/** Whether the text is the redacted one with other texts in the places of its marks. */
function hasPiecesOf(text: string, redacted: string): boolean {
  const pieces = redacted.split(MARK)
  const [first = ''] = pieces
  const last = pieces.at(-1) ?? ''
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false
  const end = text.length - last.length
  let from = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, from)
    if (found === -1 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}

const isSameText = (one: string, other: string): boolean =>
  one === other || (MARK.test(one) && hasPiecesOf(other, one)) || (MARK.test(other) && hasPiecesOf(one, other))

/** Whether two JSON values differ only in what one of them has a mark of a secret for. */
export function isSameExceptSecrets(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one === 'string') return typeof other === 'string' && isSameText(one, other)
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item: unknown, at) => isSameExceptSecrets(item, other[at]))
    )
  if (!isRecord(one) || !isRecord(other)) return false
  const names = (value: Record<string, unknown>): string[] =>
    Object.keys(value).filter((name) => value[name] !== undefined)
  return (
    names(one).length === names(other).length && names(one).every((name) => isSameExceptSecrets(one[name], other[name]))
  )
}
