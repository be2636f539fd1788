/**
 * Revisions and positions: whole numbers from 0, exact up to 2^53. In JSON they are texts of decimal digits, which every
 * reader keeps exact.
 */
import { z } from 'zod'

/** The largest revision and the largest position, 2^53 - 1. */
export const LAST_REVISION = Number.MAX_SAFE_INTEGER

/** Whether a value can be a revision. */
export const isRevision = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** The revision that a text of decimal digits gives; undefined if it gives none. */
export function parseRevision(text: string): number | undefined {
  const revision = /^\d{1,16}$/u.test(text) ? Number(text) : undefined
  return isRevision(revision) ? revision : undefined
}

const digitsOf = (pattern: RegExp, error: string): z.ZodCodec<z.ZodString, z.ZodNumber> =>
  z.codec(z.string().regex(pattern, error), z.int(), { decode: Number, encode: String })

/** A revision or a position in JSON: decimal digits. */
export const revisionInJson = digitsOf(/^\d{1,16}$/u, 'must be a whole number in decimal digits, at most 2^53 - 1')

/** Like `revisionInJson`, or -1 before the first event. */
export const revisionOrNoneInJson = digitsOf(/^(?:-1|\d{1,16})$/u, 'must be a whole number in decimal digits, or -1')

/**
 * The names of fields that have a revision or a position, in events, answers and failures.
 * `test/schema/revision-fields.test.ts` checks them against every schema: no other number may have one of these names.
 */
export const REVISION_FIELDS: ReadonlySet<string> = new Set([
  'revision',
  'firstRevision',
  'lastRevision',
  'conversationRevision',
  'editionRevision',
  'seenRevision',
  'conversationHead',
  'head',
  'position',
  'upTo',
  'previous',
  'sequence',
  'windowStart',
  'adoptedAt',
  'endedAt',
  'originalTask',
  'compaction',
  'since',
  'waitFor',
  'from',
  'to',
  'expected',
  'actual',
])

/** The names of fields that have a list of revisions. */
export const REVISION_LISTS: ReadonlySet<string> = new Set(['leading', 'chunks', 'pinned', 'sourceRevisions'])

/** Fields with values of hosts and of models, whose numbers stay numbers. */
const FOREIGN_FIELDS: ReadonlySet<string> = new Set([
  'content',
  'toolCalls',
  'attributes',
  'extra',
  'arguments',
  'settings',
])

/** A value as JSON, with revisions and positions as decimal digits. */
export function toWire(value: unknown, indent = 0): string {
  const foreign = new WeakSet<object>()
  const replace = function (this: object, key: string, part: unknown): unknown {
    if (typeof part === 'number') return REVISION_FIELDS.has(key) && !foreign.has(this) ? String(part) : part
    if (typeof part !== 'object' || part === null) return part
    if (FOREIGN_FIELDS.has(key) || foreign.has(this)) foreign.add(part)
    else if (Array.isArray(part) && REVISION_LISTS.has(key))
      return part.map((item: unknown) => (typeof item === 'number' ? String(item) : item))
    return part
  }
  return JSON.stringify(value, replace, indent)
}
