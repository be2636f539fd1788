/** Prints a context and its messages. */
import { NOT_RECORDED_LABEL } from '../../../domain/conversation/placeholders.js'
import { contextNotes } from '../../../domain/compaction/context-notes.js'
import type { ChatMessage, ContextAsOf, LiveMessages } from '../../../library/ledger.js'
import { contentText, toChatMessage } from '../../../domain/values/message.js'
import { colours, count, line, many, printable, typed } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'

export type ContextFormat = 'text' | 'json' | 'openai'

/** The document of `context --json`. */
function contextDocument({ messageIds: _ids, ...document }: ContextAsOf): unknown {
  return document
}

const colourOfRole: Readonly<Record<ChatMessage['role'], (text: string) => string>> = {
  system: colours.magenta,
  developer: colours.magenta,
  user: colours.cyan,
  assistant: colours.green,
  tool: colours.yellow,
}

/** A message as text. `id` is undefined for a message that is not recorded. */
export function messageText(message: ChatMessage, id: string | undefined, isView: boolean): string {
  const answered = message.tool_call_id === undefined ? '' : ` answers ${printable(message.tool_call_id)}`
  const name = message.name === undefined ? '' : ` (${printable(message.name)})`
  const recorded = id === undefined ? undefined : isView ? `${id}, with the compacted part` : id
  const source = recorded ?? (isView ? 'compacted part' : NOT_RECORDED_LABEL)
  const head = `${colourOfRole[message.role](colours.bold(message.role))}${name}${answered} ${colours.dim(`[${printable(source)}]`)}`
  const text = printable(contentText(message.content))
  const calls = (message.tool_calls ?? []).map(
    (call) =>
      `→ ${printable(call.function?.name ?? call.type)}(${printable(call.function?.arguments ?? '')}) ${colours.dim(`[${printable(call.id)}]`)}`,
  )
  return [head, ...(text === '' ? [] : [text]), ...calls].join('\n')
}

/** Prints a context as text, as JSON, or as the message list of a request. */
export async function showContext(context: ContextAsOf, format: ContextFormat): Promise<void> {
  if (format === 'json') await line(toWire(contextDocument(context)))
  else if (format === 'openai') await line(toWire(context.messages))
  else {
    for (const [at, message] of context.messages.entries())
      await line(`${messageText(message, context.messageIds[at], at === context.viewAt)}\n`)
    await line(
      colours.dim(
        `${many(context.messages.length, 'message')}, ${count(context.tokens)} tokens, revision ${context.revision.toString()}, SHA-256 ${context.hash}`,
      ),
    )
    if (context.viewAt !== undefined && context.inForce === undefined)
      await line(
        colours.dim(
          `sources of the summaries: context-ledger explain ${typed(context.conversationId)}; of one line: add --line TEXT`,
        ),
      )
    const { inForce } = context
    if (inForce !== undefined)
      await line(
        colours.yellow(
          `no model received this context: the active view was ${inForce.view}, and its context has the SHA-256 ${inForce.hash}`,
        ),
      )
    for (const contextNote of contextNotes(context)) await line(colours.yellow(contextNote))
  }
}

/** Prints the live messages of a context. */
export async function showLive(live: LiveMessages, format: ContextFormat): Promise<void> {
  if (format === 'json') await line(toWire(live))
  else if (format === 'openai') await line(toWire(live.messages.map(toChatMessage)))
  else {
    for (const message of live.messages)
      await line(`${messageText(toChatMessage(message), message.messageId, false)}\n`)
    await line(
      colours.dim(
        `${many(live.messages.length, 'live message')}, revision ${live.revision.toString()} of ${live.recordedAt}`,
      ),
    )
  }
}
