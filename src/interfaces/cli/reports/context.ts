/** Prints a context and its messages. */
import { NOT_RECORDED_LABEL } from '../../../domain/conversation/placeholders.js'
import { SUMMARY_UNKNOWN, type OverBudget } from '../../../domain/compaction/context.js'
import type { ChatMessage, Context, ContextAsOf, LiveMessages } from '../../../library/ledger.js'
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

/** Why a context is at or above its limit. Each text follows a sentence that names the limit. */
export const whyOverBudget: Readonly<Record<OverBudget['reason'], string>> = {
  'compaction-due': 'the next append compacts it',
  'compaction-failed': 'compaction failed and is retried with later messages',
  'cycle-undone': 'a cycle was undone, and the next one waits for more messages',
  'recent-messages': 'at least half of it is messages that are never compacted: leading, pinned and recent ones',
  'pinned-and-leading': 'the leading and pinned messages alone reach the limit, and they are never compacted',
  'open-calls': 'tool calls without a result block the compaction of messages',
  summaries: 'at least half of it is summaries of earlier messages',
  'too-little-to-fold': 'too few messages can be compacted to be worth a cycle',
}

/** Notes about a context, in addition to its messages. */
export function contextNotes(context: Context): string[] {
  const { observed, overBudget, shortened = [], openCalls = [] } = context
  return [
    ...(observed === undefined
      ? []
      : [
          `built by ${observed.program}${observed.programVersion === undefined ? '' : ` ${observed.programVersion}`}, according to its transcript`,
          ...(observed.summaryUnknown === true ? [SUMMARY_UNKNOWN] : []),
        ]),
    ...(overBudget === undefined
      ? []
      : [
          `over budget: ${count(overBudget.tokens)} tokens, the limit is ${count(overBudget.limit)}: ${whyOverBudget[overBudget.reason]}. ${many(overBudget.messageIds.length, 'message')} cannot be compacted`,
        ]),
    ...(shortened.length === 0
      ? []
      : [
          `to fit the model’s window, ${many(shortened.length, 'text is', 'texts are')} shortened or omitted: ${shortened.map(({ id, how }) => `${id} (${how})`).join(', ')}`,
        ]),
    ...(openCalls.length === 0
      ? []
      : [`tool calls without a result: ${openCalls.map(({ name, callId }) => `${name} (${callId})`).join(', ')}`]),
  ]
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
