/**
 * `append`: one message, from flags, from standard input, or whole as JSON. Compaction that it makes due has run when
 * the command ends.
 */
import { text as textOf } from 'node:stream/consumers'
import type { MessageInput } from '../../library/ledger.js'
import { InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { count, line, printable, toJson } from '../output.js'
import { withLedger } from '../session.js'

export interface AppendCommand {
  readonly conversationId: string
  /** A whole message as JSON, or `-` for one on standard input. */
  readonly message: string | undefined
  readonly text: string | undefined
  readonly role: string | undefined
  readonly name: string | undefined
  readonly id: string | undefined
  readonly toolCallId: string | undefined
  readonly scope: string | undefined
  readonly pin: boolean
  readonly json: boolean
}

async function standardInput(what: string): Promise<string> {
  if (process.stdin.isTTY) throw new InputError('Usage', `give ${what}, or pipe it to standard input`)
  return await textOf(process.stdin)
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new InputError(
      'MalformedInput',
      `--message is no JSON: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

async function messageOf(command: AppendCommand): Promise<unknown> {
  const { message, text, role, name, id, toolCallId, pin } = command
  const fields = {
    ...(name === undefined ? {} : { name }),
    ...(id === undefined ? {} : { id }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(pin ? { pinned: true } : {}),
  }
  if (message === undefined) {
    // A text that is piped ends with a line end that nobody typed.
    const content = text ?? (await standardInput('the text by --text')).replace(/\r?\n$/u, '')
    if (content === '') throw new InputError('Usage', 'the message has no text')
    return { role: role ?? 'user', content, ...fields }
  }
  if (text !== undefined || role !== undefined)
    throw new InputError('Usage', '--message is a whole message: give no --text and no --role with it')
  const whole = parsed(message === '-' ? await standardInput('the message') : message)
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole))
    throw new InputError('MalformedInput', '--message must be a JSON object with role and content')
  return { ...whole, ...fields }
}

/** Runs the command. */
export async function runAppend(flags: Flags, command: AppendCommand): Promise<void> {
  const message = await messageOf(command)
  await withLedger(flags, { creates: true, writes: true, ahead: false }, async ({ ledger }) => {
    // The ledger parses it; only that it is an object is known here.
    const appended = await ledger.append(
      command.conversationId,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      message as MessageInput,
      command.scope === undefined ? {} : { scope: command.scope },
    )
    await ledger.settled(command.conversationId)
    // A conversation whose leading messages do not fit has no context; the message is recorded all the same.
    const context = await ledger.context(command.conversationId).catch(() => undefined)
    const { conversationId, recorded, position } = appended
    const revision = context?.revision ?? appended.revision
    if (command.json)
      await line(
        toJson({
          conversationId,
          revision,
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
}
