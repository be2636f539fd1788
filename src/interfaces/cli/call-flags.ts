/**
 * The flags that pass options of a call: names, descriptions and values derive from the call. A call is loaded when its
 * command runs or shows its help, because loading schemas takes longer than a short command.
 */
import type { Options } from 'yargs'
import { LedgerError } from '../../lib/ledger-error.js'
import type { Call, InputOf, OptionForm, OptionShape } from '../../schema/call.js'
import type { CommandArgs } from './command-args.js'

export interface CallFlags<Options_ = unknown> {
  /** The flags, as yargs takes them. */
  readonly flags: () => Promise<Readonly<Record<string, Options>>>
  /** The options of the call that the command line sets. */
  readonly read: (args: CommandArgs) => Promise<Options_>
}

/** `waitFor` is `--wait-for`. */
const flagOf = (option: string): string => option.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)

/** The value of a flag; undefined if it is not set. */
async function valueOf(args: CommandArgs, flag: string, form: OptionForm): Promise<unknown> {
  const { kind, least = 0, most } = form
  switch (kind) {
    case 'whole': {
      const number = least === 1 && most === undefined ? args.atLeastOne(flag) : args.whole(flag)
      if (number !== undefined && most !== undefined && (number < least || number > most))
        throw new LedgerError('Usage', `--${flag} must be a whole number from ${String(least)} to ${String(most)}`)
      return number
    }
    case 'position':
      return args.whole(flag)
    case 'flag':
      return args.is(flag) ? true : undefined
    case 'time': {
      const value = args.text(flag)
      const { timeOfFlag } = await import('./time-words.js')
      return value === undefined ? undefined : timeOfFlag(flag, value, new Date())
    }
    case 'text':
    case 'choice':
    case 'moment':
    case 'listener':
    case 'awaitedListener':
    case 'value':
      return args.text(flag)
  }
}

/**
 * The options of a call as flags.
 * @param load loads the call
 * @param omitted options without a flag
 * @param texts descriptions for the options that have another one on a command line
 */
export function callFlags<Shape extends OptionShape, Omitted extends keyof Shape & string = never>(
  load: () => Promise<Call<Shape>>,
  {
    omitted = [],
    texts = {},
  }: {
    readonly omitted?: readonly Omitted[]
    readonly texts?: { readonly [Name in keyof Shape]?: string }
  } = {},
): CallFlags<Omit<InputOf<Shape>, Omitted>> {
  async function options(): Promise<readonly { option: string; flag: string; form: OptionForm; describe: string }[]> {
    const [{ options: shapeOf }, { aboutOption }] = await Promise.all([load(), import('../../schema/call.js')])
    const leftOut: readonly string[] = omitted
    return Object.entries(shapeOf())
      .filter(([option]) => !leftOut.includes(option))
      .map(([option, schema]) => {
        const { description, ...form } = aboutOption(schema)
        return { option, flag: flagOf(option), form, describe: texts[option] ?? description.replaceAll('`', '') }
      })
  }
  return {
    async flags() {
      return Object.fromEntries(
        (await options()).map(({ flag, describe, form: { kind, choices } }): [string, Options] => [
          flag,
          kind === 'flag'
            ? { type: 'boolean', default: false, describe }
            : { type: 'string', requiresArg: true, describe, ...(choices === undefined ? {} : { choices }) },
        ]),
      )
    },
    async read(args) {
      const values: Record<string, unknown> = {}
      for (const { option, flag, form } of await options()) {
        const value = await valueOf(args, flag, form)
        if (value !== undefined) values[option] = value
      }
      // Each value is of the type of its option; the call checks it again.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return values as Omit<InputOf<Shape>, Omitted>
    },
  }
}
