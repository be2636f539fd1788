/**
 * The rules in which operating systems differ, each as a function of the platform: tests on one system check the rules
 * of all. No other module reads `process.platform`. Only Node.js is imported, because hooks must start fast.
 */
import { homedir } from 'node:os'
import { posix, win32, type PlatformPath } from 'node:path'

type Platform = NodeJS.Platform

/** Environment variables. An empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The platform of this process. */
export const here = process.platform

/** The value of a variable; undefined if it is empty. */
export const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

/** Paths in the form of a platform. */
const pathsOf = (platform: Platform): PlatformPath => (platform === 'win32' ? win32 : posix)

/**
 * The home directory of the user. On Windows, programs use the profile of the user; `HOME` there is a variable of Git
 * Bash only, which the programs do not read.
 */
export const homeOf = (environment: Environment, platform: Platform = here, known: () => string = homedir): string =>
  set(environment[platform === 'win32' ? 'USERPROFILE' : 'HOME']) ?? known()

/** The directory in which programs keep their data, by the XDG specification. */
export const dataFolder = (environment: Environment, home: string, platform: Platform = here): string =>
  set(environment['XDG_DATA_HOME']) ?? pathsOf(platform).join(home, '.local', 'share')

/**
 * The directory of the user in which this program has its own.
 * @param kind `data` must be kept, `state` can be made again; only XDG distinguishes them
 */
export function userFolder(
  kind: 'data' | 'state',
  environment: Environment,
  home: string,
  platform: Platform = here,
): string {
  const paths = pathsOf(platform)
  // Not the roaming directory: a server copies that one to other machines.
  if (platform === 'win32') return set(environment['LOCALAPPDATA']) ?? paths.join(home, 'AppData', 'Local')
  if (platform === 'darwin') return paths.join(home, 'Library', 'Application Support')
  if (kind === 'data') return dataFolder(environment, home, platform)
  return set(environment['XDG_STATE_HOME']) ?? paths.join(home, '.local', 'state')
}

/**
 * The directory in which a program has its settings, by the XDG specification.
 * @param onWindows its name there, in the roaming directory
 */
export const settingsFolder = (
  environment: Environment,
  home: string,
  { name, onWindows }: { readonly name: string; readonly onWindows: string },
  platform: Platform = here,
): string => {
  const paths = pathsOf(platform)
  return platform === 'win32'
    ? paths.join(set(environment['APPDATA']) ?? paths.join(home, 'AppData', 'Roaming'), onWindows)
    : paths.join(set(environment['XDG_CONFIG_HOME']) ?? paths.join(home, '.config'), name)
}

/** Whether files have the modes of POSIX. On Windows, the access rights of the parent directory apply. */
export const hasModes = (platform: Platform = here): boolean => platform !== 'win32'

/** Whether a directory can be opened, to sync it. On Windows, a rename is durable with the journal. */
export const canSyncFolders = (platform: Platform = here): boolean => platform !== 'win32'

/** Whether a process can be in a container with process ids of its own, and the system names the boot and the container. */
export const hasPidNamespaces = (platform: Platform = here): boolean => platform === 'linux'

/** Below the systems' limits for the path of a socket: 108 bytes on Linux, 104 on macOS. */
const LONGEST_SOCKET_BYTES = 100

/** Whether a socket is a file, which has a mode and stays after its process. A named pipe of Windows is neither. */
export const hasSocketFiles = (platform: Platform = here): boolean => platform !== 'win32'

/** Whether an address is a named pipe of Windows. */
export const isPipe = (address: string): boolean => address.startsWith(PIPE)

const PIPE = '\\\\.\\pipe\\'

/**
 * The address of a socket: the first of these files with a short enough path, or else the last. Windows has named
 * pipes.
 * @param name unique on this machine
 */
export const socketAddress = (name: string, files: readonly string[], platform: Platform = here): string =>
  hasSocketFiles(platform)
    ? (files.find((file) => Buffer.byteLength(file) <= LONGEST_SOCKET_BYTES) ?? files.at(-1) ?? name)
    : `${PIPE}${name}`

/** A path with a drive letter or a server, as recorded on Windows. Transcripts can come from another machine. */
const WINDOWS_PATH = /^(?:[a-z]:[\\/]|[\\/]{2})/iu

/** A form of a path in which two names of one directory are equal as texts. Windows ignores case, also of its drives. */
const comparable = (path: string): string =>
  (WINDOWS_PATH.test(path) ? path.replaceAll('\\', '/').toLowerCase() : path).replace(/\/+$/u, '')

/** Whether a recorded path is a directory, or in it. Both are absolute; the directories need not exist. */
export const isInFolder = (path: string, folder: string): boolean =>
  comparable(path) === comparable(folder) || comparable(path).startsWith(`${comparable(folder)}/`)

/** A path of this machine, such that two names of one file are equal as texts. Windows and macOS ignore case. */
export const withoutCase = (path: string, platform: Platform = here): string =>
  platform === 'win32' || platform === 'darwin' ? path.toLowerCase() : path

/**
 * Whether a path of this machine is a directory, or inside it. Both are absolute and as `realpath` returns them: without
 * links, in the case of the disk. Names on Windows are compared without case.
 */
export function isBelow(path: string, folder: string, platform: Platform = here): boolean {
  const paths = pathsOf(platform)
  const inside = paths.relative(folder, path)
  // From one drive of Windows to another, a relative path is absolute.
  return inside !== '..' && !inside.startsWith(`..${paths.sep}`) && !paths.isAbsolute(inside)
}

/** Quotes a word for a shell of POSIX. */
export const posixWord = (word: string): string =>
  /^[\w./:@%+=-]+$/u.test(word) && !word.startsWith('-') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

/**
 * Quotes a word for the shells of a platform, so that a suggested command can be copied. Double quotes work in cmd.exe
 * and PowerShell. There, single quotes are part of a word or end at another place.
 */
export function shellWord(word: string, platform: Platform = here): string {
  if (platform !== 'win32') return posixWord(word)
  return /^[\w./:@+=\\-]+$/u.test(word) && !word.startsWith('-') ? word : `"${word.replaceAll('"', String.raw`\"`)}"`
}

/** Whether programs start the commands of hooks with a shell of POSIX. */
export const hasPosixShell = (platform: Platform = here): boolean => platform !== 'win32'

/** A command of these words for the shell with which programs start hooks. On Windows, each is in double quotes. */
export const commandWords = (words: readonly string[], platform: Platform = here): string =>
  words.map((word) => (hasPosixShell(platform) ? posixWord(word) : `"${word}"`)).join(' ')

/** A command that copies a directory with everything in it, for people. */
export const copyCommand = (from: string, to: string, platform: Platform = here): string =>
  `${platform === 'win32' ? 'robocopy /E' : 'cp -a'} ${shellWord(from, platform)} ${shellWord(to, platform)}`

/** The words that start a shell with a command. On Windows, every program starts the shell of the system. */
export const shellWith = (
  shell: () => string | null,
  environment: Environment,
  platform: Platform = here,
): readonly [string, ...string[]] =>
  !hasPosixShell(platform)
    ? [set(environment['ComSpec']) ?? 'cmd.exe', '/d', '/s', '/c']
    : [set(shell() ?? undefined) ?? '/bin/sh', '-c']

/**
 * Signals that ask a process to end. Windows sends SIGBREAK for Ctrl-Break, and no SIGTERM from other processes, but
 * a process can send it to itself.
 */
export const endSignals = (platform: Platform = here): readonly NodeJS.Signals[] =>
  platform === 'win32' ? ['SIGINT', 'SIGTERM', 'SIGBREAK'] : ['SIGINT', 'SIGTERM']

/** With the signal of a closed terminal, for a process that has none. */
export const hangUpSignals = (platform: Platform = here): readonly NodeJS.Signals[] => [
  ...endSignals(platform),
  'SIGHUP',
]

/** Calls a listener at each signal that asks this process to end. Returns the function that removes the listener. */
export function onEndSignal(listener: () => void, signals: readonly NodeJS.Signals[] = endSignals()): () => void {
  for (const signal of signals) process.on(signal, listener)
  return () => {
    for (const signal of signals) process.off(signal, listener)
  }
}

/** The line break of a text: an added line gets the same one. */
export const lineBreakOf = (text: string): '\n' | '\r\n' => (text.includes('\r\n') ? '\r\n' : '\n')
