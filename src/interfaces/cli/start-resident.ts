/** Starts the resident reader of a directory after a command in a terminal. */
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { isFolder, type Config } from './config/load-config.js'
import { builtFile } from '../../lib/package-root.js'
import { ownerOf } from '../../library/resident.js'

/** Whether a command of this terminal leaves a resident reader. */
const isWanted = ({ store, resident }: Pick<Config, 'store' | 'resident'>): boolean =>
  resident !== 'off' &&
  isFolder(store) &&
  (process.env['CI'] ?? '') === '' &&
  process.stdin.isTTY &&
  process.stdout.isTTY

/** Starts it, unless a process has the directory open. */
export async function startResident(config: Pick<Config, 'store' | 'resident'>): Promise<void> {
  if (!isWanted(config) || (await ownerOf(config.store)) !== undefined) return
  const child = spawn(
    process.execPath,
    [builtFile('src', 'interfaces', 'cli', 'resident-main.js'), resolve(config.store)],
    {
      detached: true,
      stdio: 'ignore',
    },
  )
  // Without it, commands take longer.
  child.on('error', () => undefined)
  child.unref()
}
