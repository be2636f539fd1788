/** The agent's own tools, bound to its conversation. */
import type { Compaction } from '../compaction/compact.js'
import { decodeEvent } from '../recording/read-event.js'
import { readMemory } from '../retrieval/read-memory.js'
import { createAgentTools } from './agent-tools.js'
import type { ActorOptions, AgentToolOptions, Ledger } from './ledger.js'
import type { Lookup } from './lookup.js'
import { ACTOR, nameOf, optionsGiven, wholeNumberGiven, type Names } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { Find } from './searching.js'

const OPTIONS: Names<AgentToolOptions> = { hitCharacters: true, answerCharacters: true, ...ACTOR }

export interface ToolsParts extends Pick<LedgerParts, 'log'> {
  readonly find: Find
  readonly compact: (conversationId: string, options: ActorOptions) => Promise<Compaction>
  readonly lookup: Lookup
}

export function createTools({ log, find, compact, lookup }: ToolsParts): Pick<Ledger, 'tools'> {
  const memory = {
    store: log.store,
    decode: (stored: Parameters<typeof decodeEvent>[0]) => decodeEvent(stored, log.bodies),
    find,
  }
  return {
    tools: (conversationId, options) => {
      const { actor, ...limits } = optionsGiven('tools', options, OPTIONS)
      const asking = actor === undefined ? {} : { actor: nameOf('actor', actor) }
      wholeNumberGiven('hitCharacters', limits.hitCharacters, 1)
      wholeNumberGiven('answerCharacters', limits.answerCharacters, 1)
      return createAgentTools(
        {
          memoryRead: async (query, limit) =>
            valueOf(await readMemory(memory, await lookup.existing(conversationId), query, limit), problem),
          compact: () => compact(conversationId, asking),
        },
        limits,
      )
    },
  }
}
