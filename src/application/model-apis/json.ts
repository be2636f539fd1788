/** Reads unvalidated JSON field by field: a missing value, or one of another type, is undefined. */
import { isRecord } from '../../lib/is-record.js'
import { exactJson, exactText } from '../../lib/json.js'

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {})
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'bigint'
    ? numberOf(Number(value))
    : typeof value === 'number' && Number.isFinite(value)
      ? value
      : undefined
export const indexOf = (value: unknown): number | undefined => {
  const index = numberOf(value)
  return index !== undefined && Number.isSafeInteger(index) && index >= 0 && index < 100_000 ? index : undefined
}

/** Parses JSON and keeps all digits of its numbers; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return exactJson(text)
  } catch {
    return undefined
  }
}

/** A value as JSON text. */
export const jsonText = (value: unknown): string => exactText(value) ?? 'null'

/** The fields of an object except these. */
export const withoutFields = (fields: Fields, names: ReadonlySet<string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)))
