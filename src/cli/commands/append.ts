/**
 * `append`: one message, from flags, from standard input, or whole as JSON. Compaction that it makes due has run when
 * the command ends.
 */
import type { MessageInput } from '../../library/ledger.js'
import { conversation, text, toggle, type Command } from '../command.js'
import { InputError } from '../errors.js'
import type { Given } from '../given.js'
import { valueOf } from '../json-line.js'
import { count, line, printable, toJson } from '../output.js'
import { withLedger } from '../session.js'

const ROLES = ['user', 'assistant', 'system', 'developer', 'tool'] as const

async function standardInput(what: string): Promise<string> {
  if (process.stdin.isTTY) throw new InputError('Usage', `give ${what}, or pipe it to standard input`)
  const { text: textOf } = await import('node:stream/consumers')
  return await textOf(process.stdin)
}

/** The message that the flags make; the ledger parses it. */
async function messageOf(given: Given): Promise<object> {
  const whole = given.text('message')
  const written = given.text('text')
  const role = given.text('role')
  const name = given.text('name')
  const id = given.text('id')
  const toolCallId = given.text('tool-call-id')
  const fields = {
    ...(name === undefined ? {} : { name }),
    ...(id === undefined ? {} : { id }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(given.is('pin') ? { pinned: true } : {}),
  }
  if (whole === undefined) {
    // A text that is piped ends with a line end that nobody typed.
    const content = written ?? (await standardInput('the text by --text')).replace(/\r?\n$/u, '')
    if (content === '') throw new InputError('Usage', 'the message has no text')
    return { role: role ?? 'user', content, ...fields }
  }
  if (written !== undefined || role !== undefined)
    throw new InputError('Usage', '--message is a whole message: give no --text and no --role with it')
  const message = valueOf(whole === '-' ? await standardInput('the message') : whole, '--message')
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw new InputError('MalformedInput', '--message must be a JSON object with role and content')
  return { ...message, ...fields }
}

export const append: Command = {
  words: 'append <conversation>',
  describe: 'Record one message',
  policy: true,
  positionals: { conversation },
  options: {
    text: text('Its text [default: standard input]'),
    role: text('Who says it [default: user]', ROLES),
    name: text('Name of who says it'),
    id: text('Id of the message; the same id again records nothing'),
    'tool-call-id': text('The call that a tool’s message answers'),
    message: text('The whole message as JSON, or - for standard input'),
    pin: toggle('Keep it word for word, whatever is compacted'),
    scope: text('Tenant or owner of a new conversation'),
  },
  async run(given) {
    const conversationId = given.word('conversation')
    const scope = given.text('scope')
    const message = await messageOf(given)
    await withLedger(given.flags, { creates: true, writes: true, ahead: false }, async ({ ledger }) => {
      const appended = await ledger.append(
        conversationId,
        // The ledger parses it; only that it is an object is known here.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        message as MessageInput,
        scope === undefined ? {} : { scope },
      )
      await ledger.settled(conversationId)
      // A conversation whose leading messages do not fit has no context; the message is recorded all the same.
      const context = await ledger.context(conversationId).catch(() => undefined)
      const { recorded, position } = appended
      if (given.json)
        await line(
          toJson({
            conversationId: appended.conversationId,
            revision: context?.revision ?? appended.revision,
            recorded,
            ...(position === undefined ? {} : { position }),
            ...(context === undefined ? {} : { tokens: context.tokens }),
          }),
        )
      else {
        const now = context === undefined ? '' : `; the context has ${count(context.tokens)} tokens`
        await line(
          recorded.length === 0
            ? `recorded already, nothing added${now}`
            : `recorded ${printable(recorded.join(', '))}, revision ${appended.revision.toString()}${now}`,
        )
      }
    })
  },
}
