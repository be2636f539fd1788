/**
 * Modes of all files that the ledger writes: only their owner can read and write them, whatever the umask is.
 * Windows has no modes.
 */
import { chmodSync, lstatSync, readdirSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { hasModes } from '../lib/platform.js'
import { codeOf } from './store-error.js'

/** Mode of a new file. */
export const PRIVATE_FILE = 0o600
/** Mode of a new directory. */
export const PRIVATE_FOLDER = 0o700
/** The bits of the group and of all other users. */
export const OTHER_USERS = 0o077

/** Removes the rights of other users. Returns 1 if it changed the mode, else 0. */
function restrict(path: string, { mode }: Pick<Stats, 'mode'>): number {
  if ((mode & OTHER_USERS) === 0) return 0
  try {
    chmodSync(path, mode & 0o7777 & ~OTHER_USERS)
    return 1
  } catch (error) {
    // Another user owns it, the file system has no modes, or the file was deleted meanwhile.
    if (['EPERM', 'ENOTSUP', 'ENOSYS', 'ENOENT', 'EROFS', 'EACCES'].includes(codeOf(error) ?? '')) return 0
    throw error
  }
}

function restrictBelow(folder: string): number {
  let changed = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    // A link has no rights of its own, and may point outside of the directory.
    const stats = entry.isSymbolicLink() ? undefined : lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) continue
    changed += restrict(path, stats)
    if (stats.isDirectory()) changed += restrictBelow(path)
  }
  return changed
}

/**
 * Removes the rights of other users to a directory and everything in it. A new ledger has about 450 files, which takes
 * a few milliseconds to check.
 * @returns the number of files and directories that were changed
 */
export function restrictFolder(folder: string): number {
  return hasModes() ? restrict(folder, statSync(folder)) + restrictBelow(folder) : 0
}

/** Like `restrictFolder` for one file. Returns whether it was changed. */
export function restrictFile(file: string): boolean {
  const stats = hasModes() ? statSync(file, { throwIfNoEntry: false }) : undefined
  return stats !== undefined && restrict(file, stats) > 0
}
