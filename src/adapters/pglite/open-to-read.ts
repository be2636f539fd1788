/** Opens a folder for reading. The engine is loaded only if no other process has the folder open. */
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../ports/sql.js'
import { isStoreError, storeError } from '../../ports/store-error.js'
import { findOwner } from './folder-lock.js'
import { refuseForeign } from './marker.js'
import { readThroughOwner } from './read-through-owner.js'
import { createResidentReader } from './read-through-resident.js'
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

export interface ReadOptions extends OpenOptions {
  /** Reads through a resident reader of this version. Any other resident reader is ended. */
  readonly throughResident?: string
}

/**
 * Opens the ledger in a folder for reading: through the process that has it open or, if no process has, like
 * `openFolder`. Throws `FolderLocked` if the owner does not answer (it is suspended, or runs an earlier version).
 */
export async function openFolderToRead(path: string, options: ReadOptions = {}): Promise<FolderToRead> {
  const folder = resolve(path)
  await refuseForeign(folder)
  return await openWithin(OPENING_MS, folder, options)
}

async function openWithin(ms: number, folder: string, options: ReadOptions): Promise<FolderToRead> {
  const until = performance.now() + ms
  for (;;) {
    const reader = await connectToOwner(folder, options)
    if (reader !== undefined) return reader
    const isLate = performance.now() >= until
    try {
      const { openFolder } = await import('./sql.js')
      // A resident reader that may serve this process has time to open the folder. After that it hangs.
      const keepsResident = !isLate && (await findOwner(folder))?.resident === options.throughResident
      return { db: await openFolder(folder, { ...options, keepsResident }), ownerName: undefined }
    } catch (error) {
      if (!(isStoreError(error) && error.kind === 'FolderLocked')) throw error
      // The owner may still be opening the folder; it serves readers only after that.
      if (isLate)
        throw storeError(
          'FolderLocked',
          `${error.message}. Readers connect to that process, but it does not answer`,
          error,
        )
      await delay(RETRY_MS)
    }
  }
}

const OPENING_MS = 2_000
/** A writer that took the folder from a resident reader may be slow to open it. */
const REOPENING_MS = 10_000
const RETRY_MS = 100

async function connectToOwner(folder: string, options: ReadOptions): Promise<FolderToRead | undefined> {
  const owner = await findOwner(folder)
  if (owner === undefined) return undefined
  if (owner.resident === undefined) {
    const db = await readThroughOwner(folder, owner)
    return db === undefined ? undefined : { db, ownerName: owner.name }
  }
  if (owner.resident !== options.throughResident) return undefined
  const db = await readThroughOwner(folder, owner, RESIDENT_ANSWER_MS)
  if (db === undefined) return undefined
  const reopen = async (): Promise<Database> => (await openWithin(REOPENING_MS, folder, options)).db
  return { db: createResidentReader(db, reopen), ownerName: owner.name }
}

/** Time limit for an answer of a resident reader, which does no work of its own. */
const RESIDENT_ANSWER_MS = 15_000
