/** Opens a folder for reading. The engine is loaded only if no other process has the folder open. */
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { buildId } from '../../lib/package-root.js'
import type { Database } from '../../ports/sql.js'
import { isStoreError, storeError } from '../../ports/store-error.js'
import { findOwner } from './folder-lock.js'
import { refuseForeign } from './marker.js'
import { readThroughOwner } from './read-through-owner.js'
import type { OpenOptions } from './sql.js'

/**
 * The database of a folder that another process may have open. In that case all reads go through that process, and
 * writes are rejected.
 */
export interface FolderToRead {
  readonly db: Database
  /** The process that has the folder open; undefined if it is this one. */
  readonly ownerName: string | undefined
}

/**
 * Opens the ledger in a folder for reading: through the process that has it open or, if no process has, like
 * `openFolder`. Throws `FolderLocked` if the owner does not answer (it is suspended, or runs an earlier version).
 */
export async function openFolderToRead(path: string, options: OpenOptions = {}): Promise<FolderToRead> {
  const folder = resolve(path)
  await refuseForeign(folder)
  const from = performance.now()
  for (;;) {
    const reader = await connectToOwner(folder, options.alone === true)
    if (reader !== undefined) return reader
    try {
      const { openFolder } = await import('./sql.js')
      return { db: await openFolder(folder, options), ownerName: undefined }
    } catch (error) {
      if (!(isStoreError(error) && error.kind === 'FolderLocked')) throw error
      // The owner may still be opening the folder; it has a socket only after that.
      const isOpening = (await findOwner(folder))?.socket === undefined
      if (performance.now() >= from + (isOpening ? OPENING_MS : ANSWER_MS))
        throw storeError(
          'FolderLocked',
          `${error.message}. Readers connect to that process, but it does not answer`,
          error,
        )
      await delay(RETRY_MS)
    }
  }
}

/** How long an owner may take to open the folder. */
const OPENING_MS = 10_000
/** How long an owner with a socket may take to answer. */
const ANSWER_MS = 2_000
const RETRY_MS = 100

async function connectToOwner(folder: string, alone: boolean): Promise<FolderToRead | undefined> {
  const owner = await findOwner(folder)
  // A resident reader of another build is replaced by opening the folder.
  if (owner?.resident !== undefined && (alone || owner.resident !== buildId())) return undefined
  if (owner === undefined) return undefined
  const db = await readThroughOwner(folder, owner)
  return db === undefined ? undefined : { db, ownerName: owner.name }
}
