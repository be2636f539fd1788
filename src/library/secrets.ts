/** Redaction and the search for secrets, for hosts and operators. */
import { scanSecrets } from '../application/audit/scan-secrets.js'
import { conversationsOfLog } from '../application/recording/conversation-streams.js'
import { redactorFor } from '../application/recording/redaction.js'
import type { Gate } from './gate.js'
import * as calls from '../schema/calls/history.js'
import type { LedgerSecrets } from './ledger-secrets.js'
import type { Lookup } from './lookup.js'
import { settingsOf } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

export function createSecrets({
  log,
  policy,
  gate,
  lookup,
}: Pick<LedgerParts, 'log' | 'policy'> & {
  readonly gate: Gate
  readonly lookup: Lookup
}): LedgerSecrets {
  return {
    async redactor(settings) {
      gate.open()
      const checked = settingsOf(settings)
      const redactor = valueOf(await redactorFor(log, { ...policy, ...checked }), problem)
      return (value) => redactor?.json(value).value ?? value
    },
    async scan(options) {
      const { conversationId, onConversation } = gate.enter(calls.scanSecrets, options)
      if (conversationId !== undefined) await lookup.existing(conversationId)
      const ids = conversationId === undefined ? conversationsOfLog(log) : [conversationId]
      let conversations = 0
      const secrets = []
      for await (const found of scanSecrets(log, ids, policy)) {
        conversations += 1
        secrets.push(...found.secrets)
        onConversation?.(conversations)
      }
      return { conversations, secrets }
    },
  }
}
