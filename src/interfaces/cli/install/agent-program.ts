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
  /** The guard; undefined if it is not installed. */
  readonly guard?: InstalledGuard | undefined
  /**
   * The command that makes summaries for the program, without a shell, for the name of a program. Undefined if the program
   * makes them itself.
   */
  readonly compactor?: ((agent: string) => readonly [string, ...string[]]) | undefined
  /** The entry of an agent for an editor: its name, and the command that records it. */
  readonly acp?: { readonly name: string; readonly words: readonly [string, ...string[]] } | undefined
}

/** The commands of the guard, each for the name of a program. */
export interface InstalledGuard {
  /** A shell command. */
  readonly hook: (agent: string) => string
  /** The same without a shell. */
  readonly words: (agent: string) => readonly [string, ...string[]]
  /** Whether it has rules of a file, so that it runs even if no conversation has a confirmed rule. */
  readonly hasRuleFile: boolean
}

/** A plugin that was loaded, for one session. */
export interface LoadedPlugin {
  /** Reports that the session was compacted. */
  readonly reportCompaction: () => unknown
  /** Sends a prompt of the user. Returns the text that the plugin adds to it. */
  readonly prompt: () => Promise<string | undefined>
  /** Begins a compaction. Returns the summary that the plugin makes for it. */
  readonly compact: () => Promise<string | undefined>
  /** Begins a call of the shell. Returns why the plugin does not let it run. */
  readonly run: (command: string) => Promise<string | undefined>
}

/** A program that runs agents. */
export interface AgentProgram {
  /** As in `--agent`, and as the importer is named. */
  readonly name: string
  /** For people, if it is not the title of the importer. */
  readonly title?: string
  /** An editor, which runs agents of others. It is installed only by name, with `--acp`. */
  readonly isEditor?: true
  /** The directory of its settings. If it exists, the program is used on this machine. */
  folder(environment: Readonly<Record<string, string | undefined>>, home: string): string
  additions(folder: string, commands: InstalledCommands, home: string): readonly Addition[]
  /** The program and its first arguments with which it starts the command of a hook. */
  readonly shell?: () => readonly [string, ...string[]]
  /** Loads what the file of a plugin exports, for one session. Undefined if it has another form. */
  readonly loadPlugin?: (exports: unknown, sessionId: string) => Promise<LoadedPlugin | undefined>
  /** Whether a plugin can make the summaries of the program. */
  readonly compacts?: true
  /** Why the program does not run hooks that work. */
  readonly obstacle?: (additions: readonly Addition[]) => string | undefined
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

/** The hook of the guard in Claude Code's form of settings; none if the guard is not installed. */
export const guardAddition = (file: string, event: string, command: string | undefined): readonly Addition[] =>
  command === undefined
    ? []
    : [hookAddition(file, event, { command, timeout: HOOK_TIMEOUT_SECONDS }, { isStrict: true })]

/**
 * How long an agent waits for a hook at most. The hook itself ends within 0.3 seconds, but on a loaded machine its
 * process may need seconds to start, and an agent that ends it never gets its note.
 */
export const HOOK_TIMEOUT_SECONDS = 15

/** The name of the MCP server in all settings. */
export const MCP_NAME = 'context-ledger'
