/**
 * Patterns from users: a part of the syntax of regular expressions that cannot take long. No groups that repeat, no
 * look-around, no back references, and each `*`, `+` or `{n,}` matches at most 256 characters.
 */
import { either as E } from 'fp-ts'

/** A pattern that cannot be used, and the reason. */
export type BadPattern = { readonly kind: 'BadPattern'; readonly pattern: string; readonly detail: string }

const LONGEST_REPEAT = 256
/** The largest product of the repeats in a pattern that may match text of different lengths. */
const MOST_WORK = 65_536
const LONGEST_PATTERN = 512

/** The quantifiers outside character classes, and syntax that is not allowed. */
const TOKENS = /\\[1-9k]|\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\(\?[^:]|\)(?:[*+?]|\{\d)|[*+]|\{(\d+)(,?)(\d*)\}/gu

/** Compiles a pattern of a user. Its repeats are bounded, so that a scan takes linear time. */
export function compileBoundedPattern(pattern: string): E.Either<BadPattern, RegExp> {
  const bad = (detail: string): E.Either<BadPattern, never> => E.left({ kind: 'BadPattern', pattern, detail })
  if (pattern === '' || pattern.length > LONGEST_PATTERN)
    return bad(`has to have 1 to ${String(LONGEST_PATTERN)} characters`)
  let work = 1
  let refused: string | undefined
  const bounded = pattern.replaceAll(TOKENS, (token, least?: string, comma?: string, most?: string) => {
    if (/^\\[1-9k]/u.test(token)) refused ??= 'must not refer back to a group'
    else if (token.startsWith('(?')) refused ??= 'must not look around or set flags: use (?:…)'
    else if (token.startsWith(')')) refused ??= 'must not repeat a group'
    else if (token === '*' || token === '+') {
      work *= LONGEST_REPEAT
      return token === '*' ? `{0,${String(LONGEST_REPEAT)}}` : `{1,${String(LONGEST_REPEAT)}}`
    } else if (least !== undefined && comma === ',') {
      const limit = most === undefined || most === '' ? LONGEST_REPEAT : Number(most)
      work *= Math.max(1, limit)
      return `{${least},${String(Math.max(limit, Number(least)))}}`
    } else if (least !== undefined && Number(least) > LONGEST_REPEAT * 16) refused ??= 'repeats too often'
    return token
  })
  if (refused !== undefined) return bad(refused)
  if (work > MOST_WORK) return bad('has too many repeats of different lengths')
  try {
    const compiled = new RegExp(bounded, 'gu')
    return compiled.test('') ? bad('matches an empty text') : E.right(compiled)
  } catch (error) {
    return bad(error instanceof Error ? error.message : String(error))
  }
}
