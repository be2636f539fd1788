import type { KeyRecord } from '../../ports/service-state.js'
import type { Command } from '../command.js'
import { colours, line, note, printable, toJson } from '../output.js'

const boundOf = ({ bound }: KeyRecord): string =>
  bound === undefined
    ? 'the whole ledger'
    : 'scope' in bound
      ? `scope ${printable(bound.scope)}`
      : `ids that begin with ${printable(bound.prefix)}`

export const keysList: Command = {
  words: 'list',
  describe: 'Show the keys, the newest first: never their secrets',
  reads: true,
  async run(given) {
    const { withKeys } = await import('../keys.js')
    await withKeys(given.flags, async (keys) => {
      const all = await keys.list()
      if (given.json) {
        await line(
          toJson({
            keys: all.map(({ id, name, roles, bound, createdAt, rotatedAt, revokedAt }) => ({
              id,
              name,
              roles,
              ...bound,
              createdAt,
              rotatedAt,
              revokedAt,
            })),
          }),
        )
        return
      }
      for (const key of all) {
        const said = `${key.id}  ${key.createdAt}  ${printable(key.name)}: ${key.roles.join(', ')} on ${boundOf(key)}`
        await line(key.revokedAt === undefined ? said : colours.dim(`${said}; revoked ${key.revokedAt}`))
      }
      if (all.length === 0) note('there is no key; `context-ledger keys create` makes one')
    })
  },
}
