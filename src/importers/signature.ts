/** The signature of a transcript's files, so that an unchanged transcript is recognized without being parsed. */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { FileSignature } from '../ports/imported-files.js'

/** The key under which a file is stored: several machines may import into one ledger. */
export const fileKey = (path: string): string => `${hostname()}:${resolve(path)}`

async function addTo(hash: Hash, chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of chunks) hash.update(chunk)
}

async function sizes(files: readonly string[]): Promise<Pick<FileSignature, 'bytes' | 'modifiedAtMs'>> {
  let bytes = 0
  let modifiedAtMs = 0
  for (const file of files) {
    const { size, mtimeMs } = await stat(file)
    bytes += size
    modifiedAtMs = Math.max(modifiedAtMs, mtimeMs)
  }
  return { bytes, modifiedAtMs }
}

/**
 * The signature of the files of a transcript. If size and time equal those in `before`, the contents are not read.
 * @param digestOf the digest to store for a SHA-256
 */
export async function signatureOf(
  files: readonly string[],
  before: FileSignature | undefined,
  digestOf: (sha256: string) => string,
): Promise<FileSignature> {
  const { bytes, modifiedAtMs } = await sizes(files)
  if (before?.bytes === bytes && before.modifiedAtMs === modifiedAtMs) return before
  const hash = createHash('sha256')
  for (const file of files) await addTo(hash, createReadStream(file))
  return { bytes, modifiedAtMs, sha256: digestOf(hash.digest('hex')) }
}
