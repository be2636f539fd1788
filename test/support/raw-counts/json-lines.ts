/** The lines of a file that are JSON objects, for those who count what is in it. */
import { readFile } from 'node:fs/promises'

export type Json = Readonly<Record<string, unknown>>

/** A value as an object; one without fields where it is none. */
export const objectOf = (value: unknown): Json =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every field of it is unknown
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** A text; undefined where it is none, or empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Lines that are no JSON, or no object, are left out. */
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
