/** The actor recorded with events. */
import { either as E } from 'fp-ts'
import { hostname, userInfo } from 'node:os'
import { checkId } from '../../../domain/values/ids.js'
import type { Config } from './load-config.js'

/** The user and the host name. In a container a user may have no name. */
function userAtHost(): string {
  const tryRead = (read: () => string): string => {
    try {
      return read()
    } catch {
      return ''
    }
  }
  const user = tryRead(() => userInfo().username) || `uid-${String(process.getuid?.() ?? 'unknown')}`
  return `${user}@${tryRead(hostname) || 'unknown'}`
}

/** The configured actor, or `user@host`. */
export function actorOf({ actor }: Pick<Config, 'actor'>): string {
  if (actor !== undefined) return actor
  const known = userAtHost()
  return E.isRight(checkId('actor', known)) ? known : 'cli'
}
