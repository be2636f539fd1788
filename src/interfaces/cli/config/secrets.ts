/** Warns about secrets on the command line, which every user of the machine can see in the process list. */
import { settings, type Flags, type Setting } from '../flags.js'
import { note, noteColours } from '../output.js'
import { badConfig, readNamed } from './named-files.js'

/** Flags for an address with a password that have no environment variable. */
const ADDRESS_FLAGS = ['from', 'to', 'from-database', 'to-database', 'upstream']

/** Whether an address names a user with a password: `postgres://user:password@host`. */
const hasPassword = (address: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:[^/?#]*@/iu.test(address)

const isFileName = (value: string): boolean => value.startsWith('@')

/** The secrets in the flags, one sentence each. Values that are read from a file do not count. */
export function secretsIn(flags: Flags): string[] {
  const isSecret = ({ flag, secret }: Pick<Setting, 'flag' | 'secret'>): boolean =>
    [flags[flag]].flat().some((value) => {
      if (typeof value !== 'string' || isFileName(value)) return false
      return secret === 'value' ? value.trim() !== '' : hasPassword(value)
    })
  const named = settings
    .filter(({ secret }) => secret !== undefined)
    .filter(isSecret)
    .map(({ flag, secret, env }) => ({ flag, secret, advice: `use --${flag} @FILE or set ${env}` }))
  const addresses = ADDRESS_FLAGS.filter((flag) => isSecret({ flag, secret: 'address' })).map((flag) => ({
    flag,
    secret: 'address' as const,
    advice: flag === 'upstream' ? 'pass the address without it' : `use --${flag} @FILE`,
  }))
  return [...named, ...addresses].map(
    ({ flag, secret, advice }) =>
      `${secret === 'value' ? `--${flag} is` : `the password in --${flag} is`} visible to every user of this machine in the process list: ${advice}`,
  )
}

/** Writes a warning to standard error for each secret in the flags. */
export function warnOfSecrets(flags: Flags): void {
  for (const sentence of secretsIn(flags)) note(`${noteColours.yellow('warning:')} ${sentence}`)
}

/**
 * Returns a secret or an address: the content of the file for `@FILE`, otherwise the value itself.
 * @param folder the directory for relative names
 * @param origin the flag, variable or config entry with the value, for errors
 */
export async function readSecret(value: string, folder: string, origin: string): Promise<string> {
  if (!isFileName(value)) return value
  const text = (await readNamed(value.slice(1), folder, origin)).trim()
  if (text === '' || text.includes('\n'))
    throw badConfig(origin, `names ${value.slice(1)}, which does not contain exactly one line`)
  return text
}
