/**
 * Binds a server to one conversation or to the conversations of one scope. Every id from a client is checked here. A
 * conversation outside the binding gives the same error as one that does not exist.
 */
import type { PartOf } from '../../library/call-paths.js'
import type { ConversationSummary, Ledger } from '../../library/ledger.js'
import { nameOf } from '../../library/options.js'
import { problem } from '../../library/problem.js'
import { list } from '../../schema/calls/conversations.js'

/** One conversation, or those of a scope. The scope `null` contains the conversations without a scope. */
export type BoundTo = { readonly conversationId: string } | { readonly scope: string | null }

export interface Binding {
  /** The one conversation; undefined if the server is bound to a scope. */
  readonly conversationId: string | undefined
  /** The scope; undefined if the server is bound to one conversation. */
  readonly scope: string | null | undefined
  /** Returns the id of a conversation within the binding. Throws `NoSuchConversation` for any other. */
  readonly requireConversation: (conversationId: string) => Promise<string>
  /** The conversations within the binding with `match` in their id, title or project; most recent message first. */
  readonly find: (match: string, limit: number) => Promise<readonly ConversationSummary[]>
}

/** The calls of the ledger that it makes, besides `log`. */
export const boundCalls = [list] as const

export type BoundLedger = PartOf<(typeof boundCalls)[number]['name']> & Pick<Ledger, 'log'>

/** Binds to one conversation, which may not exist yet. */
function bindToConversation(ledger: BoundLedger, conversationId: string): Binding {
  return {
    conversationId,
    scope: undefined,
    requireConversation: (id) =>
      id === conversationId
        ? Promise.resolve(id)
        : Promise.reject(problem({ kind: 'NoSuchConversation', conversationId: id })),
    async find(match) {
      const matching = match === '' ? {} : { match }
      const { conversations } = await ledger.list({ ...matching, countLost: true, prefix: conversationId })
      return conversations.filter((each) => each.conversationId === conversationId)
    },
  }
}

function bindToScope(ledger: BoundLedger, scope: string | null): Binding {
  return {
    conversationId: undefined,
    scope,
    async requireConversation(conversationId) {
      // The first event has the scope, which cannot change. Read models may lag; the log does not.
      for await (const first of ledger.log(nameOf('conversation', conversationId), { limit: 1 })) {
        if (first.type === 'ConversationConfigured' && (first.data.scope ?? null) === scope) return conversationId
      }
      throw problem({ kind: 'NoSuchConversation', conversationId })
    },
    async find(match, limit) {
      const matching = match === '' ? {} : { match }
      if (scope !== null) return (await ledger.list({ ...matching, countLost: true, scope, limit })).conversations
      const { conversations } = await ledger.list({ ...matching, countLost: true })
      return conversations.filter((each) => each.scope === undefined).slice(0, limit)
    },
  }
}

/** Creates a binding. Throws if the conversation id or the scope is not valid. */
export function createBinding(ledger: BoundLedger, boundTo: BoundTo): Binding {
  if ('conversationId' in boundTo)
    return bindToConversation(ledger, nameOf('boundTo.conversationId', boundTo.conversationId))
  return bindToScope(ledger, boundTo.scope === null ? null : nameOf('boundTo.scope', boundTo.scope))
}
