/**
 * The rules for the context after every append: valid for the chat API, never above the hard limit, each pinned message
 * verbatim, and between two cycles changed only at its end.
 *
 * Building a whole context costs time proportional to the window, so it is not built after every message. The checks
 * are:
 *
 * - After every message: its own shape, that a result answers an open call, and the running sum of the context's
 *   tokens. A valid message at the end cannot make the messages before it invalid.
 * - The whole context: after a checkpoint event, a configuration, a result that is late or answers a compacted call,
 *   and at the end of the stream. Above the hard limit, texts are shortened and groups omitted; there it is checked
 *   whenever the window has grown by an eighth, which costs the length of the conversation a few times, not its square.
 * - The prefix: at each of these points the messages are compared with those at the previous one.
 */
import { isDeepStrictEqual } from 'node:util'
import { either as E } from 'fp-ts'
import { CallPairing } from '../../domain/conversation/call-groups.js'
import { chatProblem } from '../../domain/values/chat-rules.js'
import { rulesOf, shapedMessage } from '../../domain/conversation/shape.js'
import { contextOf, type Context } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { observedParts } from '../../domain/conversation/observed.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { contentText, toChatMessage, type ChatMessage, type ToolCall } from '../../domain/values/message.js'
import { hardLimit } from '../../domain/values/policy.js'
import type { Finding } from './event-laws.js'

/**
 * The first pinned message that a context does not show verbatim. Contexts of the first renderer version omitted some
 * as a last resort.
 */
function pinnedLost(state: Conversation, context: Context): LiveMessage | undefined {
  if (state.configuration === undefined || state.configuration.rendererVersion < 2) return undefined
  const rules = rulesOf(state.configuration)
  const messageById = new Map(context.messageIds.map((id, at) => [id, context.messages[at]]))
  return [...state.retained, ...state.window].find((message) => {
    const now = message.pinned ? messageById.get(message.messageId) : undefined
    // A result without its compacted call is shown as a user message that ends with its exact text.
    const isShownByUser =
      message.role === 'tool' && now?.role === 'user' && contentText(now.content).endsWith(contentText(message.content))
    return message.pinned && !isShownByUser && !isDeepStrictEqual(now, toChatMessage(shapedMessage(message, rules)))
  })
}

/**
 * The context of a state, and its problems. There is no context if leading or pinned messages alone exceed the limit;
 * the caller reports that.
 */
export function contextLaws(state: Conversation): {
  readonly context: Context | undefined
  readonly findings: readonly Finding[]
} {
  const made = contextOf(state)
  if (E.isLeft(made) || state.configuration === undefined) return { context: undefined, findings: [] }
  const context = made.right
  if (state.observed !== undefined) return { context, findings: observedLaws(state, context) }
  const limit = hardLimit(state.configuration.policy)
  const findings: Finding[] = []
  if (context.tokens > limit)
    findings.push({
      rule: 'hard-limit',
      detail: `leaves a context of ${String(context.tokens)} tokens, above the hard limit of ${String(limit)}`,
    })
  // Above the limit, the repeated request is replaced by a shorter line, which does not count as a shortened message.
  if (context.shortened === undefined && state.tokens <= limit && context.tokens !== state.tokens)
    findings.push({
      rule: 'figures',
      detail: `leaves a context of ${String(context.tokens)} tokens, but the sum of its parts is ${String(state.tokens)}`,
    })
  const invalid = chatProblem(context.messages, rulesOf(state.configuration))
  if (invalid !== undefined)
    findings.push({ rule: 'context', detail: `leaves a context that the chat API rejects: ${invalid}` })
  const lost = pinnedLost(state, context)
  if (lost !== undefined)
    findings.push({
      rule: 'context',
      detail: `leaves a context without the pinned message ${lost.messageId} as it was recorded`,
    })
  return { context, findings }
}

/** The messages, with a result for each open call at the end, since those are still expected. */
function answered(messages: readonly ChatMessage[]): ChatMessage[] {
  const at = messages.findLastIndex(({ role }) => role !== 'tool')
  const caller = messages[at]
  const answeredIds = new Set(messages.slice(at + 1).map((message) => message.tool_call_id))
  const open = caller?.role === 'assistant' ? (caller.tool_calls ?? []).filter(({ id }) => !answeredIds.has(id)) : []
  return [...messages, ...open.map(({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: '' }))]
}

/** Deviations of another program's context from our rules are observations. Wrong token counts are our own errors. */
function observedLaws(state: Conversation, context: Context): Finding[] {
  const { policy, settings } = state.configuration ?? {}
  // A window that was assumed and not configured cannot be exceeded.
  const isNamed = settings?.modelMaxTokens !== undefined || settings?.model !== undefined
  const window = isNamed ? policy?.modelMaxTokens : undefined
  // As the program wrote it: `context` has a placeholder for each missing result.
  const invalid = chatProblem(answered(observedParts(state).map(({ body }) => toChatMessage(body))))
  const observation = (rule: Finding['rule'], detail: string): Finding => ({ rule, detail, isObservation: true })
  return [
    ...(window !== undefined && context.tokens > window
      ? [
          observation(
            'hard-limit',
            `leaves a context of ${String(context.tokens)} tokens, above the model window of ${String(window)}`,
          ),
        ]
      : []),
    ...(invalid === undefined ? [] : [observation('context', `leaves a context that a chat API rejects: ${invalid}`)]),
  ]
}

interface Baseline {
  readonly leading: readonly LiveMessage[]
  readonly view: string | undefined
  readonly live: readonly LiveMessage[]
}

const liveOf = (state: Conversation): readonly LiveMessage[] => [...state.retained, ...state.window]
/** Pinning creates a new object with the same body. */
const isSameMessage = (a: LiveMessage, b: LiveMessage | undefined): boolean =>
  a === b || (a.messageId === b?.messageId && a.content === b.content && a.toolCalls === b.toolCalls)
const startsWith = (longer: readonly LiveMessage[], shorter: readonly LiveMessage[]): boolean =>
  shorter.every((message, at) => isSameMessage(message, longer[at]))

/** Follows the context of one conversation. */
export class ContextWatch {
  /** Knows the id of the message of each call. */
  private pairing = new CallPairing<ToolCall, string>()
  /** The last message, while results may follow it without being late. */
  private atEnd: string | undefined
  private baseline: Baseline = { leading: [], view: undefined, live: [] }
  /** Length of the window when a context above the hard limit was last built. */
  private wholeAt = 0

  /** The problems after a message. `whole` is true if the whole context must be checked. */
  private message(
    before: Conversation,
    after: Conversation,
    { data }: RecordedEvent<'MessageAppended'>,
  ): { readonly findings: readonly Finding[]; readonly whole: boolean } {
    const contextFinding = (detail: string): Finding[] => [{ rule: 'context', detail }]
    let whole = false
    const answeredCall = this.pairing.take(data, data.messageId)
    if (data.role === 'tool') {
      const caller = answeredCall?.isFurther === false ? answeredCall.by : undefined
      // A host's list may have a result without its call: it is shown as a user message, and the whole context is
      // checked. A context of another program is checked only after compactions and at the end.
      whole = before.observed === undefined && (caller === undefined || caller !== this.atEnd)
      if (whole) this.atEnd = undefined
    } else {
      const calls = data.toolCalls ?? []
      this.atEnd = calls.length > 0 ? data.messageId : undefined
      // The shape of this message only; its results are still expected.
      const { tool_calls: toolCalls, ...alone } = toChatMessage(data)
      const invalid =
        chatProblem([alone]) ??
        (toolCalls !== undefined && new Set(toolCalls.map((call) => call.id)).size < toolCalls.length
          ? 'uses the same call id twice'
          : undefined)
      if (invalid !== undefined && before.observed === undefined)
        return { findings: contextFinding(`leaves a context that the chat API rejects: ${invalid}`), whole }
    }
    const { configuration, window } = after
    if (
      !whole &&
      configuration !== undefined &&
      after.observed === undefined &&
      after.tokens > hardLimit(configuration.policy)
    )
      whole = window.length < this.wholeAt || window.length * 8 >= this.wholeAt * 9
    return { findings: [], whole }
  }

  private prefix(state: Conversation): Finding[] {
    const { leading, view, live } = this.baseline
    const isSame = startsWith(state.leading, leading) && state.view?.text === view && startsWith(liveOf(state), live)
    return isSame
      ? []
      : [{ rule: 'prefix', detail: 'follows a context that changed before its end since the last cycle' }]
  }

  /** Resets the baseline: the context before its end may differ from here on. */
  private rebase(state: Conversation): void {
    this.baseline = { leading: state.leading, view: state.view?.text, live: liveOf(state) }
    this.wholeAt = state.window.length
  }

  /** After a checkpoint event. Its context has its own checks. */
  closed(before: Conversation, after: Conversation): Finding[] {
    const findings = this.prefix(before)
    const messages = liveOf(after)
    this.pairing = new CallPairing()
    for (const message of messages) this.pairing.take(message, message.messageId)
    const last = messages.findLast((message) => message.role !== 'tool')
    this.atEnd = (last?.toolCalls ?? []).length > 0 ? last?.messageId : undefined
    this.rebase(after)
    return findings
  }

  /** After any other event. */
  follow(before: Conversation, after: Conversation, event: RecordedEvent): Finding[] {
    if (event.type === 'MessageAppended') {
      const { findings, whole } = this.message(before, after, event)
      if (!whole || findings.length > 0) return [...findings]
      const found = [...this.prefix(before), ...contextLaws(after).findings]
      this.rebase(after)
      return found
    }
    if (event.type === 'MessagesWithdrawn') {
      // Withdrawn messages are no longer shown, and their calls may be open again.
      return this.closed(before, after)
    }
    if (event.type === 'ContributionEdited' || event.type === 'ConversationObserved') {
      const found = this.prefix(before)
      this.rebase(after)
      return found
    }
    if (event.type === 'ConversationConfigured') {
      // Another view, renderer or estimator changes how compacted messages are shown. That is requested, so it does not
      // break the prefix.
      const found = [...this.prefix(before), ...contextLaws(after).findings]
      this.rebase(after)
      return found
    }
    // No other event changes the shown context or its tokens. A pin changes only what later cycles may compact.
    return after.tokens === before.tokens
      ? []
      : [{ rule: 'prefix', detail: 'changes the tokens of a context, which this event must not' }]
  }

  end(state: Conversation): Finding[] {
    return [...this.prefix(state), ...contextLaws(state).findings]
  }
}
