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
