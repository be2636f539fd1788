/** Finds conversations by id. An unknown id throws and suggests the nearest one. */
import { conversationsOfLog } from '../application/recording/conversation-streams.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { checkId, conversationStream } from '../domain/values/ids.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { Log } from '../application/recording/load-conversation.js'
import type { Gate } from './gate.js'
import { problem, valueOf } from './problem.js'

export interface Lookup {
  /** Throws if the conversation does not exist. Enough for callers that only read events. */
  readonly isThere: (conversationId: string) => Promise<void>
  /** The state of a conversation; undefined if it does not exist. */
  readonly find: (conversationId: string) => Promise<Conversation | undefined>
  /** The state of a conversation; throws if it does not exist. */
  readonly existing: (conversationId: string) => Promise<Conversation>
  /** The ids of all conversations of the log. */
  readonly all: () => Promise<string[]>
}

export function createLookup({
  log,
  conversations,
  gate,
}: {
  readonly log: Log
  readonly conversations: Pick<Conversations, 'load'>
  readonly gate: Gate
}): Lookup {
  async function find(conversationId: string): Promise<Conversation | undefined> {
    gate.open()
    valueOf(checkId('conversationId', conversationId), problem)
    const state = await conversations.load(conversationId)
    return state.revision < 0 ? undefined : state
  }

  return {
    find,
    async isThere(conversationId) {
      gate.open()
      valueOf(checkId('conversationId', conversationId), problem)
      if ((await log.store.streamRevision(conversationStream(conversationId))) < 0)
        throw problem({ kind: 'NoSuchConversation', conversationId })
    },
    async existing(conversationId) {
      const state = await find(conversationId)
      if (state === undefined) throw problem({ kind: 'NoSuchConversation', conversationId })
      return state
    },
    async all() {
      const ids: string[] = []
      for await (const conversationId of conversationsOfLog(log)) ids.push(conversationId)
      return ids
    },
  }
}
