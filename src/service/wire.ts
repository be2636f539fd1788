/** Values as JSON over the wire: whole numbers that may be large are texts. */

/** A value as JSON. */
export const toWire = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part))
