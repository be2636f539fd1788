/** The directory that a resident reader may have open: for `status` and `stop`, which do not open the ledger. */
import { resolve } from 'node:path'
import { isFolder, loadConfig, type Config } from './config/load-config.js'
import type { Flags } from './flags.js'

/** No directory is returned if the store is a server or a service. */
export async function residentFolder(
  flags: Flags,
): Promise<{ readonly folder: string | undefined; readonly config: Config }> {
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  return { folder: isFolder(config.store) ? resolve(config.store) : undefined, config }
}
