/**
 * The resident reader: a process that a reading command leaves, and that keeps the directory open for the next commands.
 * `library/resident-main.ts` is its program.
 */
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { isatty } from 'node:tty'
import { builtFile, packageVersion } from '../lib/package-root.js'
import { isFolder, type Config } from './config/load-config.js'

/**
 * The version of the resident readers that a command may use and leave; undefined if the settings, the store or the
 * environment exclude them.
 */
export function residentVersionFor({ resident, store }: Pick<Config, 'resident' | 'store'>): string | undefined {
  const isWanted = resident === 'always' || (resident === 'auto' && isOnTerminal() && (process.env['CI'] ?? '') === '')
  return isWanted && isFolder(store) ? packageVersion() : undefined
}

const isOnTerminal = (): boolean => isatty(1) || isatty(2)

/** Variables that the process needs. Others may contain keys, which a process that stays must not keep. */
const VARIABLES = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'NODE_COMPILE_CACHE']

/** Starts a resident reader if no process has the directory open. It is not waited for, and ends by itself. */
export async function leaveResident(store: string): Promise<void> {
  const { findOwner } = await import('../library/compose.js')
  const folder = resolve(store)
  if ((await findOwner(folder)) !== undefined) return
  const child = spawn(process.execPath, [builtFile('src', 'library', 'resident-main.js'), folder], {
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
    cwd: '/',
    env: Object.fromEntries(
      VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    ),
  })
  // Without a resident reader, the next command opens the directory itself.
  child.on('error', () => undefined)
  child.unref()
}
