/**
 * What a file under `commands/` says of its command, and the flags that several commands share. It is loaded with
 * `--help`, so neither this file nor a command's loads more at its top than other files of words; what is heavy is
 * loaded by `run`.
 */
import type { Options, PositionalOptions } from 'yargs'
import type { WaitOptions } from '../library/ledger.js'
import type { Given } from './given.js'

export interface Command {
  /** As yargs has it: name, <demanded>, [optional], [several..]. */
  readonly words: string
  readonly describe: string
  readonly positionals?: Readonly<Record<string, PositionalOptions>>
  readonly options?: Readonly<Record<string, Options>>
  readonly examples?: readonly (readonly [string, string])[]
  /** Has the policy's flags: what it writes is recorded under them. */
  readonly policy?: boolean
  /**
   * Only shows: it ends as well where nobody reads on (`| head`). Any other one goes on to its end, and its status says
   * what came of it.
   */
  readonly reads?: true
  readonly run: (given: Given) => Promise<void>
}

/** Commands of two words. */
export interface CommandGroup {
  /** The word that its commands stand behind. */
  readonly word: string
  readonly describe: string
  readonly commands: readonly Command[]
}

/** A flag with a text. */
export const text = (describe: string, choices?: readonly string[]): Options => ({
  type: 'string',
  requiresArg: true,
  describe,
  ...(choices === undefined ? {} : { choices }),
})

/** A flag that is given or not. */
export const toggle = (describe: string): Options => ({ type: 'boolean', default: false, describe })

export const conversation = { type: 'string', demandOption: true, describe: 'Id of the conversation' } as const
export const message = { type: 'string', demandOption: true, describe: 'Id of the message' } as const
export const conversations = { type: 'string', array: true, describe: 'Ids of conversations' } as const
export const edition = {
  type: 'string',
  demandOption: true,
  describe: 'Id of the edition, or its beginning',
} as const

/** Of what changes an edition. */
export const allOfEdition = { all: toggle('All conversations that it is of') }

/** Of what may ask a model for much. */
export const bounds = {
  'max-tokens': text('Tokens that the edition may take in all, earlier runs included'),
  'max-cost': text('What it may cost in all, by the price of its model (--prices)'),
}
export const yes = toggle('Begin without a question')

/** Of a process that works until it is told to end. */
export const metrics = {
  'metrics-port': text('Serve /metrics (Prometheus) and /health on this port'),
  'metrics-host': text('Address to serve them on [default: 127.0.0.1]'),
}

/** Of what reads the read models. */
export const waiting = {
  'wait-for': text('Position, as `append --json` gives it, that has to be among what is read'),
  'wait-timeout': text('Seconds to wait for it [default: 5]'),
}

export function waitOf(given: Given): WaitOptions {
  const position = given.whole('wait-for')
  const seconds = given.whole('wait-timeout')
  return {
    ...(position === undefined ? {} : { waitFor: BigInt(position) }),
    ...(seconds === undefined ? {} : { timeout: seconds * 1_000 }),
  }
}
