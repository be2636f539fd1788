/** Directories of this user on this machine. Only Node.js is imported, because hooks must start fast. */
import { join } from 'node:path'
import { dataFolder, homeOf, set, settingsFolder, userFolder, type Environment } from './platform.js'

/** The home directory of this user. */
export const homeFolder = (): string => homeOf(process.env)

/**
 * A directory of this program, outside of every ledger.
 * @param kind `data` must be kept, `state` can be made again
 */
export const ownFolder = (kind: 'data' | 'state', name: string): string =>
  join(userFolder(kind, process.env, homeFolder()), 'context-ledger', name)

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
  zed: (environment: Environment, home: string): string =>
    settingsFolder(environment, home, { name: 'zed', onWindows: 'Zed' }),
  pi: (environment: Environment, home: string): string =>
    set(environment['PI_CODING_AGENT_DIR']) ?? join(home, '.pi', 'agent'),
} as const
