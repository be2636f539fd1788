import { ROLES, type Bound, type Role } from '../../ports/service-state.js'
import { text, type Command } from '../command.js'
import { InputError } from '../errors.js'
import type { Given } from '../given.js'
import { line, note, toJson } from '../output.js'

const MOST_NAME = 100

function rolesOf(given: Given): readonly Role[] {
  const named = given.several('role')
  const wrong = named.find((name) => !ROLES.some((role) => role === name))
  if (wrong !== undefined) throw new InputError('Usage', `--role must be one of ${ROLES.join(', ')}, and is "${wrong}"`)
  if (named.length === 0) throw new InputError('Usage', `--role is missing: one or more of ${ROLES.join(', ')}`)
  return ROLES.filter((role) => named.includes(role))
}

function boundOf(given: Given): Bound {
  const scope = given.text('scope')
  const prefix = given.text('prefix')
  if (scope !== undefined && prefix !== undefined)
    throw new InputError('Usage', '--scope goes without --prefix: a key is bound to one of them')
  for (const [flag, value] of Object.entries({ scope, prefix }))
    if (value !== undefined && (value === '' || /\p{Cc}/u.test(value) || !value.isWellFormed()))
      throw new InputError('Usage', `--${flag} is empty, or has a control character or half a character in it`)
  return scope !== undefined ? { scope } : prefix !== undefined ? { prefix } : undefined
}

export const keysCreate: Command = {
  words: 'create',
  describe: 'Make a key, and show it this once',
  options: {
    name: text('Whose it is; recorded with what is appended by it'),
    role: { ...text(`What it may do: ${ROLES.join(', ')}; may be given more than once`), array: true },
    scope: text('Bind it to the conversations of this scope'),
    prefix: text('Bind it to conversations whose id begins so'),
  },
  examples: [['$0 keys create --name agents --role append --role read --scope acme', 'a key for one tenant’s agents']],
  async run(given) {
    const name = given.text('name')
    if (name === undefined || name.trim() === '')
      throw new InputError('Usage', '--name is missing: say whose key it is')
    if (name.length > MOST_NAME || /\p{Cc}/u.test(name) || !name.isWellFormed())
      throw new InputError(
        'Usage',
        `--name has to be 1 to ${String(MOST_NAME)} characters, none of them a control character`,
      )
    const roles = rolesOf(given)
    const bound = boundOf(given)
    const [{ withKeys }, { pepperForKeys }, { createKey }] = await Promise.all([
      import('../keys.js'),
      import('../config/pepper.js'),
      import('../../service/keys.js'),
    ])
    await withKeys(given.flags, async (keys, config) => {
      const made = await createKey(keys, await pepperForKeys(config), { name, roles, bound })
      if (given.json) await line(toJson({ ...made, name, roles, ...bound }))
      else {
        await line(made.key)
        note(`key ${made.id} of ${name}; it is shown this once, and nowhere kept`)
      }
    })
  },
}
