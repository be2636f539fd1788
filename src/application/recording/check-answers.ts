/**
 * Checks the `answers` of assistant messages: revision and hash must be those of a context of the conversation, in the
 * configured view or the other one, which is available too.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { BadMessage } from '../../domain/values/parse-message.js'
import { VIEWS } from '../../domain/values/view-names.js'
import { isOfType } from './read-event.js'
import { loadConversation, type Log } from './load-conversation.js'
import { contextIn } from '../../domain/compaction/context.js'

/**
 * Whether a context of this state has the hash. The other view is built only if the first does not match, since
 * contexts are most of the cost of an append.
 */
const hasContext = (state: Conversation, wanted: string): boolean =>
  VIEWS.some((view) => E.exists(({ hash }: { readonly hash: string }) => hash === wanted)(contextIn(state, view)))

/**
 * The failure of the first event whose `answers` is not a context, or undefined.
 * @param state the conversation before these events. Its own contexts need no reads; an older revision must be loaded
 */
export async function wrongAnswer(
  log: Log,
  state: Conversation,
  events: readonly RecordedEvent[],
): Promise<BadMessage | undefined> {
  const known = new Map<number, Conversation>([[state.revision, state]])
  for (const event of events) {
    if (!isOfType(event, 'MessageAppended') || event.data.answers === undefined) continue
    const {
      messageId,
      answers: { revision: answeredRevision, hash },
    } = event.data
    // A message that is repeated because the list was edited was checked when it was first recorded.
    if (
      [...state.retained, ...state.window].some(
        ({ answers }) => answers?.revision === answeredRevision && answers.hash === hash,
      )
    )
      continue
    const revision = Number(answeredRevision)
    if (revision > state.revision) {
      const range = state.revision < 0 ? 'there is none yet' : `they go up to ${String(state.revision)}`
      return {
        kind: 'BadMessage',
        field: 'answers.revision',
        detail: `of message "${messageId}" is ${answeredRevision}, and the conversation has no such revision: ${range}`,
      }
    }
    const then = known.get(revision) ?? (await loadConversation(log, state.conversationId, revision))
    known.set(revision, then)
    if (!hasContext(then, hash))
      return {
        kind: 'BadMessage',
        field: 'answers.hash',
        detail: `of message "${messageId}" is not that of the context at revision ${answeredRevision}`,
      }
  }
  return undefined
}
