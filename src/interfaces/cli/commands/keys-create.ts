import { LedgerError } from '../../../lib/ledger-error.js'
import { ROLES, type Bound, type Role } from '../../../ports/service-state.js'
import { text, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { line, note } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'

const MAX_NAME_LENGTH = 100

function rolesOf(args: CommandArgs): readonly Role[] {
  const named = args.several('role')
  const wrong = named.find((name) => !ROLES.some((role) => role === name))
  if (wrong !== undefined) throw new LedgerError('Usage', `--role must be one of ${ROLES.join(', ')}; got "${wrong}"`)
  if (named.length === 0) throw new LedgerError('Usage', `--role is required: one or more of ${ROLES.join(', ')}`)
  return ROLES.filter((role) => named.includes(role))
}

function boundOf(args: CommandArgs): Bound {
  const scope = args.text('scope')
  const prefix = args.text('prefix')
  if (scope !== undefined && prefix !== undefined)
    throw new LedgerError('Usage', '--scope cannot be combined with --prefix: a key has one restriction')
  for (const [flag, value] of Object.entries({ scope, prefix }))
    if (value !== undefined && (value === '' || /\p{Cc}/u.test(value) || !value.isWellFormed()))
      throw new LedgerError('Usage', `--${flag} must not be empty or contain control characters or unpaired surrogates`)
  return scope !== undefined ? { scope } : prefix !== undefined ? { prefix } : undefined
}

export const keysCreate: CliCommand = {
  words: 'create',
  describe: 'Create a key. The key is shown once.',
  uses: ['open'],
  options: {
    name: text('Name of the key’s owner; recorded with every event the key appends'),
    role: { ...text(`Permission: ${ROLES.join(', ')}; repeatable`), array: true },
    scope: text('Restrict the key to conversations of this scope'),
    prefix: text('Restrict the key to conversations whose id has this prefix'),
  },
  examples: [['$0 keys create --name agents --role append --role read --scope acme', 'a key for one tenant’s agents']],
  async run(args) {
    const name = args.text('name')
    if (name === undefined || name.trim() === '')
      throw new LedgerError('Usage', '--name is required: the owner of the key')
    if (name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name) || !name.isWellFormed())
      throw new LedgerError(
        'Usage',
        `--name must be 1 to ${String(MAX_NAME_LENGTH)} characters without control characters`,
      )
    const roles = rolesOf(args)
    const bound = boundOf(args)
    const [{ withKeys }, { readOrCreatePepper }, { createKey }] = await Promise.all([
      import('../keys.js'),
      import('../config/pepper.js'),
      import('../../service/keys.js'),
    ])
    await withKeys(args.flags, async (keys, config) => {
      const made = await createKey(keys, await readOrCreatePepper(config), { name, roles, bound })
      if (args.json) await line(toWire({ ...made, name, roles, ...bound }))
      else {
        await line(made.key)
        note(`key ${made.id} for ${name}: copy it now, it is not stored and cannot be shown again`)
      }
    })
  },
}
