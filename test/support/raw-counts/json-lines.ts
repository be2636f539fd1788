/** Reads the lines of a file that are JSON objects, for the raw counters. */
import { readFile } from 'node:fs/promises'

export type Json = Readonly<Record<string, unknown>>

/** A value as an object; an empty object if it is not one. */
export const objectOf = (value: unknown): Json =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every field of it is unknown
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** A non-empty string; otherwise undefined. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Skips lines that are not JSON objects. */
export async function jsonLines(path: string): Promise<readonly Json[]> {
  const text = await readFile(path, 'utf8')
  return text.split('\n').flatMap((line): Json[] => {
    try {
      const value: unknown = JSON.parse(line)
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? [objectOf(value)] : []
    } catch {
      return []
    }
  })
}
