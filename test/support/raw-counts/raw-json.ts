/** Reads JSON for the raw counters: without a schema, and without errors for unexpected values. */
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

export type Raw = Readonly<Record<string, unknown>>

export const rawOf = (value: unknown): Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}

export const listOf = (value: unknown): readonly Raw[] => (Array.isArray(value) ? value.map(rawOf) : [])

export const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const rawFile = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, 'utf8'))

/** The lines that are JSON. */
export async function rawLines(path: string): Promise<readonly Raw[]> {
  return (await readFile(path, 'utf8')).split('\n').flatMap((line) => {
    try {
      return [rawOf(JSON.parse(line))]
    } catch {
      return []
    }
  })
}

export const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true

/** The JSON files of a directory, sorted by name; empty if there is no directory. */
export async function rawFiles(folder: string): Promise<readonly Raw[]> {
  const names = await readdir(folder).catch(() => [])
  const files: Raw[] = []
  for (const name of names.filter((each) => each.endsWith('.json')).toSorted())
    files.push(rawOf(await rawFile(join(folder, name))))
  return files
}
