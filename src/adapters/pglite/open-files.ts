/** How many files a process may have open, and how many of them the engine may use. */
import { readFileSync } from 'node:fs'
import { storeError } from '../../ports/store-error.js'

/** Files of this process beside those of the engine: modules that are being loaded, sockets, a transcript. */
const OTHER_FILES = 128
/** The fewest that Postgres accepts, and what it takes by default. */
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
 * The files that the engine may have open at a time. It opens as many as its setting allows, and takes a refusal of the
 * system for a damaged file.
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
