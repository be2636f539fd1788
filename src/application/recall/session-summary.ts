/**
 * The summary of a session that its program is about to compact: the rules and the working state, from the recorded
 * messages, by rules and without a model.
 */
import { stateText } from '../../domain/conversation/working-state-view.js'
import { applyOperations } from '../../domain/conversation/working-state.js'
import { NO_STATE, type RecordedEvent } from '../../domain/events/index.js'
import { many } from '../../domain/text/count.js'
import { quote } from '../../domain/text/quote.js'
import { contentText } from '../../domain/values/message.js'
import { OWN_SUMMARY_BEGINNING } from '../../domain/values/own-compactor.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { isOfType } from '../recording/read-event.js'
import { operationsFor, type StateMessage } from '../working-state/operations.js'

/** What a program is about to compact. */
export interface SessionToSummarize {
  /** Messages that leave the context, or have left it before, in order. */
  readonly messageIds: readonly string[]
  /** Rules that apply whatever the session says: those of a rule file, and confirmed ones. */
  readonly rules: readonly string[]
  /** The most tokens of the summary. */
  readonly maxTokens: number
  /** The most tokens of sentences of the agent. */
  readonly maxFacts: number
}

/** A summary, or why there is none. */
export type SessionSummary =
  | {
      readonly kind: 'made'
      readonly text: string
      /** Estimated tokens of the text. */
      readonly tokens: number
      /** Estimated tokens of all that it replaces. */
      readonly replacedTokens: number
      /** The last revision that was read. */
      readonly revision: number
    }
  | { readonly kind: 'none'; readonly reason: string }

/** A summary takes at most this share of what it replaces. */
const MOST_SHARE = 0.5
const MOST_PINNED = 400

/** The messages of a session, and what its program's last compaction left. */
export class RecordedSession {
  readonly messages = new Map<string, StateMessage>()
  readonly pinned = new Set<string>()
  revision = -1
  coversMissing = false
  /** The project folder, if the program recorded it. */
  project: string | undefined
  /** Whether a person confirmed, dropped or added a rule. */
  hasJudgedRules = false
  /** The messages in the context of the program; undefined before the first compaction: all. */
  private kept: Set<string> | undefined
  private summary = ''

  take(event: RecordedEvent): void {
    this.revision = event.revision
    if (isOfType(event, 'MessageAppended')) {
      this.messages.set(event.data.messageId, { ...event.data, revision: event.revision })
      if (event.data.pinned === true) this.pinned.add(event.data.messageId)
      this.kept?.add(event.data.messageId)
    } else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) this.messages.delete(messageId)
    else if (isOfType(event, 'ConversationObserved')) this.project = event.data.cwd
    else if (isOfType(event, 'RuleAdded', 'RuleJudged')) this.hasJudgedRules = true
    else if (isOfType(event, 'MessagePinned')) this.pinned.add(event.data.messageId)
    else if (isOfType(event, 'MessageUnpinned')) this.pinned.delete(event.data.messageId)
    else if (isOfType(event, 'CompactionObserved')) {
      const { context, summary, coversMissing } = event.data
      this.kept = new Set(context.flatMap((entry) => (entry.kind === 'message' ? [entry.messageId] : [])))
      this.summary = summary.kind === 'text' ? summary.text : ''
      this.coversMissing ||= coversMissing === true
    }
  }

  /** The messages with these ids, and the estimated tokens of those in the context, with the last summary. */
  covered(messageIds: readonly string[]): { readonly messages: readonly StateMessage[]; readonly tokens: number } {
    const recorded = messageIds.flatMap((id) => this.messages.get(id) ?? [])
    // Instructions of the program stay in its context.
    const messages = recorded.filter(({ role }) => role !== 'system')
    const inContext = messages.filter(({ messageId }) => this.kept?.has(messageId) !== false)
    return {
      messages,
      tokens: inContext.reduce((sum, { tokens }) => sum + tokens, defaultEstimator.text(this.summary)),
    }
  }
}

const headOf = (messages: number): string =>
  `${OWN_SUMMARY_BEGINNING}${many(messages, 'message')} compacted without a model; r163 is the message at revision 163 of its log]`

const sectionOf = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `## ${title}\n${lines.map((line) => `- ${line}`).join('\n')}\n\n`

/** Makes the summary. `session` has taken all events of the conversation, in order. */
export async function summarizeSession(
  session: RecordedSession,
  { messageIds, rules, maxTokens, maxFacts }: SessionToSummarize,
): Promise<SessionSummary> {
  if (session.coversMissing)
    return { kind: 'none', reason: 'an earlier compaction covers messages that are not recorded' }
  const { messages, tokens: replacedTokens } = session.covered(messageIds)
  const limit = Math.floor(Math.min(maxTokens, replacedTokens * MOST_SHARE))
  const pinned = messages.filter(({ messageId }) => session.pinned.has(messageId))
  const head = [
    `${headOf(messages.length)}\n\n`,
    sectionOf('Rules', [...new Set(rules)]),
    sectionOf(
      'Pinned messages',
      pinned.map(({ content, revision }) => `r${String(revision)}: “${quote(contentText(content), MOST_PINNED)}”`),
    ),
  ].join('')
  const operations = await operationsFor(NO_STATE, messages, { maxTokens, maxFacts })
  const room = limit - defaultEstimator.text(`${head}## Working state\n`)
  const items = room > 0 ? stateText(applyOperations(NO_STATE, operations), room, defaultEstimator) : undefined
  if (items === undefined) return { kind: 'none', reason: 'the summary would not be smaller than the messages' }
  const text = `${head}## Working state\n${items}\n`
  return { kind: 'made', text, tokens: defaultEstimator.text(text), replacedTokens, revision: session.revision }
}
