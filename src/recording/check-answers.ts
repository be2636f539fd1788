/**
 * Whether what an assistant's message says that it answers is a context of its conversation: the one as of that
 * revision, through the view in force or the other one, which is handed out too.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { BadMessage } from '../domain/values/message.js'
import { VIEWS } from '../domain/values/view-names.js'
import { isOfType } from './read-event.js'
import { loadConversation, type Log } from './load-conversation.js'
import { contextIn } from '../domain/compaction/context.js'

/**
 * Whether a context of this state was handed out under a hash. The other view is made only where the first is not the
 * one: a context is most of what an append costs.
 */
const hasContext = (state: Conversation, wanted: string): boolean =>
  VIEWS.some((view) => E.exists(({ hash }: { readonly hash: string }) => hash === wanted)(contextIn(state, view)))

/**
 * The first of the facts that says it answers what was no context, as a refusal; undefined where there is none.
 * @param state the conversation before these facts. A context of it costs no read, one of an older revision a load as
 * of that one
 */
export async function wrongAnswer(
  log: Log,
  state: Conversation,
  events: readonly RecordedEvent[],
): Promise<BadMessage | undefined> {
  const known = new Map<bigint, Conversation>([[state.revision, state]])
  for (const event of events) {
    if (!isOfType(event, 'MessageAppended') || event.data.answers === undefined) continue
    const {
      messageId,
      answers: { revision: given, hash },
    } = event.data
    // What is said anew, because a list was edited before it, was looked at when it was first recorded.
    if (
      [...state.retained, ...state.window].some(({ answers }) => answers?.revision === given && answers.hash === hash)
    )
      continue
    const revision = BigInt(given)
    if (revision > state.revision) {
      const there = state.revision < 0n ? 'there is none yet' : `they go up to ${String(state.revision)}`
      return {
        kind: 'BadMessage',
        field: 'answers.revision',
        detail: `of message "${messageId}" is ${given}, and the conversation has no such revision: ${there}`,
      }
    }
    const then = known.get(revision) ?? (await loadConversation(log, state.conversationId, revision))
    known.set(revision, then)
    if (!hasContext(then, hash))
      return {
        kind: 'BadMessage',
        field: 'answers.hash',
        detail: `of message "${messageId}" is not that of the context at revision ${given}`,
      }
  }
  return undefined
}
