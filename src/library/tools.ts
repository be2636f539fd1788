/** The agent's own tools, bound to its conversation. */
import type { Compaction } from '../application/compaction/compact.js'
import { decodeEvent } from '../application/recording/read-event.js'
import { readMemory } from '../application/search/read-memory.js'
import { createAgentTools } from './agent-tools.js'
import type { ChatParts } from './chat.js'
import type { ActorOptions } from './ledger.js'
import type { Lookup } from './lookup.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { Find } from './searching.js'

export interface ToolsParts extends Pick<LedgerParts, 'log'> {
  readonly find: Find
  readonly compact: (conversationId: string, options: ActorOptions) => Promise<Compaction>
  readonly lookup: Lookup
}

export function createTools({ log, find, compact, lookup }: ToolsParts): ChatParts['tools'] {
  const memory = {
    store: log.store,
    decode: (stored: Parameters<typeof decodeEvent>[0]) => decodeEvent(stored, log),
    find,
  }
  return (conversationId, { actor, ...limits }) =>
    createAgentTools(
      {
        memoryRead: async (query, limit) =>
          valueOf(await readMemory(memory, await lookup.existing(conversationId), query, limit), problem),
        compact: () => compact(conversationId, actor === undefined ? {} : { actor }),
      },
      limits,
    )
}
