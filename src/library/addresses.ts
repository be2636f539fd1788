/** What kind of place an address names, by its spelling alone. */

export const isPostgres = (address: string): boolean => /^postgres(ql)?:\/\//iu.test(address)
export const isKurrentDb = (address: string): boolean => /^(?:esdb|kurrentdb|kdb)(?:\+discover)?:\/\//iu.test(address)
export const schemeOf = (address: string): string | undefined => /^([a-z][a-z0-9+.-]*):\/\//iu.exec(address)?.[1]
/** A ledger behind a service. */
export const isService = (address: string): boolean => /^https?:\/\//iu.test(address)
