/**
 * What a server is bound to when it is made: one conversation, or the conversations of one scope. Everything that a
 * client names goes through here, and what lies outside is answered as what is not there.
 */
import type { ConversationSummary, Ledger } from '../library/ledger.js'
import { nameOf } from '../library/options.js'
import { problem } from '../library/problem.js'

/** One conversation; or those of a scope, where `null` stands for the conversations that name none. */
export type BoundTo = { readonly conversationId: string } | { readonly scope: string | null }

export interface Binding {
  /** The one conversation; undefined where it is a scope. */
  readonly conversationId: string | undefined
  /** The scope; undefined where it is one conversation. */
  readonly scope: string | null | undefined
  /** The id of a conversation that lies within; throws `NoSuchConversation` for any other. */
  readonly within: (conversationId: string) => Promise<string>
  /** The conversations within whose id has this in it, the one that something happened in last first. */
  readonly find: (match: string, limit: number) => Promise<readonly ConversationSummary[]>
}

type BoundLedger = Pick<Ledger, 'log' | 'list'>

/** Binds to one conversation, whether or not anything is recorded of it yet. */
function toConversation(ledger: BoundLedger, conversationId: string): Binding {
  return {
    conversationId,
    scope: undefined,
    within: (given) =>
      given === conversationId
        ? Promise.resolve(given)
        : Promise.reject(problem({ kind: 'NoSuchConversation', conversationId: given })),
    async find(match) {
      if (!conversationId.toLowerCase().includes(match.toLowerCase())) return []
      const { conversations } = await ledger.list({ match: conversationId })
      return conversations.filter((each) => each.conversationId === conversationId)
    },
  }
}

function toScope(ledger: BoundLedger, scope: string | null): Binding {
  return {
    conversationId: undefined,
    scope,
    async within(given) {
      // The first fact names the scope, for ever. Rows may be behind; the log is not.
      for await (const first of ledger.log(nameOf('conversation', given), { limit: 1 })) {
        if (first.type === 'ConversationConfigured' && (first.data.scope ?? null) === scope) return given
      }
      throw problem({ kind: 'NoSuchConversation', conversationId: given })
    },
    async find(match, limit) {
      const matching = match === '' ? {} : { match }
      if (scope !== null) return (await ledger.list({ ...matching, scope, limit })).conversations
      const { conversations } = await ledger.list(matching)
      return conversations.filter((each) => each.scope === undefined).slice(0, limit)
    },
  }
}

/** Checks what a server is to be bound to. Throws where it names nothing that could be recorded. */
export function createBinding(ledger: BoundLedger, boundTo: BoundTo): Binding {
  if ('conversationId' in boundTo)
    return toConversation(ledger, nameOf('boundTo.conversationId', boundTo.conversationId))
  return toScope(ledger, boundTo.scope === null ? null : nameOf('boundTo.scope', boundTo.scope))
}
