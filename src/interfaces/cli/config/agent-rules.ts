/** Reads and checks the rules of conversations with the rule files that their agents load by themselves. */
import { resolve } from 'node:path'
import { homeFolder } from '../../../lib/user-folders.js'
import type { CheckRulesOptions, ConversationSummary, Ledger, RuleFile, RuleTotals } from '../../../library/ledger.js'
import { withCatchUpProgress } from '../catching-up.js'
import { titleOfProgram } from '../../../application/importers/index.js'
import { note, noteColours, printable } from '../output.js'
import { agentRuleFiles, programsWithRuleFiles } from './agent-rule-files.js'

/** A conversation, or all, with the newest events. */
async function sessionsOf(ledger: Ledger, conversationId: string | undefined): Promise<readonly ConversationSummary[]> {
  const { conversations } = await withCatchUpProgress(ledger.admin.projections, () =>
    ledger.list(conversationId === undefined ? { sort: 'id' } : { prefix: conversationId, sort: 'id' }),
  )
  return conversationId === undefined
    ? conversations
    : conversations.filter((session) => session.conversationId === conversationId)
}

/** The named rule files and those of the agent, each once. A file that is both is loaded by the agent. */
async function filesWith(
  session: ConversationSummary,
  named: readonly RuleFile[],
  onNone?: (session: ConversationSummary) => void,
): Promise<readonly RuleFile[]> {
  const ofAgent = new Map(await agentRuleFiles(session, process.env, homeFolder()))
  if (ofAgent.size === 0) onNone?.(session)
  const both = named.map((file) => {
    const path = resolve(file.name)
    const { loadedBy, changedAt } = ofAgent.get(path) ?? {}
    ofAgent.delete(path)
    return loadedBy === undefined ? file : { ...file, loadedBy, changedAt }
  })
  const names = new Set(named.map(({ name }) => name))
  // Ids of rules begin with the name of the file.
  const others = Array.from(ofAgent, ([path, file]) => (names.has(file.name) ? { ...file, name: path } : file))
  return [...both, ...others]
}

/** Says why a session has no rule files of its agent. */
function noteNone({ program, project }: ConversationSummary): void {
  const known = programsWithRuleFiles()
  const title = program === undefined ? undefined : titleOfProgram(program)
  note(
    noteColours.dim(
      title === undefined || !known.includes(title)
        ? `--agent-rules finds no rule files of ${title ?? 'a conversation that no program recorded'}: it knows those of ${known.join(', ')}`
        : `--agent-rules found no rule file that ${title} loads${project === undefined ? ': the project folder is unknown' : ` for ${printable(project)}`}`,
    ),
  )
}

/** The rule files of a conversation's agent, after those that the user named. Of one name, the named file counts. */
export async function withAgentRules(
  ledger: Ledger,
  conversationId: string,
  named: readonly RuleFile[],
): Promise<readonly RuleFile[]> {
  const [session] = await sessionsOf(ledger, conversationId)
  return session === undefined ? named : await filesWith(session, named, noteNone)
}

/** Checks a conversation, or all, each with the rule files of its own agent. */
export async function checkWithAgentRules(
  ledger: Ledger,
  conversationId: string | undefined,
  { files: named = [], onConversation, ...options }: CheckRulesOptions,
): Promise<RuleTotals> {
  const totals = { conversations: 0, rules: 0, judged: 0, broken: 0, breaks: 0, withoutRule: 0 }
  for (const session of await sessionsOf(ledger, conversationId)) {
    const files = await filesWith(session, named, conversationId === undefined ? undefined : noteNone)
    const found = await ledger.rules.check(session.conversationId, {
      ...options,
      files,
      // Of many conversations, those without a rule are not shown.
      onConversation: (check) =>
        conversationId === undefined && check.rules.length === 0 ? undefined : onConversation?.(check),
    })
    totals.conversations += found.conversations
    totals.rules += found.rules
    totals.judged += found.judged
    totals.broken += found.broken
    totals.breaks += found.breaks
    totals.withoutRule += found.withoutRule
  }
  return totals
}
