/**
 * The guard: compares a call that an agent is about to make with the rules of the user, and asks the user before the call
 * would break one. A call that breaks none is compared by its words alone. Otherwise the messages of the session decide:
 * the user may have allowed it, and a command that must run before it may have run.
 */
import { statSync } from 'node:fs'
import { stepsOf } from '../../../domain/rules/call-steps.js'
import { mayBreak } from '../../../domain/rules/may-break.js'
import { MOST_OF_RULE_FILE } from '../../../domain/rules/rule.js'
import { withBranch } from '../../../domain/rules/step-branch.js'
import { isRecord } from '../../../lib/is-record.js'
import { textIn } from '../../../lib/text-in.js'
import { checkedOutBranch } from './checked-out-branch.js'
import type { GuardAction } from './guard-action.js'
import { rulesFor, rulesOfGuardedFile, writeGuarded, type GuardedRule, type GuardedSession } from './guard-folder.js'
import { logProblem } from './hook-folder.js'

/** Surroundings of the guard. */
export interface GuardWorld {
  /** The private directory of hooks. */
  readonly folder: string
  readonly agent: string
  readonly action: GuardAction
  /** The path of the rule file; undefined if there is none. */
  readonly ruleFile: string | undefined
  readonly now: () => number
}

/** A call, as agents report it before it runs. */
interface GuardInput extends GuardedSession {
  readonly event: string
  readonly sessionId: string
  readonly transcript: string | undefined
  /** Whether to compare the call alone: its session is costly to read. */
  readonly isFirstLook: boolean
  readonly call: { readonly id: string; readonly name: string; readonly arguments: string }
}

function parseInput(text: string, agent: string): GuardInput {
  const input: unknown = JSON.parse(text)
  if (!isRecord(input)) throw new Error('the input is not a JSON object')
  const event = textIn(input['hook_event_name'])
  const sessionId = textIn(input['session_id'])
  const name = textIn(input['tool_name'])
  if (event === undefined || sessionId === undefined || name === undefined)
    throw new Error('the input has no hook_event_name, no session_id or no tool_name')
  const given = input['tool_input']
  return {
    event,
    sessionId,
    conversationId: `${agent}/${sessionId}`,
    folder: textIn(input['cwd']) ?? process.cwd(),
    transcript: textIn(input['transcript_path']),
    isFirstLook: input['first_look'] === true,
    call: {
      id: textIn(input['tool_use_id']) ?? 'pending',
      name,
      arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}),
    },
  }
}

/** The rules that a call may break. */
function suspects(
  rules: readonly GuardedRule[],
  { call }: GuardInput,
  branch: string | undefined,
  now: number,
): GuardedRule[] {
  const at = new Date(now).toISOString()
  const steps = withBranch(stepsOf(call), call.arguments, branch).map((step) => ({ ...step, at }))
  return rules.filter(({ conditions }) => mayBreak(steps, conditions))
}

/** The rules of the rule file; none if it cannot be read, so that the other rules apply without it. */
async function rulesOfRuleFile({ folder, agent, ruleFile }: GuardWorld): Promise<readonly GuardedRule[]> {
  if (ruleFile === undefined) return []
  try {
    const found = statSync(ruleFile)
    const { size, mtimeMs } = found
    if (!found.isFile()) throw new Error(`${ruleFile} is no file`)
    if (size > MOST_OF_RULE_FILE) throw new Error(`${ruleFile} has more than 1 MB`)
    const version = `${String(size)} ${String(mtimeMs)}`
    return (
      rulesOfGuardedFile(folder, ruleFile, version) ??
      (await import('./guarded-rules.js')).readGuardedFile(folder, ruleFile, version)
    )
  } catch (error) {
    logProblem(folder, agent, error)
    writeGuarded(folder, { origin: ruleFile, rules: [] })
    return []
  }
}

/** The rules for a session: confirmed and added ones, and those of the rule file. */
const rulesOfSession = async (world: GuardWorld, session: GuardedSession): Promise<readonly GuardedRule[]> => [
  ...(await rulesFor(world.folder, session, async (guarded) =>
    (await import('./guarded-rules.js')).renewGuarded(guarded),
  )),
  ...(await rulesOfRuleFile(world)),
]

const quoted = (rules: readonly GuardedRule[]): string =>
  rules.map(({ text }) => `“${text.replace(/[.。]$/u, '')}”`).join(' and ')

/** The question to the user. */
const questionAbout = (rules: readonly GuardedRule[]): string =>
  `You said: ${quoted(rules)}. This call would break ${rules.length === 1 ? 'that rule' : 'these rules'}. Run it?`

/** The text for the agent if its program cannot ask the user, or the action is `deny`. */
const reasonFor = (rules: readonly GuardedRule[], action: GuardAction): string =>
  `This call did not run. The user said: ${quoted(rules)}. The call would break that. ${
    action === 'ask'
      ? 'Ask the user whether it may run, and do not reach the same end in another way. If the user allows it, make the call again.'
      : 'Do not reach the same end in another way.'
  }`

/** The answer in the form of a program. Codex and Gemini CLI do not ask the user on behalf of a hook. */
function answerOf(rules: readonly GuardedRule[], event: string, { agent, action }: GuardWorld): unknown {
  const reason = reasonFor(rules, action)
  switch (agent) {
    case 'claude-code':
      return {
        hookSpecificOutput: {
          hookEventName: event,
          permissionDecision: action,
          permissionDecisionReason: action === 'ask' ? questionAbout(rules) : reason,
        },
      }
    case 'codex':
      return {
        hookSpecificOutput: { hookEventName: event, permissionDecision: 'deny', permissionDecisionReason: reason },
      }
    case 'gemini':
      return { decision: 'deny', reason }
    // The plugins.
    default:
      return { action, question: questionAbout(rules), reason }
  }
}

/**
 * Judges a call. Returns the output of the hook; empty if the call may run. If the session cannot be read, the
 * permissions of the user are not known: the call runs, unless the program can ask the user.
 */
export async function runGuard(text: string, world: GuardWorld): Promise<string> {
  const input = parseInput(text, world.agent)
  const rules = await rulesOfSession(world, input)
  if (rules.length === 0) return ''
  const branch = checkedOutBranch(input.folder)
  const suspected = suspects(rules, input, branch, world.now())
  if (suspected.length === 0) return ''
  if (input.isFirstLook) return `${JSON.stringify({ suspected: suspected.length })}\n`
  const { secondLook } = await import('./second-look.js')
  const { broken, isSure } = await secondLook(suspected, { ...input, ...world, branch })
  if (broken.length === 0) return ''
  if (!isSure && (world.agent !== 'claude-code' || world.action !== 'ask')) return ''
  return `${JSON.stringify(answerOf(broken, input.event, world))}\n`
}
