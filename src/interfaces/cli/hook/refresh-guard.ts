/** Keeps the rules of the guard as the ledger has them. Called by everything on this machine that may change them. */
import type { Ledger, RuleList } from '../../../library/ledger.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import { agentPrograms } from '../install/index.js'
import { findInstallation } from '../install/installation.js'
import { guardedConversations, removeGuarded, writeGuarded } from './guard-folder.js'
import { guardedRule } from './guarded-rules.js'

/** Whether the guard is installed for a program of this machine. */
const isInstalled = (folder: string): boolean =>
  agentPrograms.some(({ name }) => findInstallation(folder, name)?.guard !== undefined)

function writeRules(folder: string, { conversationId, project, rules }: RuleList): void {
  const inForce = rules.filter(({ standing, takenBack }) => standing === 'confirmed' && takenBack === undefined)
  writeGuarded(folder, {
    origin: conversationId,
    project,
    // A rule that no call can break costs only time.
    rules: inForce.map(guardedRule).filter(({ conditions }) => conditions.length > 0),
  })
}

/** Writes the rules of conversations for the guard, if it is installed. */
export async function refreshGuard(
  { rules }: Pick<Ledger, 'rules'>,
  conversationIds: readonly string[],
  folder: string,
): Promise<void> {
  if (!isInstalled(folder)) return
  for (const id of conversationIds)
    try {
      writeRules(folder, await rules.list(id))
    } catch (error) {
      // It is of another ledger.
      if (!isLedgerError(error, 'NoSuchConversation')) throw error
    }
}

/** Writes the rules again of all conversations whose rules the guard has: after an erasure, whatever it erased. */
export const refreshGuarded = async (ledger: Pick<Ledger, 'rules'>, folder: string): Promise<void> => {
  await refreshGuard(ledger, guardedConversations(folder), folder)
}

/** Writes the rules of all conversations of a ledger for the guard. */
export async function fillGuard({ rules }: Pick<Ledger, 'rules'>, folder: string): Promise<void> {
  for (const list of await rules.confirmed()) writeRules(folder, list)
}

/** Removes the rules, unless a program has the guard. */
export function emptyGuard(folder: string): void {
  if (!isInstalled(folder)) removeGuarded(folder)
}
