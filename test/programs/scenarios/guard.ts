/**
 * Guard: `context-ledger install --guard`, then calls that break a rule of a file, a rule of a conversation, and none.
 * Nobody answers in a turn without a terminal, so a call that the guard asks about does not run. Once the user has
 * allowed it, it runs. Whatever happens to the guard's own files, the agent goes on.
 */
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentPrograms } from '../../../src/interfaces/cli/install/index.js'
import { hookFolder } from '../hook-files.js'
import { importSessions, recordedId } from '../recorded-session.js'
import type { Scenario } from '../scenario.js'
import type { Trial, Turn } from '../trial.js'

const RULES = 'rules-of-the-user.md'
const OF_FILE = 'Never change plan.txt'
const OF_CONVERSATION = 'Never change notes.txt'

class GuardScenario {
  private session: string | undefined

  constructor(private readonly trial: Trial) {}

  private async textOf(file: string): Promise<string> {
    return await readFile(join(this.trial.site.project, file), 'utf8').catch(() => '')
  }

  async turn(text: string, name: string, steps: string): Promise<Turn> {
    // The user says the text. The script of the model is no request.
    const turn = await this.trial.turn(`${text}\n\n\`\`\`\n[[${name}: ${steps}]]\n\`\`\``, this.session)
    this.session = turn.session
    this.trial.check(`${name}: the program goes on`, turn.result.status === 0, turn.result.stderr.slice(-300))
    return turn
  }

  /** A turn that writes a file: whether the file changed, and whether the result of the call has the rule. */
  async write(file: string, rule: string, name: string, text = 'Go on.') {
    const before = await this.textOf(file)
    const turn = await this.turn(text, name, `write ${file}`)
    const messages = turn.requests.at(-1)?.request.messages ?? []
    const last = JSON.stringify(messages.findLast(({ role }) => role === 'tool') ?? '')
    return { isChanged: (await this.textOf(file)) !== before, hasRule: last.includes(rule), last: last.slice(0, 400) }
  }

  async isStopped(file: string, rule: string, name: string): Promise<void> {
    const { isChanged, hasRule, last } = await this.write(file, rule, name)
    this.trial.check(`${name}: does not run, and its result has the rule`, !isChanged && hasRule, last)
  }

  async runs(file: string, name: string, text?: string): Promise<void> {
    const { isChanged, last } = await this.write(file, 'The user said', name, text)
    this.trial.check(`${name}: runs`, isChanged, last)
  }
}

async function run(trial: Trial): Promise<void> {
  const { agent, site } = trial
  if (!agentPrograms.some(({ name }) => name === agent.name)) {
    trial.impossible('guard', '`context-ledger install` does not know the program')
    return
  }
  const rules = join(site.project, RULES)
  await writeFile(rules, `- ${OF_FILE}.\n`)
  const words = ['--agent', agent.name, '--guard', '--rules', RULES, '--yes']
  const { status, stdout, stderr } = await trial.ledger('install', ...words)
  trial.check('install', status === 0, `${stdout}${stderr}`)
  const checked = await trial.ledger('install', '--check')
  const isUntrusted = checked.stdout.includes('that you have not trusted')
  trial.check('install --check', checked.status === 0 || isUntrusted, `${checked.stdout}${checked.stderr}`)

  const scenario = new GuardScenario(trial)
  await scenario.runs('other.txt', 'another-file', 'Begin.')
  await scenario.isStopped('plan.txt', OF_FILE, 'rule-of-a-file')
  await scenario.runs('plan.txt', 'allowed', 'You may change plan.txt this once.')

  await importSessions(trial)
  const id = (await recordedId(trial)) ?? ''
  const added = await trial.ledger('rules', 'add', id, `${OF_CONVERSATION}.`)
  trial.check('rules add', added.status === 0, `${added.stdout}${added.stderr}`)
  await scenario.isStopped('notes.txt', OF_CONVERSATION, 'rule-of-a-conversation')

  // The files of the guard are lost or damaged, and so is the ledger.
  const folder = join(hookFolder(trial), 'guard')
  await rm(rules)
  await rm(trial.store, { recursive: true, force: true })
  await scenario.isStopped('notes.txt', OF_CONVERSATION, 'without-ledger-and-rule-file')
  for (const name of await readdir(folder)) await appendFile(join(folder, name), '}')
  await scenario.runs('notes.txt', 'with-damaged-files')
  await rm(folder, { recursive: true })
  await writeFile(folder, 'not a directory')
  await scenario.runs('more.txt', 'with-no-folder')
  await rm(folder)
  const removed = await trial.ledger('install', '--remove', '--yes')
  trial.check('removal', removed.status === 0, `${removed.stdout}${removed.stderr}`)
}

export const guardScenario: Scenario = { name: 'guard', run }
