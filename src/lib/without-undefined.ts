/** Removes the fields that are undefined, so that an absent option stays absent. */
export const withoutUndefined = <T extends object>(some: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only undefined values are removed
  Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
