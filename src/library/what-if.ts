/** The library call `editions.whatIf`: validates its input, and simulates the policies. */
import { createWhatIf } from '../application/editions/what-if.js'
import type { Gate } from './gate.js'
import * as calls from '../schema/calls/editions.js'
import type { EditionsTried } from './ledger.js'
import type { Lookup } from './lookup.js'
import { bad, conversationsGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

export interface WhatIfParts extends Pick<LedgerParts, 'log' | 'clock' | 'fallback'> {
  readonly gate: Gate
  readonly lookup: Lookup
}

export function createWhatIfCalls(parts: WhatIfParts): Pick<EditionsTried, 'whatIf'> {
  const { log, clock, fallback, gate, lookup } = parts
  const whatIf = createWhatIf({ log, clock, extractive: fallback })
  return {
    async whatIf(conversationIds, options) {
      const parsedOptions = gate.enter(calls.whatIf, options)
      const selection = conversationsGiven('conversationIds', conversationIds)
      const ids = selection === 'all' ? await lookup.all() : selection
      if (ids.length === 0)
        throw bad('conversationIds', "are 'all', but the ledger has no conversations: record or import one")
      const request = {
        conversationIds: ids,
        goesOn: selection === 'all',
        ...parsedOptions,
      }
      return valueOf(await whatIf(request), problem)
    },
  }
}
