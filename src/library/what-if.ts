/** What conversations would have come to under other policies. */
import { unknownName } from '../domain/text/known-names.js'
import { createWhatIf } from '../application/editions/what-if.js'
import type { Gate } from './gate.js'
import type { EditionsTried, TriedPolicy, WhatIfOptions } from './ledger.js'
import type { Lookup } from './lookup.js'
import { bad, conversationsGiven, listenerGiven, optionsGiven, settingsOf, textGiven, type Names } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

const WHAT_IF: Names<WhatIfOptions> = { policies: true, summaries: true, onConversation: true }

/** The policies to try, checked. */
function policiesGiven(policies: readonly TriedPolicy[] | undefined): TriedPolicy[] {
  if (!Array.isArray(policies) || policies.length === 0) throw bad('policies', 'are missing: name at least one')
  // A list with holes passes them over, and a hole is no policy.
  return Array.from(policies, (each: (typeof policies)[number], at) => {
    const field = `policies[${String(at)}]`
    if (typeof each !== 'object' || each === null) throw bad(field, 'must have a name and settings')
    textGiven(`${field}.name`, each.name)
    const wrong = unknownName(each, ['name', 'settings'], 'field of a policy to try')
    if (wrong !== undefined) throw bad(`${field}.${wrong.field}`, wrong.detail)
    return { name: each.name, settings: settingsOf(each.settings) ?? {} }
  })
}

export interface WhatIfParts extends Pick<LedgerParts, 'log' | 'clock' | 'fallback' | 'onProblem'> {
  readonly gate: Gate
  readonly lookup: Lookup
}

export function createWhatIfCalls(parts: WhatIfParts): Pick<EditionsTried, 'whatIf'> {
  const { log, clock, fallback, onProblem, gate, lookup } = parts
  const whatIf = createWhatIf({ log, clock, extractive: fallback })
  return {
    async whatIf(conversationIds, options) {
      gate.open()
      const { policies, onConversation, ...given } = optionsGiven('editions.whatIf', options, WHAT_IF)
      const listener = listenerGiven('onConversation', onConversation, onProblem)
      const tried = policiesGiven(policies)
      const selection = conversationsGiven('conversationIds', conversationIds)
      const ids = selection === 'all' ? await lookup.all() : selection
      if (ids.length === 0) throw bad('conversationIds', 'are missing: there is no conversation')
      const request = {
        conversationIds: ids,
        goesOn: selection === 'all',
        policies: tried,
        ...given,
        onConversation: listener,
      }
      return valueOf(await whatIf(request), problem)
    },
  }
}
