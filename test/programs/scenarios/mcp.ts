/**
 * MCP: the program starts the server of this package, calls a tool of it, and the model's next request contains the
 * result: the note with the rule that a compaction removed.
 */
import { NOTE_BEGINNING } from '../../../src/domain/values/recall-note.js'
import { isImpossible } from '../agent.js'
import { importSessions, recordedId } from '../recorded-session.js'
import type { Scenario } from '../scenario.js'
import { CONTEXT_LEDGER, type Trial, type Turn } from '../trial.js'

const RULE = 'Rule: never touch harbour_prod.'

/** A session with compactions, imported after each turn: some programs drop what they compact. Returns it for the next turn. */
async function compactedSession(trial: Trial): Promise<string | undefined> {
  const tokens = `@${String(trial.agent.tokensToCompact)}`
  const steps = ['read notes.txt', `ls | say ${tokens}`, `ls ${tokens} | read plan.txt`]
  let session: string | undefined
  for (const [at, step] of steps.entries()) {
    session = (await trial.turn(`${at === 0 ? RULE : 'Go on.'} [[turn-${String(at)}: ${step}]]`, session)).session
    await importSessions(trial)
  }
  return session
}

/** The result of a call in the request after it. */
function resultOf(requests: Turn['requests'], tool: string): string {
  const at = requests.findIndex(({ answer }) =>
    // A bridge names the tool in its input.
    answer?.calls?.some(({ name, input }) => name.endsWith(tool) || String(input['name']).endsWith(tool)),
  )
  const last = requests[at + 1]?.request.messages.findLast(({ role }) => role === 'tool')
  return at < 0 ? `${tool} was not called` : (last?.texts ?? []).join('\n')
}

async function run(trial: Trial): Promise<void> {
  const { agent, site, model } = trial
  const { addMcpServer } = agent
  if (addMcpServer !== undefined && isImpossible(addMcpServer)) {
    trial.impossible('MCP', addMcpServer.impossible)
    return
  }
  const session = await compactedSession(trial)
  const id = await recordedId(trial)
  if (id === undefined) {
    trial.check('the session in the ledger', false, 'no conversation was imported')
    return
  }
  if (addMcpServer === undefined) {
    const { status, stdout, stderr } = await trial.ledger('install', '--agent', agent.name, '--yes')
    trial.check('install', status === 0, `${stdout}${stderr}`)
  } else await addMcpServer(site, [process.execPath, CONTEXT_LEDGER, 'mcp', '--read-only', '--store', trial.store])
  const turn = await trial.turn(
    `Go on. [[ask: call recall ${JSON.stringify({ conversation: id })} | call list_conversations {}]]`,
    session,
  )
  const { stdout, stderr, status } = turn.result
  const turns = turn.requests.filter(({ purpose }) => purpose === 'turn')
  trial.check('the turn', status === 0, stderr.slice(-300) || stdout.slice(-300))
  const note = resultOf(turns, 'recall')
  const list = resultOf(turns, 'list_conversations')
  // Some programs keep every message of the user, and some cannot resume the session.
  const isLost = agent.resume === undefined && !JSON.stringify(turns[0]?.request.messages ?? []).includes(RULE)
  const isWhole = note.includes(id) && (!isLost || (note.includes(NOTE_BEGINNING) && note.includes(RULE)))
  trial.check('result of recall', isWhole, note.slice(0, 300))
  trial.check('result of list_conversations', list.includes(id), list.slice(0, 300))
  const problems = model.requests.flatMap((each) => each.problems)
  trial.check('no request is refused', problems.length === 0 || agent.brokenRules !== undefined, problems.join('; '))
}

export const mcpScenario: Scenario = { name: 'MCP', run }
