/**
 * Converts revisions and positions, which are texts in JSON, to bigint. It recognizes them by field name. Below a
 * field with data of the caller nothing is converted.
 */

/** Fields that hold a revision or a position wherever the library has them. */
const WHOLE: ReadonlySet<string> = new Set([
  'revision',
  'head',
  'firstRevision',
  'lastRevision',
  'seenRevision',
  'conversationRevision',
  'conversationHead',
  'windowStart',
  'position',
  'upTo',
  'at',
  'from',
  'to',
  'expected',
  'actual',
])

/** Fields with data of the caller. */
const OWN: ReadonlySet<string> = new Set([
  'content',
  'attributes',
  'extra',
  'answers',
  'toolCalls',
  'tool_calls',
  'parameters',
  'sections',
  'policy',
  'settings',
])

const DIGITS = /^\d{1,19}$/u

/**
 * The same value with bigints.
 * @param own further fields below which everything stays
 */
export function withWholeNumbers(value: unknown, own: ReadonlySet<string> = new Set()): unknown {
  if (Array.isArray(value)) return value.map((part) => withWholeNumbers(part, own))
  if (typeof value !== 'object' || value === null) return value
  const found: Record<string, unknown> = {}
  for (const [name, part] of Object.entries(value)) {
    const revived =
      OWN.has(name) || own.has(name)
        ? part
        : WHOLE.has(name) && typeof part === 'string' && DIGITS.test(part)
          ? BigInt(part)
          : withWholeNumbers(part, own)
    // A field of this name is data, and no prototype.
    Object.defineProperty(found, name, { value: revived, enumerable: true, writable: true, configurable: true })
  }
  return found
}
