/** The form of a program that `install` knows: its settings files, and the additions to them. */
import type { Addition } from './installation.js'

/**
 * How a hook runs. `background`: the agent does not wait for it, and gets no answer. `waits`: the agent waits for the
 * answer. `guarded`: like `waits`, but Node.js starts only while a note is being made or waits.
 */
export type HookMode = 'background' | 'waits' | 'guarded'

/** The commands that settings name. */
export interface InstalledCommands {
  /** A shell command for a hook. */
  readonly hook: (agent: string, mode: HookMode) => string
  /** The command of the MCP server, with its arguments. */
  readonly mcp: readonly [string, ...string[]]
  /** The command of a hook without a shell; the name of the program follows. */
  readonly hookWords: readonly [string, ...string[]]
  /** The private directory of hooks. */
  readonly folder: string
}

/** A program that runs agents. */
export interface AgentProgram {
  /** As in `--agent`, and as the importer is named. */
  readonly name: string
  /** The directory of its settings. If it exists, the program is used on this machine. */
  folder(environment: Readonly<Record<string, string | undefined>>, home: string): string
  additions(folder: string, commands: InstalledCommands, home: string): readonly Addition[]
  /** A step for the user after the installation. */
  readonly afterwards?: string
}

/** A hook of the programs that have Claude Code's form of settings. */
export function hookAddition(
  file: string,
  event: string,
  hook: Readonly<Record<string, unknown>>,
  options: { readonly matcher?: string; readonly isStrict: boolean },
): Addition {
  const { matcher, isStrict } = options
  return {
    kind: 'json',
    file,
    isStrict,
    path: ['hooks', event],
    value: { ...(matcher === undefined ? {} : { matcher }), hooks: [{ type: 'command', ...hook }] },
    isItem: true,
  }
}

/** How long an agent waits for a hook at most. The hook itself ends within 0.3 seconds. */
export const HOOK_TIMEOUT_SECONDS = 5

/** The name of the MCP server in all settings. */
export const MCP_NAME = 'context-ledger'
