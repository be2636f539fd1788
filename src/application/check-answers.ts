/**
 * Whether what an assistant's message says that it answers is a context of its conversation: the one as of that revision, through the view in
 * force or the other one, which is handed out too.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../domain/conversation.js'
import type { RecordedFact } from '../domain/events.js'
import type { BadMessage } from '../domain/message.js'
import { VIEWS } from '../domain/view-names.js'
import { isOfType } from './facts.js'
import { loadConversation, type Log } from './load-conversation.js'
import { contextIn } from './time-travel.js'

/** The hashes of the contexts that were handed out of a state; none where there was no context. */
const hashesOf = (state: Conversation): string[] => VIEWS.flatMap((view) => E.foldW(() => [], ({ hash }: { readonly hash: string }) => [hash])(contextIn(state, view)))

/**
 * The first of the facts that says it answers what was no context, as a refusal; undefined where there is none.
 * @param state the conversation before these facts. A context of it costs no read, one of an older revision a load as of that one
 */
export async function wrongAnswer(log: Log, state: Conversation, facts: readonly RecordedFact[]): Promise<BadMessage | undefined> {
  const known = new Map<bigint, readonly string[]>()
  for (const fact of facts) {
    if (!isOfType(fact, 'MessageAppended') || fact.data.answers === undefined) continue
    const { messageId, answers: { revision: given, hash } } = fact.data
    // What is said anew, because a list was edited before it, was looked at when it was first recorded.
    if ([...state.kept, ...state.window].some(({ answers }) => answers?.revision === given && answers.hash === hash)) continue
    const revision = BigInt(given)
    if (revision > state.revision) {
      const there = state.revision < 0n ? 'there is none yet' : `they go up to ${String(state.revision)}`
      return { kind: 'BadMessage', field: 'answers.revision', detail: `of message "${messageId}" is ${given}, and the conversation has no such revision: ${there}` }
    }
    const hashes = known.get(revision) ?? hashesOf(revision === state.revision ? state : await loadConversation(log, state.conversationId, revision))
    known.set(revision, hashes)
    if (!hashes.includes(hash)) return { kind: 'BadMessage', field: 'answers.hash', detail: `of message "${messageId}" is not that of the context at revision ${given}` }
  }
  return undefined
}
