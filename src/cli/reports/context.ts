/** A context and its messages, as they are shown. */
import type { OverBudget } from '../../domain/compaction/context.js'
import type { ChatMessage, Context, ContextAsOf, LiveMessages } from '../../library/ledger.js'
import { contentText, toChatMessage } from '../../domain/values/message.js'
import { colours, count, line, many, printable, toJson, typed } from '../output.js'

export type ContextFormat = 'text' | 'json' | 'openai'

/** The document of `context --json`. */
function contextDocument(context: ContextAsOf): unknown {
  const { conversationId, revision, hash, tokens, messages, observed, overBudget, shortened, openCalls, inForce } =
    context
  return {
    conversationId,
    revision,
    hash,
    tokens,
    messages,
    ...(observed === undefined ? {} : { observed }),
    ...(overBudget === undefined ? {} : { overBudget }),
    ...(shortened === undefined ? {} : { shortened }),
    ...(openCalls === undefined ? {} : { openCalls }),
    ...(inForce === undefined ? {} : { inForce }),
  }
}

const paint: Readonly<Record<ChatMessage['role'], (text: string) => string>> = {
  system: colours.magenta,
  developer: colours.magenta,
  user: colours.cyan,
  assistant: colours.green,
  tool: colours.yellow,
}

/** A message for people; `id` is the recorded message's, undefined for what is only shown. */
export function messageText(message: ChatMessage, id: string | undefined, isView: boolean): string {
  const answered = message.tool_call_id === undefined ? '' : ` answers ${printable(message.tool_call_id)}`
  const name = message.name === undefined ? '' : ` (${printable(message.name)})`
  const source = id ?? (isView ? 'what was compacted' : 'shown only, not recorded')
  const head = `${paint[message.role](colours.bold(message.role))}${name}${answered} ${colours.dim(`[${printable(source)}]`)}`
  const text = printable(contentText(message.content))
  const calls = (message.tool_calls ?? []).map(
    (call) =>
      `→ ${printable(call.function?.name ?? call.type)}(${printable(call.function?.arguments ?? '')}) ${colours.dim(`[${printable(call.id)}]`)}`,
  )
  return [head, ...(text === '' ? [] : [text]), ...calls].join('\n')
}

/** Why a context is at or above its limit. Each stands behind a sentence that names the limit. */
export const whyOverBudget: Readonly<Record<OverBudget['reason'], string>> = {
  'compaction-due': 'the next append compacts it',
  'compaction-failed': 'compaction failed, and is tried again as messages come',
  'cycle-undone': 'a cycle was undone, and the next one waits for further messages',
  'recent-messages': 'half of it or more are messages that stay as they are: leading, pinned and the most recent ones',
  'pinned-and-leading': 'the leading and the pinned messages alone take as much, and stay as they are',
  'open-calls': 'calls that have no result yet keep messages from being compacted',
  summaries: 'half of it or more are summaries of earlier messages',
  'too-little-to-fold': 'too few messages may be compacted to be worth a cycle',
}

/** What a reader has to know of a context beside its messages. */
export function contextNotes(context: Context): string[] {
  const { observed, overBudget, shortened = [], openCalls = [] } = context
  return [
    ...(observed === undefined
      ? []
      : [
          `as ${observed.program}${observed.programVersion === undefined ? '' : ` ${observed.programVersion}`} made it, as far as its transcript tells`,
        ]),
    ...(overBudget === undefined
      ? []
      : [
          `over budget: ${count(overBudget.tokens)} tokens, the limit is ${count(overBudget.limit)}: ${whyOverBudget[overBudget.reason]}. ${many(overBudget.messageIds.length, 'message')} may not be compacted`,
        ]),
    ...(shortened.length === 0
      ? []
      : [
          `to fit the model’s window ${many(shortened.length, 'text is', 'texts are')} shortened or left out: ${shortened.map(({ id, how }) => `${id} (${how})`).join(', ')}`,
        ]),
    ...(openCalls.length === 0
      ? []
      : [`calls without a result yet: ${openCalls.map(({ name, callId }) => `${name} (${callId})`).join(', ')}`]),
  ]
}

/** Shows a context: for people, for scripts, or as the list of messages that goes into a request. */
export async function showContext(context: ContextAsOf, format: ContextFormat): Promise<void> {
  if (format === 'json') await line(toJson(contextDocument(context)))
  else if (format === 'openai') await line(toJson(context.messages))
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
          `where what was compacted comes from: context-ledger explain ${typed(context.conversationId)}, or with --line TEXT where one line does`,
        ),
      )
    const { inForce } = context
    if (inForce !== undefined)
      await line(
        colours.yellow(
          `no model was given this: the view in force was ${inForce.view}, and the context with it has the SHA-256 ${inForce.hash}`,
        ),
      )
    for (const said of contextNotes(context)) await line(colours.yellow(said))
  }
}

/** Shows the live messages behind a context. */
export async function showLive(live: LiveMessages, format: ContextFormat): Promise<void> {
  if (format === 'json') await line(toJson(live))
  else if (format === 'openai') await line(toJson(live.messages.map(toChatMessage)))
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
