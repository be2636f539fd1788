/** The limit of open files of a process, and the part of it for the engine. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { storeError } from '../../ports/store-error.js'

/** Files that this process opens itself: modules during loading, sockets, a transcript. */
const OTHER_FILES = 128
/** The minimum of Postgres, and its default. */
const ENGINE_FILES = { min: 64, max: 1_000 }

/** A report of a process, as far as it is read here. Windows has no such limits. */
const reportSchema = z.object({ userLimits: z.object({ open_files: z.object({ soft: z.number() }) }) })

/** The limit of this process; infinite if there is none, or if the system does not show it. */
function limitOfProcess(): number {
  try {
    // Linux has a file, which is quicker than a report.
    const [, soft = ''] = /^Max open files\s+(\d+)/mu.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === '' ? Infinity : Number(soft)
  } catch {
    // Without the addresses of the network: a report looks up their names.
    Object.assign(process.report, { excludeNetwork: true })
    return limitInReport(process.report.getReport())
  }
}

/** The limit of open files in a report of a process. */
export const limitInReport = (report: unknown): number =>
  reportSchema.safeParse(report).data?.userLimits.open_files.soft ?? Infinity

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
