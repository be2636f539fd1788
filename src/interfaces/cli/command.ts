/**
 * The type of a command, and the flags that several commands share. `--help` loads this file and all commands, so their
 * top-level imports must be light. `run` imports heavy modules itself.
 */
import type { Options, PositionalOptions } from 'yargs'
import type { WaitOptions } from '../../library/ledger.js'
import type { CallFlags } from './call-flags.js'
import type { Use } from './flags.js'
import type { CommandArgs } from './command-args.js'

export interface CliCommand {
  /** In yargs syntax: name, <required>, [optional], [several..]. */
  readonly words: string
  readonly describe: string
  /** Determines which settings the command accepts. */
  readonly uses: readonly Use[]
  readonly positionals?: Readonly<Record<string, PositionalOptions>>
  /** Flags for options of a call. */
  readonly call?: CallFlags
  /** Other flags. */
  readonly options?: Readonly<Record<string, Options>>
  readonly examples?: readonly (readonly [string, string])[]
  /** True if the command accepts the policy flags. */
  readonly policy?: boolean
  /**
   * The command only prints, so it ends when its reader closes the pipe (`| head`). Any other command continues, and
   * its status reports the outcome.
   */
  readonly reads?: true
  /** Flags that name a file which the command writes. */
  readonly files?: readonly string[]
  readonly run: (args: CommandArgs) => Promise<void>
}

/** Commands with a common first word. */
export interface CommandGroup {
  /** The common first word. */
  readonly word: string
  readonly describe: string
  readonly commands: readonly CliCommand[]
}

/** All flags of a command, without those of settings. */
export const flagsOfCommand = async ({ options, call }: CliCommand): Promise<Readonly<Record<string, Options>>> => ({
  ...(await call?.flags()),
  ...options,
})

/** A flag with a text value. */
export const text = (describe: string, choices?: readonly string[]): Options => ({
  type: 'string',
  requiresArg: true,
  describe,
  ...(choices === undefined ? {} : { choices }),
})

/** A boolean flag. */
export const toggle = (describe: string): Options => ({ type: 'boolean', default: false, describe })

export const conversation = {
  type: 'string',
  demandOption: true,
  describe: 'Id or title of the conversation, or its beginning',
} as const
export const message = { type: 'string', demandOption: true, describe: 'Id of the message' } as const
export const conversations = { type: 'string', array: true, describe: 'Ids or titles of the conversations' } as const
export const edition = {
  type: 'string',
  demandOption: true,
  describe: 'Id of the edition, or the start of the id',
} as const

/** The flag of commands that change an edition. */
export const allOfEdition = { all: toggle('All conversations of the edition') }

/** Spending limits of commands that call a model. */
export const bounds = {
  'max-tokens': text('Token limit for the edition, including earlier runs'),
  'max-cost': text('Cost limit for the edition, including earlier runs, by list prices or --prices'),
}
export const yes = toggle('Start without asking for confirmation')

/** Flags of worker processes. */
export const metrics = {
  'metrics-port': text('Serve /metrics (Prometheus) and /health on this port'),
  'metrics-host': text('Address to serve them on [default: 127.0.0.1]'),
}

/** Flags of commands that query the read models. */
export const waiting = {
  'wait-for': text('Wait until the read models include this position (from `append --json`)'),
  'wait-timeout': text('Timeout of --wait-for, in seconds [default: 5]'),
}

export function waitOf(args: CommandArgs): WaitOptions {
  const position = args.whole('wait-for')
  const seconds = args.whole('wait-timeout')
  return {
    ...(position === undefined ? {} : { waitFor: position }),
    ...(seconds === undefined ? {} : { timeout: seconds * 1_000 }),
  }
}
