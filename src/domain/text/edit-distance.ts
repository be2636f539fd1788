/** How far two words are from each other, to say what somebody may have meant. */

/** Letters that have to be changed, added, dropped or swapped with their neighbour to make one word of another. */
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

/** Words at most that are compared: to tell a typing mistake is worth no more time. */
const MOST_COMPARED = 20_000

/**
 * The word that somebody may have meant: one that is a quarter of its letters off at most, since more make another word
 * of it (`scope` is no `store`).
 */
export function nearest(given: string, known: Iterable<string>): string | undefined {
  const most = Math.max(1, Math.floor(given.length / 4))
  let best: { readonly word: string; readonly off: number } | undefined
  let compared = 0
  for (const word of known) {
    // A word that much longer or shorter cannot be near.
    if (Math.abs(word.length - given.length) > most || compared === MOST_COMPARED) continue
    compared += 1
    const off = editDistance(given, word)
    if (off <= most && (best === undefined || off < best.off)) best = { word, off }
  }
  return best?.word
}
