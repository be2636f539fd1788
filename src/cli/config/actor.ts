/** Who is recorded as having asked. */
import { either as E } from 'fp-ts'
import { hostname, userInfo } from 'node:os'
import { checkId } from '../../domain/values/ids.js'
import type { Config } from './load-config.js'

/** The user and the machine, as far as the system knows them: in a container a user may have no name. */
function userAtHost(): string {
  const asked = (ask: () => string): string => {
    try {
      return ask()
    } catch {
      return ''
    }
  }
  const user = asked(() => userInfo().username) || `uid-${String(process.getuid?.() ?? 'unknown')}`
  return `${user}@${asked(hostname) || 'unknown'}`
}

/** Who asks: who was named, else the user at this machine. */
export function actorOf({ actor }: Pick<Config, 'actor'>): string {
  if (actor !== undefined) return actor
  const known = userAtHost()
  return E.isRight(checkId('actor', known)) ? known : 'cli'
}
