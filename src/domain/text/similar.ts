/** Similarity of short texts, to suggest names for one that a person remembered in part. */

const pairsOf = (text: string): Set<string> => {
  const letters = ` ${text.toLowerCase()} `
  const pairs = new Set<string>()
  for (let at = 0; at + 1 < letters.length; at += 1) pairs.add(letters.slice(at, at + 2))
  return pairs
}

/** The share of the pairs of letters that two texts have in common: 0 for none, 1 for equal texts. */
function similarity(given: ReadonlySet<string>, text: string): number {
  const pairs = pairsOf(text)
  let common = 0
  for (const pair of pairs) if (given.has(pair)) common += 1
  return (2 * common) / (given.size + pairs.size)
}

/**
 * The items that are most similar to a text, the best first. Of equal ones, the first come first.
 * @param textsOf the texts of an item, of which the most similar counts
 */
export function mostSimilar<Item>(
  given: string,
  items: readonly Item[],
  textsOf: (item: Item) => readonly string[],
  most: number,
): readonly Item[] {
  const pairs = pairsOf(given)
  return items
    .map((item) => ({ item, score: Math.max(0, ...textsOf(item).map((text) => similarity(pairs, text))) }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ item }) => item)
}
