/** Finds remains of a text in files: pieces of eight bytes, in UTF-8 and in UTF-16. */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

const BYTES = 8

const shinglesOf = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.max(0, bytes.length - BYTES + 1) }, (_none, at) => bytes.subarray(at, at + BYTES))

/** A piece of the text in a file. */
export interface Remain {
  readonly file: string
  readonly at: number
  readonly piece: string
}

/** The first piece of the text in these bytes, as text; empty if there is none. */
export function shinglesIn(bytes: Buffer, text: string): string[] {
  const found = shinglesOf(Buffer.from(text, 'utf8')).find((shingle) => bytes.includes(shingle))
  return found === undefined ? [] : [found.toString('latin1')]
}

/** The first piece of the text in each file of a folder that has one. */
export async function shinglesInFiles(folder: string, text: string): Promise<Remain[]> {
  const shingles = [...shinglesOf(Buffer.from(text, 'utf8')), ...shinglesOf(Buffer.from(text, 'utf16le'))]
  const found: Remain[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const content = await readFile(file)
    for (const shingle of shingles) {
      const at = content.indexOf(shingle)
      if (at === -1) continue
      found.push({ file: relative(folder, file), at, piece: content.toString('latin1', at - 20, at + 60) })
      break
    }
  }
  return found
}
