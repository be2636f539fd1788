/**
 * Names in the order of their UTF-8 bytes, which is that of a database with the collation "C"; a JavaScript string
 * sorts by its code units.
 */
export function inByteOrder(names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, bytes: Buffer.from(name, 'utf8') }))
    .toSorted((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ name }) => name)
}
