/**
 * The engine behind a ledger in a folder. A folder has one session, which is the ledger's own, so whoever wants to ask
 * its database something meanwhile has to take it where it is made.
 */
import { PGlite } from '@electric-sql/pglite'

/** From now on remembers the engine that was opened last. */
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
