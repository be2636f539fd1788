/**
 * The engine of a ledger in a directory. A directory allows one session, which is the ledger's own, so a benchmark that
 * queries the database at the same time must intercept the engine when it is created.
 */
import { PGlite } from '@electric-sql/pglite'

/** Starts recording the engine that was opened last. */
export function watchEngines(): () => PGlite {
  const create = PGlite.create.bind(PGlite)
  let last: PGlite | undefined
  Object.assign(PGlite, {
    async create(...given: Parameters<typeof create>) {
      const made = await create(...given)
      last = made
      return made
    },
  })
  return () => {
    if (last === undefined) throw new Error('no folder was opened')
    return last
  }
}
