/**
 * The files of a folder's lock that other processes read. `adapters/pglite/folder-lock.ts` writes them, and explains
 * them. Loaded before everything else by a command that looks for a resident reader, so it imports nothing heavy.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isPipe } from './platform.js'

/** The name of the lock's folder inside the ledger's folder. */
export const LOCK_NAME = 'lock'

export const LOCK_FILE = /^(\d{1,15})(?:\.free)?$/

/** The number of the newest lock; 0 if there is none. */
export async function highestLock(locks: string): Promise<number> {
  const names = await readdir(locks)
  return Math.max(0, ...names.map((name) => Number(LOCK_FILE.exec(name)?.[1] ?? 0)))
}

/** Whether the owner has released the lock. */
export async function isFree(locks: string, number: number): Promise<boolean> {
  return await stat(join(locks, `${String(number)}.free`)).then(
    () => true,
    () => false,
  )
}

/** Whether this user created the socket. Any user can create one of that name in the system's temporary folder. */
export const isSocketOf = async (address: string, uid: number): Promise<boolean> =>
  isPipe(address) ||
  (await stat(address).then(
    (found) => found.isSocket() && found.uid === uid,
    () => false,
  ))
