/** What kind of place an address names, by its spelling alone. */

export const isPostgres = (address: string): boolean => /^postgres(ql)?:\/\//iu.test(address)
export const isKurrentDb = (address: string): boolean => /^(?:esdb|kurrentdb|kdb)(?:\+discover)?:\/\//iu.test(address)
export const schemeOf = (address: string): string | undefined => /^([a-z][a-z0-9+.-]*):\/\//iu.exec(address)?.[1]
/** `host:2113`, as other programs take an address without its scheme; a folder of that name is `./host:2113`. */
export const lacksScheme = (address: string): boolean => /^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}\/?$/iu.test(address)
/** `http:/host`: a slash is missing after the scheme. A Windows drive has one letter. */
export const lacksSlash = (address: string): boolean => /^[a-z][a-z0-9+.-]+:\/(?!\/)/iu.test(address)
/** An address for display, without user and password. A folder is returned unchanged. */
export const withoutPassword = (address: string): string =>
  schemeOf(address) === undefined ? address : address.replace(/\/\/[^@/]*@/u, '//')
/** An address of a ledger service. */
export const isService = (address: string): boolean => /^https?:\/\//iu.test(address)

const DEFAULT_PORTS: Readonly<Record<string, string>> = { postgres: '5432', esdb: '2113' }

/**
 * The servers and the database of an address, equal for each spelling of it, without user and password. Undefined if it
 * names no server.
 */
export function serverIdentity(address: string): string | undefined {
  const [, scheme = '', authority = '', path = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/(?:[^/?#]*@)?([^/?#]*)([^?#]*)/iu.exec(address) ?? []
  const protocol = scheme
    .toLowerCase()
    .replace(/^postgresql$/u, 'postgres')
    .replace(/^(?:kurrentdb|kdb)/u, 'esdb')
  // A socket of Postgres is in the query.
  const named = authority === '' ? (/[?&]host=([^&#]+)/u.exec(address)?.[1] ?? '') : authority
  if (named === '' || /:(?!\d{1,5}(?:,|$))[^\]]*$/u.test(named.replaceAll(/\[[^\]]*\]/gu, ''))) return undefined
  const port = DEFAULT_PORTS[protocol.replace('+discover', '')] ?? ''
  const hosts = named.toLowerCase().split(',')
  const servers = hosts.map((host) => (/:\d+$/u.test(host) ? host : `${host}:${port}`)).toSorted()
  return `${protocol}://${servers.join(',')}${path.replace(/\/$/u, '')}`
}
