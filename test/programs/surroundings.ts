/** Surroundings in which hooks run: shells, a slow machine, and a ledger or files that cannot be used. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism, userInfo } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { lockFolder } from '../../src/adapters/pglite/folder-lock.js'
import { CONTEXT_LEDGER, type Trial } from './trial.js'

/** Ends what was begun. */
type End = () => unknown

/** Surroundings of a session with compactions. */
export interface Surroundings {
  readonly name: string
  readonly compactions: number
  /** Milliseconds that the model takes for each answer. */
  readonly answerMs?: number
  /** Why this machine cannot have them. */
  readonly obstacle?: () => string | undefined
  /** Called before the session. */
  readonly prepare?: (trial: Trial) => Promise<End>
  /** Begins a trouble before the last compaction. It ends after the turn, and the user then waits for the note. */
  readonly trouble?: (trial: Trial) => Promise<End>
  /** The last compaction gets no note. */
  readonly isWithoutNote?: true
}

/** A new ledger needs 25 MB, and room for its write-ahead log. */
const DISK_MB = 160

const succeeds = (file: string, ...words: readonly string[]): boolean => spawnSync(file, words).status === 0

const mountObstacle = (): string | undefined =>
  succeeds('unshare', '--mount', 'true') ? undefined : 'this user may not mount anything here'

const fileOf = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))

/** Starts a program in a mount namespace of its own, in which `/bin/sh` is this shell, and the login shell of the user. */
async function shellPrefix(trial: Trial, shell: string): Promise<readonly string[]> {
  const { username } = userInfo()
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n')
  const changed = users.map((line) => (line.startsWith(`${username}:`) ? line.replace(/[^:]*$/u, '/bin/sh') : line))
  const passwd = join(trial.root, 'passwd')
  await writeFile(passwd, changed.join('\n'))
  const [file, system] = [realpathSync(fileOf(shell) ?? ''), realpathSync('/bin/sh')]
  const mounts = [`mount --bind ${passwd} /etc/passwd`, ...(system === file ? [] : [`mount --bind ${file} ${system}`])]
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', `${mounts.join(' && ')} && exec "$@"`, 'sh']
}

/** A shell as the one of the system and of the user. */
export const withShell = (shell: string, compactions: number): Surroundings => ({
  name: shell,
  compactions,
  obstacle: () => (fileOf(shell) === undefined ? `this machine has no ${shell}` : mountObstacle()),
  async prepare(trial) {
    trial.prefix = await shellPrefix(trial, shell)
    return () => {
      trial.prefix = []
    }
  },
})

const fastModel: Surroundings = { name: 'a model of 10 ms', compactions: 3, answerMs: 10 }

const loadedMachine: Surroundings = {
  name: 'a loaded machine',
  compactions: 2,
  async prepare() {
    const busy = Array.from({ length: 2 * availableParallelism() }, () =>
      spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
    )
    return () => {
      for (const each of busy) each.kill('SIGKILL')
    }
  },
}

const missingLedger: Surroundings = {
  name: 'the ledger removed',
  compactions: 2,
  async trouble({ store }) {
    await rm(store, { recursive: true, maxRetries: 5 })
    return () => undefined
  },
}

const lockedLedger: Surroundings = {
  name: 'the ledger locked',
  compactions: 2,
  async trouble({ store }) {
    const lock = await lockFolder(store)
    return async () => {
      await lock.release()
    }
  },
}

const fullDisk: Surroundings = {
  name: 'the disk full',
  compactions: 2,
  obstacle: mountObstacle,
  async prepare({ store }) {
    await mkdir(store, { recursive: true })
    if (!succeeds('mount', '-t', 'tmpfs', '-o', `size=${String(DISK_MB)}m`, 'tmpfs', store))
      throw new Error('the small disk cannot be mounted')
    return () => {
      succeeds('umount', '--lazy', store)
    }
  },
  async trouble({ store }) {
    const file = join(store, 'filling')
    succeeds('sh', '-c', `cat /dev/zero > '${file}'`)
    return async () => {
      await rm(file)
    }
  },
}

/** A copy of this package, so that it can be removed as npm does. */
const packageCopy = ({ root }: Trial): string => join(root, 'package')

const missingFiles: Surroundings = {
  name: 'the files of the hooks removed',
  compactions: 2,
  isWithoutNote: true,
  async prepare(trial) {
    const [from, to] = [join(dirname(CONTEXT_LEDGER), '..', '..', '..'), packageCopy(trial)]
    await mkdir(to)
    await Promise.all(
      ['dist', 'package.json'].map(async (name) => {
        await cp(join(from, name), join(to, name), { recursive: true })
      }),
    )
    await symlink(join(from, 'node_modules'), join(to, 'node_modules'))
    trial.commandLine = join(to, relative(from, CONTEXT_LEDGER))
    await trial.ledger('install', '--agent', trial.agent.name, '--yes')
    return async () => {
      trial.commandLine = CONTEXT_LEDGER
      await trial.ledger('install', '--agent', trial.agent.name, '--yes')
    }
  },
  async trouble(trial) {
    await rm(packageCopy(trial), { recursive: true })
    return () => undefined
  },
}

/** Surroundings that only a whole run has. */
export const TROUBLES: readonly Surroundings[] = [
  fastModel,
  withShell('bash', 2),
  loadedMachine,
  missingLedger,
  lockedLedger,
  fullDisk,
  missingFiles,
]
