/** What the model sees, and what is live; now or at a moment. */
import { contextIn, contextOf } from '../domain/compaction/context.js'
import type { ContextState, Conversation } from '../domain/conversation/conversation.js'
import { checkId } from '../domain/values/ids.js'
import { parseMoment } from '../domain/values/moment.js'
import { conversationAt, liveIn } from '../application/history/time-travel.js'
import * as calls from '../schema/calls/messages.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { At, Ledger } from './ledger.js'
import type { Lookup } from './lookup.js'
import { loadContext, loadConversation, type Log } from '../application/recording/load-conversation.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

export interface ContextsParts extends Pick<LedgerParts, 'log' | 'clock'> {
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
}

export function createContexts(parts: ContextsParts): Pick<Ledger, 'context' | 'messages'> {
  const { log, clock, gate, freshness, lookup } = parts

  /** The conversation as it is, or as it was at a moment. */
  async function stateAt<State extends ContextState>(
    conversationId: string,
    at: At | undefined,
    load: (log: Log, conversationId: string, at: number) => Promise<State>,
  ): Promise<State | Conversation> {
    if (at === undefined) return await lookup.existing(conversationId)
    gate.open()
    valueOf(checkId('conversationId', conversationId), problem)
    const moment = valueOf(parseMoment('at', at), problem)
    return valueOf(await conversationAt(log, conversationId, moment, clock.now(), load), problem)
  }

  return {
    async context(conversationId, options) {
      const { at, view: viewName, ...wait } = gate.enter(calls.context, options)
      await freshness.waitForLog(wait)
      return viewName === undefined
        ? valueOf(contextOf(await stateAt(conversationId, at, loadContext)), problem)
        : valueOf(contextIn(await stateAt(conversationId, at, loadConversation), viewName), problem)
    },
    async messages(conversationId, options) {
      const { at, ...wait } = gate.enter(calls.messages, options)
      await freshness.waitForLog(wait)
      return liveIn(await stateAt(conversationId, at, loadContext))
    },
  }
}
