/**
 * What must be true of the context that is handed out after every append: valid for the chat API, never above the hard
 * limit, each pinned message in it word for word, and between two cycles longer at its end and nowhere else.
 *
 * To make a whole context costs as much as the window is long. So it is not made after every message. What is looked at
 * when:
 * - after every message: its own shape, that a result answers a call that waits, the tokens of the context by the
 * fold's running sum. A
 *   message that stands at the end and belongs there cannot make what is before it invalid.
 * - the whole context: after what closes the books, a configuration, a result that came late or to a compacted call, and
 * at the stream's end. Above
 *   the hard limit, where texts are shortened and groups left out, whenever the window has grown by an eighth: a
 * conversation that never comes
 *   below it costs its length a few times over, and not its square.
 * - the prefix: at each of these places the messages are held against those at the last one.
 */
import { isDeepStrictEqual } from 'node:util'
import { either as E } from 'fp-ts'
import { callGroups } from '../domain/conversation/call-groups.js'
import { chatProblem } from '../domain/values/chat-rules.js'
import { contextOf, type Context } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import type { RecordedEvent } from '../domain/events/index.js'
import { contentText, toChatMessage, type ChatMessage } from '../domain/values/message.js'
import { hardLimit } from '../domain/values/policy.js'
import type { Finding } from './event-laws.js'

/**
 * The first pinned message that a context does not show word for word. Contexts of the first rendering left some out
 * where nothing else helped.
 */
function pinnedLost(state: Conversation, context: Context): LiveMessage | undefined {
  if (state.configuration === undefined || state.configuration.rendererVersion < 2) return undefined
  const shown = new Map(context.messageIds.map((id, at) => [id, context.messages[at]]))
  return [...state.retained, ...state.window].find((message) => {
    const now = message.pinned ? shown.get(message.messageId) : undefined
    // A result whose call was compacted is said by the user, its text word for word.
    const isSaid =
      message.role === 'tool' && now?.role === 'user' && contentText(now.content).endsWith(contentText(message.content))
    return message.pinned && !isSaid && !isDeepStrictEqual(now, toChatMessage(message))
  })
}

/**
 * The context of a state, and what is wrong with it. There is none where leading messages, or pinned ones beside them,
 * do not fit by themselves, which whoever asks is told.
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
      detail: `leaves a context of ${String(context.tokens)} tokens, and the hard limit is ${String(limit)}`,
    })
  if (context.shortened === undefined && context.tokens !== state.tokens)
    findings.push({
      rule: 'figures',
      detail: `leaves a context of ${String(context.tokens)} tokens, and the sum of its parts is ${String(state.tokens)}`,
    })
  const invalid = chatProblem(context.messages)
  if (invalid !== undefined)
    findings.push({ rule: 'context', detail: `leaves a context that the chat API refuses: ${invalid}` })
  const lost = pinnedLost(state, context)
  if (lost !== undefined)
    findings.push({
      rule: 'context',
      detail: `leaves a context without the pinned message ${lost.messageId} as it was recorded`,
    })
  return { context, findings }
}

/** The messages, with a result for each call at the end that has none yet: it is still to come. */
function answered(messages: readonly ChatMessage[]): ChatMessage[] {
  const at = messages.findLastIndex(({ role }) => role !== 'tool')
  const caller = messages[at]
  const given = new Set(messages.slice(at + 1).map((message) => message.tool_call_id))
  const open = caller?.role === 'assistant' ? (caller.tool_calls ?? []).filter(({ id }) => !given.has(id)) : []
  return [...messages, ...open.map(({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: '' }))]
}

/** What another program's context breaks of our laws is an observation; that its figures are right is ours to keep. */
function observedLaws(state: Conversation, context: Context): Finding[] {
  const { policy, settings } = state.configuration ?? {}
  // A window that nobody named is assumed, and nobody passed it.
  const isNamed = settings?.modelMaxTokens !== undefined || settings?.model !== undefined
  const window = isNamed ? policy?.modelMaxTokens : undefined
  const invalid = chatProblem(answered(context.messages))
  const observation = (rule: Finding['rule'], detail: string): Finding => ({ rule, detail, isObservation: true })
  return [
    ...(window !== undefined && context.tokens > window
      ? [
          observation(
            'hard-limit',
            `leaves a context of ${String(context.tokens)} tokens, and the window of the model has ${String(window)}`,
          ),
        ]
      : []),
    ...(invalid === undefined ? [] : [observation('context', `leaves a context that a chat API refuses: ${invalid}`)]),
  ]
}

interface Baseline {
  readonly leading: readonly LiveMessage[]
  readonly view: string | undefined
  readonly live: readonly LiveMessage[]
}

const liveOf = (state: Conversation): readonly LiveMessage[] => [...state.retained, ...state.window]
/** A pin gives a message another object, and the same body. */
const same = (a: LiveMessage, b: LiveMessage | undefined): boolean =>
  a === b || (a.messageId === b?.messageId && a.content === b.content && a.toolCalls === b.toolCalls)
const startsWith = (longer: readonly LiveMessage[], shorter: readonly LiveMessage[]): boolean =>
  shorter.every((message, at) => same(message, longer[at]))

/** Follows the context of one conversation. */
export class ContextWatch {
  /** Call → the message that makes it, of the calls whose result is still to come. */
  private open = new Map<string, string>()
  /** The message whose results may still come without any of them being late. */
  private atEnd: string | undefined
  private baseline: Baseline = { leading: [], view: undefined, live: [] }
  /** Length of the window when a context above the hard limit was last made whole. */
  private wholeAt = 0

  /** What is wrong after a message; true in `whole` where the whole context has to be looked at. */
  private message(
    before: Conversation,
    after: Conversation,
    { data }: RecordedEvent<'MessageAppended'>,
  ): { readonly findings: readonly Finding[]; readonly whole: boolean } {
    const said = (detail: string): Finding[] => [{ rule: 'context', detail }]
    let whole = false
    if (data.role === 'tool') {
      const id = data.toolCallId ?? ''
      const caller = this.open.get(id)
      if (caller === undefined && !before.compactedCalls.some((call) => call.callId === id)) {
        if (before.observed !== undefined) return { findings: [], whole }
        // An edition of what another program recorded shows such a result in the user's place.
        if (before.editionId === undefined)
          return { findings: said(`answers the call ${id}, and no such call waits for a result`), whole }
      }
      // What another program makes is looked at as a whole where it compacts, and at the end.
      whole = before.observed === undefined && (caller === undefined || caller !== this.atEnd)
      if (whole) this.atEnd = undefined
      this.open.delete(id)
    } else {
      const calls = data.toolCalls ?? []
      for (const call of calls) this.open.set(call.id, data.messageId)
      this.atEnd = calls.length > 0 ? data.messageId : undefined
      // The shape of the one message; its results, which are still to come, are left out.
      const { tool_calls: asked, ...alone } = toChatMessage(data)
      const invalid =
        chatProblem([alone]) ??
        (asked !== undefined && new Set(asked.map((call) => call.id)).size < asked.length
          ? 'uses the same call id twice'
          : undefined)
      if (invalid !== undefined && before.observed === undefined)
        return { findings: said(`leaves a context that the chat API refuses: ${invalid}`), whole }
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
      : [{ rule: 'prefix', detail: 'stands upon a context that did not only grow at its end since the last cycle' }]
  }

  /** Begins anew: what is before the end of the context may be another from here on. */
  private rebase(state: Conversation): void {
    this.baseline = { leading: state.leading, view: state.view?.text, live: liveOf(state) }
    this.wholeAt = state.window.length
  }

  /** After a fact that closes the books, whose context its own laws look at. */
  closed(before: Conversation, after: Conversation): Finding[] {
    const findings = this.prefix(before)
    const messages = liveOf(after)
    this.open = new Map(
      callGroups(messages).groups.flatMap((group) =>
        group.open.map((call) => [call.id, messages[group.call]?.messageId ?? ''] as const),
      ),
    )
    const last = messages.findLast((message) => message.role !== 'tool')
    this.atEnd = (last?.toolCalls ?? []).length > 0 ? last?.messageId : undefined
    this.rebase(after)
    return findings
  }

  /** After any other fact. */
  follow(before: Conversation, after: Conversation, event: RecordedEvent): Finding[] {
    if (event.type === 'MessageAppended') {
      const { findings, whole } = this.message(before, after, event)
      if (!whole || findings.length > 0) return [...findings]
      const found = [...this.prefix(before), ...contextLaws(after).findings]
      this.rebase(after)
      return found
    }
    if (event.type === 'MessagesWithdrawn') {
      // What is said no more is shown no more, and calls without their results wait anew.
      return this.closed(before, after)
    }
    if (event.type === 'ContributionEdited' || event.type === 'ConversationObserved') {
      const found = this.prefix(before)
      this.rebase(after)
      return found
    }
    if (event.type === 'ConversationConfigured') {
      // Another view, renderer or estimator shows what was compacted in another way: asked for, and so no breach of the
      // prefix.
      const found = [...this.prefix(before), ...contextLaws(after).findings]
      this.rebase(after)
      return found
    }
    // Nothing else changes what is shown: not a byte, and not its tokens. A pin changes what may be compacted later.
    return after.tokens === before.tokens
      ? []
      : [{ rule: 'prefix', detail: 'changes the tokens of a context that it must not change' }]
  }

  /** At the end of the stream. */
  end(state: Conversation): Finding[] {
    return [...this.prefix(state), ...contextLaws(state).findings]
  }
}
