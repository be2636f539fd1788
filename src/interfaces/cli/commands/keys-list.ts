import type { KeyRecord } from '../../../ports/service-state.js'
import type { CliCommand } from '../command.js'
import { colours, line, note, printable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'

const boundOf = ({ bound }: KeyRecord): string =>
  bound === undefined
    ? 'the whole ledger'
    : 'scope' in bound
      ? `scope ${printable(bound.scope)}`
      : `ids with prefix ${printable(bound.prefix)}`

export const keysList: CliCommand = {
  words: 'list',
  describe: 'List the keys, newest first, without secrets',
  uses: ['open'],
  reads: true,
  async run(args) {
    const { withKeys } = await import('../keys.js')
    await withKeys(args.flags, async (keys) => {
      const all = await keys.list()
      if (args.json) {
        await line(
          toWire({
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
        const text = `${key.id}  ${key.createdAt}  ${printable(key.name)}: ${key.roles.join(', ')} on ${boundOf(key)}`
        await line(key.revokedAt === undefined ? text : colours.dim(`${text}; revoked ${key.revokedAt}`))
      }
      if (all.length === 0) note('no keys; `context-ledger keys create` creates one')
    })
  },
}
