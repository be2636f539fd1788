/** The signature of a transcript's files, so that an unchanged transcript is recognized without being parsed. */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { sha256 } from '../../domain/values/hash.js'
import { codeOf } from '../../ports/store-error.js'
import type { FileSignature } from '../../ports/imported-files.js'
import type { Importer } from './transcript.js'

/**
 * Key of a file in the list of imported files. It begins with the host name, because several machines may import into one
 * ledger.
 */
export const fileKey = (path: string, scope?: string): string =>
  `${hostname()}:${resolve(path)}${scope === undefined ? '' : `#scope=${encodeURIComponent(scope)}`}`

/** The key of a conversation in a file that is imported into a scope. */
export const conversationKey = (path: string, id: string, scope?: string): string => `${fileKey(path, scope)}#${id}`

async function addTo(hash: Hash, chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of chunks) hash.update(chunk)
}

/** The files that exist now: a program may delete the log of its database between a look at the directory and here. */
async function existing(path: string, files: readonly string[]): Promise<{ path: string; stats: Stats }[]> {
  const found: { path: string; stats: Stats }[] = []
  for (const file of files) {
    const stats = await stat(file).catch((error: unknown) => {
      if (file !== path && codeOf(error) === 'ENOENT') return undefined
      throw error
    })
    if (stats !== undefined) found.push({ path: file, stats })
  }
  return found
}

async function contentsOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) await addTo(hash, createReadStream(file))
  return hash.digest('hex')
}

/** The signatures of a transcript. */
export interface TranscriptSignatures {
  readonly file: FileSignature
  /** By the id of the conversation, if the file is large and has many of them. */
  readonly conversations?: ReadonlyMap<string, FileSignature> | undefined
}

/**
 * The signatures of a transcript. If size and time equal those in `before`, the contents are not read.
 * @param digestOf the digest to store for a SHA-256
 */
export async function signaturesOf(
  path: string,
  importer: Importer,
  before: FileSignature | undefined,
  digestOf: (sha256: string) => string,
): Promise<TranscriptSignatures> {
  const files = await existing(path, (await importer.siblings?.(path)) ?? [path])
  const sizesNow = {
    bytes: files.reduce((sum, { stats }) => sum + stats.size, 0),
    modifiedAtMs: Math.max(0, ...files.map(({ stats }) => stats.mtimeMs)),
  }
  if (before?.bytes === sizesNow.bytes && before.modifiedAtMs === sizesNow.modifiedAtMs) return { file: before }
  const digests = importer.digests?.(path)
  if (digests === undefined)
    return { file: { ...sizesNow, sha256: digestOf(await contentsOf(files.map((file) => file.path))) } }
  const signature = (digest: string): FileSignature => ({ ...sizesNow, sha256: digestOf(digest) })
  return {
    file: signature(sha256(JSON.stringify([...digests]))),
    conversations: new Map([...digests].map(([id, digest]) => [id, signature(digest)])),
  }
}
