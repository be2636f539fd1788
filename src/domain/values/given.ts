/** An object without what is undefined in it: an option that nobody gave is left out, and not given as nothing. */
export const given = <T extends object>(some: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is undefined is left out
  Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
