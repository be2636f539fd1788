/**
 * Sorts names by their UTF-8 bytes, like a database with the collation "C". JavaScript itself sorts strings by code
 * units.
 */
export function inByteOrder(names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, bytes: Buffer.from(name, 'utf8') }))
    .toSorted((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ name }) => name)
}
