/** Ids of conversations for a table on a terminal. */

/** Longer ids are shortened. */
const LONG_ID = 24
/** Characters after the name of the program that are always shown. */
const SHOWN_CHARACTERS = 8

/** The number of characters that two ids begin with in common; upper and lower case count as the same. */
function commonLength(id: string, other = ''): number {
  let at = 0
  while (at < id.length && id[at]?.toLowerCase() === other[at]?.toLowerCase()) at += 1
  return at
}

/** Beginnings of long ids that no other listed id has. Commands accept them instead of the id. */
export function shortIds(ids: readonly string[]): ReadonlyMap<string, string> {
  const sorted = ids
    .map((id) => ({ id, key: id.toLowerCase() }))
    .toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ id }) => id)
  return new Map(
    sorted.map((id, at) => {
      const unique = Math.max(commonLength(id, sorted[at - 1]), commonLength(id, sorted[at + 1])) + 1
      const length = Math.max(unique, id.indexOf('/') + 1 + SHOWN_CHARACTERS)
      return [id, id.length > LONG_ID ? id.slice(0, length) : id]
    }),
  )
}
