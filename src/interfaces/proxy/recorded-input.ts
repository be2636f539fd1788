/** Requests and answers as the ledger records them. */
import { recordable } from '../../lib/json.js'
import type { Context, MessageInput, SeenCompaction } from '../../library/ledger.js'
import { contentText, type Answer, type ProxyRequest, type SourceMessage } from '../../application/model-apis/api.js'
import type { Fields } from '../../application/model-apis/json.js'
import type { Restart } from './match-request.js'
import type { Entry, TrackedConversation } from './tracked-conversation.js'

/** How the stream of an answer ended: complete, interrupted by the client, or cut off by upstream. */
export type AnswerEnding = 'complete' | 'interrupted' | 'cut-off'

/** The attributes that a request adds to its last message: its model, and its tools if they changed. */
export const requestAttributes = ({ model, tools }: ProxyRequest, hasNewTools: boolean): Fields => ({
  ...(model === undefined ? {} : { model }),
  ...(hasNewTools && tools.length > 0 ? { tools: recordable(tools) } : {}),
})

/** Messages with the ids of their entries; the last one also gets `attributes`. */
export const withIds = (
  messages: readonly SourceMessage[],
  entries: readonly Entry[],
  attributes: Fields,
): MessageInput[] =>
  messages.map(({ input }, index) => ({
    ...input,
    id: entries[index]?.id,
    ...(index === messages.length - 1 && Object.keys(attributes).length > 0
      ? { attributes: { ...input.attributes, ...attributes } }
      : {}),
  }))

/** The summary of a program's own compaction: its text, or that only its provider can read it. */
export function summaryOf(summary: SourceMessage | undefined): SeenCompaction['summary'] {
  const text = contentText(summary?.input.content)
  if (text !== '') return { kind: 'text', text }
  return summary === undefined ? { kind: 'none' } : { kind: 'opaque' }
}

/** Identifies a program's own compaction, so that it is recorded once. */
export const compactionSourceId = (
  { branchSeed, entries }: TrackedConversation,
  messages: readonly SourceMessage[],
): string => `${branchSeed}-${String(entries.length)}-${messages[0]?.hash ?? ''}`

/** The ids of the question for a summary and of its answer: they were not turns of the conversation. */
export function summaryTurnIds({ entries }: TrackedConversation, { answerId }: Pick<Restart, 'answerId'>): string[] {
  const [question, answer] = entries.slice(-2)
  if (answer?.id === undefined || answer.id !== answerId || question?.role !== 'user') return []
  return [question.id, answer.id].filter((id) => id !== undefined)
}

/**
 * The message of an answer; undefined if the model sent none.
 * @param more attributes to add
 */
export function answerInput(
  answer: Answer,
  ending: AnswerEnding,
  context: Context | undefined,
  more: Fields,
): MessageInput | undefined {
  const { message, isComplete, responseId, model, usage, finish, compactions = [] } = answer
  if (message === undefined) return undefined
  // A client may disconnect after the end of the answer: such an answer is complete.
  const state = isComplete ? {} : ending === 'interrupted' ? { interrupted: true } : { incomplete: true }
  const attributes = {
    ...(model === undefined ? {} : { model }),
    ...(responseId === undefined ? {} : { answerId: responseId }),
    ...(usage === undefined ? {} : { usage }),
    ...(finish === undefined ? {} : { finish }),
    ...(compactions.length === 0 ? {} : { compactions: recordable(compactions) }),
    ...state,
    ...more,
  }
  const { tool_calls: calls, ...rest } = message
  return {
    ...message,
    // An incomplete answer may end within a call, so its calls are recorded as data.
    ...(!isComplete
      ? {
          ...rest,
          tool_calls: undefined,
          content: message.content ?? '',
          ...(calls === undefined ? {} : { unfinished_calls: calls }),
        }
      : {}),
    attributes,
    ...(context === undefined ? {} : { answers: { revision: String(context.revision), hash: context.hash } }),
  }
}
