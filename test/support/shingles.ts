/** Finds remains of a text in files: pieces of eight bytes, in UTF-8 and in UTF-16. */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { ErasedPieces, type FoundPiece } from './erased-pieces.js'

const BYTES = 8

const shinglesOf = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.max(0, bytes.length - BYTES + 1) }, (_none, at) => bytes.subarray(at, at + BYTES))

/** The first piece of the text in these bytes, as text; empty if there is none. */
export function shinglesIn(bytes: Buffer, text: string): string[] {
  const found = shinglesOf(Buffer.from(text, 'utf8')).find((shingle) => bytes.includes(shingle))
  return found === undefined ? [] : [found.toString('latin1')]
}

/** The first piece of the text in each file of a folder that has one. */
export async function shinglesInFiles(folder: string, text: string): Promise<FoundPiece[]> {
  const pieces = new ErasedPieces()
  pieces.add(text)
  const found: FoundPiece[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    found.push(...pieces.findIn(await readFile(file), relative(folder, file), () => false).slice(0, 1))
  }
  return found
}
