/** Directories of this user on this machine. Only Node.js is imported, because hooks must start fast. */
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Environment variables. An empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>

const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

/** The home directory of this user. */
export const homeFolder = (): string => set(process.env['HOME']) ?? homedir()

/**
 * A directory of this program, outside of every ledger.
 * @param kind `data` must be kept, `state` can be made again
 */
export function ownFolder(kind: 'data' | 'state', name: string): string {
  const { env, platform } = process
  const base =
    platform === 'win32'
      ? (set(env['LOCALAPPDATA']) ?? join(homeFolder(), 'AppData', 'Local'))
      : platform === 'darwin'
        ? join(homeFolder(), 'Library', 'Application Support')
        : kind === 'data'
          ? dataFolder(env, homeFolder())
          : (set(env['XDG_STATE_HOME']) ?? join(homeFolder(), '.local', 'state'))
  return join(base, 'context-ledger', name)
}

/** The directory in which programs keep their data, by the XDG specification. */
export const dataFolder = (environment: Environment, home: string): string =>
  set(environment['XDG_DATA_HOME']) ?? join(home, '.local', 'share')

/** Directories of coding agents, with the variables that they document. */
export const agentFolders = {
  claudeCode: (environment: Environment, home: string): string =>
    set(environment['CLAUDE_CONFIG_DIR']) ?? join(home, '.claude'),
  codex: (environment: Environment, home: string): string => set(environment['CODEX_HOME']) ?? join(home, '.codex'),
  gemini: (environment: Environment, home: string): string =>
    join(set(environment['GEMINI_CLI_HOME']) ?? home, '.gemini'),
  /** Its sessions. */
  opencode: (environment: Environment, home: string): string => join(dataFolder(environment, home), 'opencode'),
  opencodeSettings: (environment: Environment, home: string): string =>
    join(set(environment['XDG_CONFIG_HOME']) ?? join(home, '.config'), 'opencode'),
  opencodeState: (environment: Environment, home: string): string =>
    join(set(environment['XDG_STATE_HOME']) ?? join(home, '.local', 'state'), 'opencode'),
  pi: (environment: Environment, home: string): string =>
    set(environment['PI_CODING_AGENT_DIR']) ?? join(home, '.pi', 'agent'),
} as const
