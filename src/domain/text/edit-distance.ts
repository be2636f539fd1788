/** The edit distance of two words, for suggestions. */

/** The number of letters to change, insert, delete or swap with their neighbour to turn one word into the other. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_none, at) => at)
  for (let row = 1; row <= a.length; row += 1) {
    const now = [row]
    for (let at = 1; at <= b.length; at += 1) {
      const same = a[row - 1] === b[at - 1] ? 0 : 1
      const swapped =
        row > 1 && at > 1 && a[row - 1] === b[at - 2] && a[row - 2] === b[at - 1] ? (before[at - 2] ?? 0) + 1 : Infinity
      now.push(Math.min((last[at] ?? 0) + 1, (now[at - 1] ?? 0) + 1, (last[at - 1] ?? 0) + same, swapped))
    }
    before = last
    last = now
  }
  return last[b.length] ?? 0
}

/** The maximum number of words that are compared, to limit the time for a suggestion. */
const MOST_COMPARED = 20_000

/**
 * The closest word that differs in at most a quarter of its letters. A larger difference makes another word (`scope`
 * and `store`).
 */
export function nearest(given: string, known: Iterable<string>): string | undefined {
  const maxDistance = Math.max(1, Math.floor(given.length / 4))
  let best: { readonly word: string; readonly off: number } | undefined
  let compared = 0
  for (const word of known) {
    // A word with a larger difference in length cannot be close.
    if (Math.abs(word.length - given.length) > maxDistance || compared === MOST_COMPARED) continue
    compared += 1
    const off = editDistance(given, word)
    if (off <= maxDistance && (best === undefined || off < best.off)) best = { word, off }
  }
  return best?.word
}
