/** The limit of open files of a process, and the part of it for the engine. */
import { readFileSync } from 'node:fs'
import { storeError } from '../../ports/store-error.js'

/** Files that this process opens itself: modules during loading, sockets, a transcript. */
const OTHER_FILES = 128
/** The minimum of Postgres, and its default. */
const ENGINE_FILES = { min: 64, max: 1_000 }

/** The limit of this process; infinite where it is not known. */
function limitOfProcess(): number {
  try {
    const [, soft = ''] = /^Max open files\s+(\d+)/mu.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === '' ? Infinity : Number(soft)
  } catch {
    // Only Linux has this file.
    return Infinity
  }
}

/**
 * The number of files that the engine may have open at a time. The engine opens as many as its setting allows, and
 * reports a refusal of the system as a damaged file.
 * @throws LedgerError if the limit of this process is too low for the engine
 */
export function filesOfEngine(folder: string, limit: number = limitOfProcess()): number {
  const files = Math.min(limit - OTHER_FILES, ENGINE_FILES.max)
  if (files >= ENGINE_FILES.min) return files
  const needed = String(OTHER_FILES + ENGINE_FILES.min)
  throw storeError(
    'FolderUnusable',
    `${folder} cannot be opened: this process may have ${String(limit)} files open at a time, and the embedded database needs ${needed}. Raise the limit (\`ulimit -n 1024\`)`,
  )
}
