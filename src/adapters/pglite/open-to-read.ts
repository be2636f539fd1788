/** Opens a folder for reading. The engine is loaded only if no other process has the folder open. */
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { buildId } from '../../lib/package-root.js'
import type { Database } from '../../ports/sql.js'
import { isStoreError, storeError } from '../../ports/store-error.js'
import { findOwner, type FolderOwner } from './folder-lock.js'
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
  let wait: Wait | undefined
  for (;;) {
    const reader = await connectToOwner(folder, options.alone === true)
    if (reader !== undefined) return reader
    try {
      const { openFolder } = await import('./sql.js')
      return { db: await openFolder(folder, options), ownerName: undefined }
    } catch (error) {
      if (!(isStoreError(error) && error.kind === 'FolderLocked')) throw error
      wait = waitFor(await findOwner(folder), wait)
      if (performance.now() >= wait.until)
        throw wait.isOpening
          ? storeError(
              'StoreUnavailable',
              `${error.message}. That process has not finished opening it: try again later`,
              error,
            )
          : storeError(
              'FolderLocked',
              `${error.message}. Readers connect to that process, but it does not answer`,
              error,
            )
      await delay(RETRY_MS)
    }
  }
}

/** The owner that a reader waits for, and until when. */
interface Wait {
  readonly pid: number | undefined
  readonly isOpening: boolean
  readonly until: number
}

/** A new owner, and one that has just finished opening the folder, get their time from now on. */
function waitFor(owner: FolderOwner | undefined, wait: Wait | undefined): Wait {
  // An owner has a socket after it has opened the folder.
  const isOpening = owner?.socket === undefined
  if (wait?.pid === owner?.pid && wait?.isOpening === isOpening) return wait
  return { pid: owner?.pid, isOpening, until: performance.now() + (isOpening ? OPENING_MS : ANSWER_MS) }
}

/** How long an owner may take to open the folder. Several processes may begin together, on a busy machine. */
const OPENING_MS = 30_000
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
