/**
 * `append`: records one message from flags, standard input or JSON. Waits for the compaction that the message triggers.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { MessageInput } from '../../../library/ledger.js'
import { conversation, text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { valueOf } from '../json-line.js'
import { count, line, printable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

const ROLES = ['user', 'assistant', 'system', 'developer', 'tool'] as const

async function standardInput(what: string): Promise<string> {
  if (process.stdin.isTTY) throw new LedgerError('Usage', `pass ${what}, or pipe it to standard input`)
  const { text: textOf } = await import('node:stream/consumers')
  return await textOf(process.stdin)
}

/** Builds the message from the flags. The ledger validates it. */
async function messageOf(args: CommandArgs): Promise<object> {
  const messageJson = args.text('message')
  const textFlag = args.text('text')
  const role = args.text('role')
  const name = args.text('name')
  const id = args.text('id')
  const toolCallId = args.text('tool-call-id')
  const fields = {
    ...(name === undefined ? {} : { name }),
    ...(id === undefined ? {} : { id }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(args.is('pin') ? { pinned: true } : {}),
  }
  if (messageJson === undefined) {
    // Piped text ends with a line break that is not part of the message.
    const content = textFlag ?? (await standardInput('--text')).replace(/\r?\n$/u, '')
    if (content === '')
      throw new LedgerError('Usage', 'the message is empty: pass --text, or pipe text to standard input')
    return { role: role ?? 'user', content, ...fields }
  }
  if (textFlag !== undefined || role !== undefined)
    throw new LedgerError('Usage', '--message cannot be combined with --text or --role: it is a complete message')
  const message = valueOf(messageJson === '-' ? await standardInput('--message JSON') : messageJson, '--message')
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw new LedgerError('MalformedInput', '--message must be a JSON object with role and content')
  return { ...message, ...fields }
}

export const append: CliCommand = {
  words: 'append <conversation>',
  describe: 'Record one message',
  uses: ['open', 'record', 'summarize'],
  policy: true,
  positionals: { conversation },
  options: {
    text: text('Text of the message [default: standard input]'),
    role: text('Role of the author [default: user]', ROLES),
    name: text('Name of the author'),
    id: text('Id of the message; a message whose id is already recorded is skipped'),
    'tool-call-id': text('Id of the tool call that a tool message answers'),
    message: text('Complete message as JSON; - reads standard input'),
    pin: toggle('Pin the message: compaction never replaces it'),
    scope: text('Tenant or owner of a new conversation'),
  },
  async run(args) {
    const conversationId = args.word('conversation')
    const scope = args.text('scope')
    const message = await messageOf(args)
    await withLedger(args.flags, { creates: true, writes: true, ahead: false }, async ({ ledger }) => {
      const appended = await ledger.append(
        conversationId,
        // The ledger validates the fields; here we know only that it is an object.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        message as MessageInput,
        scope === undefined ? {} : { scope },
      )
      await ledger.admin.waitForCompaction(conversationId)
      // If the leading messages do not fit, the conversation has no context. The message is recorded anyway.
      const context = await ledger.context(conversationId).catch(() => undefined)
      const { recorded, position } = appended
      if (args.json)
        await line(
          toWire({
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
            ? `already recorded, nothing added${now}`
            : `recorded ${printable(recorded.join(', '))}, revision ${appended.revision.toString()}${now}`,
        )
      }
    })
  },
}
