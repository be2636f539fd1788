import { text, type Command } from '../command.js'
import { InputError } from '../errors.js'
import { line, note, toJson } from '../output.js'

const MOST_SECONDS = 30 * 86_400

export const keysRotate: Command = {
  words: 'rotate <key>',
  describe: 'Give a key another secret, and show it this once',
  positionals: { key: { type: 'string', demandOption: true, describe: 'Id of the key' } },
  options: { grace: text('Seconds that the old one is let in as well [default: 0]') },
  async run(given) {
    const id = given.word('key')
    const grace = given.whole('grace') ?? 0
    if (grace > MOST_SECONDS) throw new InputError('Usage', '--grace must be at most 2592000 seconds, 30 days')
    const [{ withKeys }, { pepperForKeys }, { rotateKey }] = await Promise.all([
      import('../keys.js'),
      import('../config/pepper.js'),
      import('../../service/keys.js'),
    ])
    await withKeys(given.flags, async (keys, config) => {
      const made = await rotateKey(keys, await pepperForKeys(config), nameOf(id), grace)
      if (made === undefined)
        throw new InputError('NoSuchKey', `there is no key "${id}" in use; \`keys list\` shows them`)
      if (given.json) await line(toJson(made))
      else {
        await line(made.key)
        note(`key ${made.id} has this secret now; it is shown this once, and nowhere kept`)
      }
    })
  },
}

/** A name that a database can be asked for. */
export function nameOf(id: string): string {
  if (!/^[0-9a-f]{16}$/u.test(id))
    throw new InputError(
      'NoSuchKey',
      `"${id}" is no id of a key, which has 16 hexadecimal digits; \`keys list\` shows them`,
    )
  return id
}
