/** Redaction and the search for secrets, for hosts and operators. */
import { scanSecrets } from '../application/audit/scan-secrets.js'
import { conversationsOfLog } from '../application/recording/conversation-streams.js'
import { redactorFor } from '../application/recording/redaction.js'
import type { Gate } from './gate.js'
import type { LedgerSecrets, ScanSecretsOptions } from './ledger-secrets.js'
import type { Lookup } from './lookup.js'
import { listenerGiven, nameOf, optionsGiven, settingsOf, type Names } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

const SCAN: Names<ScanSecretsOptions> = { conversationId: true, onConversation: true }

export function createSecrets({
  log,
  policy,
  onProblem,
  gate,
  lookup,
}: Pick<LedgerParts, 'log' | 'policy' | 'onProblem'> & {
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
      const { conversationId, onConversation } = optionsGiven('admin.secrets.scan', options, SCAN)
      const listener = listenerGiven('onConversation', onConversation, onProblem)
      gate.open()
      if (conversationId !== undefined) await lookup.existing(nameOf('conversationId', conversationId))
      const ids = conversationId === undefined ? conversationsOfLog(log) : [conversationId]
      let conversations = 0
      const secrets = []
      for await (const found of scanSecrets(log, ids, policy)) {
        conversations += 1
        secrets.push(...found.secrets)
        listener?.(conversations)
      }
      return { conversations, secrets }
    },
  }
}
