/** Keeps the rules of the guard as the ledger has them. Commands call it that change rules, and the worker after an import. */
import { isInForce } from '../../../domain/rules/rule.js'
import type { Ledger, RuleList } from '../../../library/ledger.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import { agentPrograms } from '../install/index.js'
import { findInstallation } from '../install/installation.js'
import { guardedConversations, writeGuarded } from './guard-folder.js'
import { guardedRule } from './guarded-rules.js'

type RulesOf = Pick<Ledger, 'rules'> & { readonly admin: Pick<Ledger['admin'], 'identity'> }

/** Whether the guard is installed for a program of this machine. A record that cannot be read may be one. */
const isGuardInstalled = (folder: string): boolean =>
  agentPrograms.some(({ name }) => {
    try {
      return findInstallation(folder, name)?.guard !== undefined
    } catch {
      return true
    }
  })

function writeRules(folder: string, ledger: string, { conversationId, project, rules }: RuleList): void {
  writeGuarded(folder, {
    ledger,
    origin: conversationId,
    project,
    // A rule that no call can break costs only time.
    rules: rules
      .filter(isInForce)
      .map(guardedRule)
      .filter(({ conditions }) => conditions.length > 0),
  })
}

async function refresh({ rules }: RulesOf, ledger: string, ids: readonly string[], folder: string): Promise<void> {
  for (const id of ids)
    try {
      writeRules(folder, ledger, await rules.list(id))
    } catch (error) {
      if (!isLedgerError(error, 'NoSuchConversation')) throw error
      writeGuarded(folder, { ledger, origin: id, rules: [] })
    }
}

/** A ledger has an origin since its first event. */
const originOf = async ({ admin }: RulesOf): Promise<string> => (await admin.identity()).origin?.id ?? ''

/** Writes the rules of conversations for the guard, if it is installed. */
export async function refreshGuard(ledger: RulesOf, conversationIds: readonly string[], folder: string): Promise<void> {
  if (isGuardInstalled(folder)) await refresh(ledger, await originOf(ledger), conversationIds, folder)
}

/** Writes the rules again of all conversations of a ledger that the guard has: after an erasure, whatever it erased. */
export async function refreshGuarded(ledger: RulesOf, folder: string): Promise<void> {
  if (!isGuardInstalled(folder)) return
  const origin = await originOf(ledger)
  await refresh(ledger, origin, guardedConversations(folder, origin), folder)
}

/** Writes the rules of all conversations of a ledger for the guard. */
export async function fillGuard(ledger: RulesOf, folder: string): Promise<void> {
  const origin = await originOf(ledger)
  for (const list of await ledger.rules.confirmed()) writeRules(folder, origin, list)
}
