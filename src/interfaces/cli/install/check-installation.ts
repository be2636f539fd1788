/** `install --check`: a canary through everything that was installed for a program, as the program itself starts it. */
import { isRecord } from '../../../lib/is-record.js'
import { sentenceOf } from '../../../ports/store-error.js'
import { many } from '../output.js'
import type { AgentProgram } from './agent-program.js'
import { checkHook, type Arrival } from './check-hook.js'
import { countTools } from './check-mcp.js'
import { nameOfAgent } from './editors.js'
import { checkPlugin } from './check-plugin.js'
import { titleOf } from './index.js'
import type { Addition, Installation } from './installation.js'
import { findJson } from './json-addition.js'
import { readSettings } from './settings-file.js'
import { commandInToml } from './toml-addition.js'

/** The result for one program. */
export interface InstallationCheck {
  readonly agent: string
  readonly isWorking: boolean
  /** What arrived, what did not, and what the user can do. */
  readonly sentence: string
}

type Words = readonly [string, ...string[]]

const isText = (value: unknown): value is string => typeof value === 'string'

/** The words of an MCP entry: `command` and `args`, or one list. */
function wordsOfEntry(entry: unknown): Words | undefined {
  const { command, args = [] } = isRecord(entry) ? entry : {}
  const [first, ...rest] = [command, args].flat()
  return isText(first) && rest.every(isText) ? [first, ...rest] : undefined
}

/** The command of a hook that is now in the settings: the installed one, or one that the user changed. */
function commandInHook(item: unknown): string | undefined {
  const hooks: unknown = isRecord(item) ? item['hooks'] : undefined
  const [first]: readonly unknown[] = Array.isArray(hooks) ? hooks : []
  return isRecord(first) && isText(first['command']) ? first['command'] : undefined
}

const MCP = 'the MCP server'

/** The parts of an installation that were checked. */
class Findings {
  hooks = 0
  tools: number | undefined
  hasPlugin = false
  /** The agent of an editor. */
  agent: string | undefined
  noteMs: number | undefined
  /** Each problem, with the parts that have it. */
  readonly problems = new Map<string, string[]>()
  readonly ledgerProblems = new Set<string>()

  add(part: string, { problem, ledger, noteMs }: Arrival): void {
    if (problem !== undefined) this.problems.set(problem, [...(this.problems.get(problem) ?? []), part])
    if (ledger !== undefined) this.ledgerProblems.add(ledger)
    if (noteMs !== undefined) this.noteMs = Math.max(noteMs, this.noteMs ?? 0)
  }

  /** What worked. */
  summary(): string {
    const parts = [
      ...(this.hooks === 0 ? [] : [many(this.hooks, 'hook', 'hooks')]),
      ...(this.hasPlugin ? ['the plugin'] : []),
      ...(this.agent === undefined ? [] : [`${AGENT} (${this.agent})`]),
      ...(this.tools === undefined ? [] : [`${MCP} (${many(this.tools, 'tool', 'tools')})`]),
    ]
    const note = this.noteMs === undefined ? '' : `; a note arrives after ${(this.noteMs / 1_000).toFixed(1)} s`
    return `${parts.join(' and ')} answered${note}`
  }
}

const AGENT = 'the agent'

/** Checks the entry of an editor. */
async function checkAgent(words: Words | undefined, file: string, findings: Findings): Promise<void> {
  if (words === undefined) findings.add(AGENT, { problem: `${file} has no entry for it any more` })
  else
    try {
      findings.agent = await nameOfAgent(words)
    } catch (error) {
      findings.add(AGENT, { problem: sentenceOf(error) })
    }
}

/** Checks one addition. */
async function checkAddition(
  program: AgentProgram,
  addition: Addition,
  folder: string,
  parts: { readonly hasGuard: boolean; readonly compacts: boolean },
  findings: Findings,
): Promise<void> {
  const { file } = addition
  const { text } = await readSettings(file)
  if (addition.kind === 'file') {
    if (text === undefined) findings.add('the plugin', { problem: `${file} does not exist` })
    else {
      findings.add('the plugin', await checkPlugin(program, text, folder, parts))
      findings.hasPlugin = true
    }
    return
  }
  if (addition.kind === 'json' && addition.isItem) {
    const event = addition.path.at(-1) ?? ''
    const command = commandInHook(
      text === undefined
        ? undefined
        : findJson(text, addition, (item) => commandInHook(item)?.includes(folder) === true),
    )
    if (command === undefined) findings.add(event, { problem: `${file} has no such hook any more` })
    else {
      const shell = program.shell?.() ?? ['/bin/sh', '-c']
      findings.add(event, await checkHook({ agent: program.name, event, command, shell }, folder))
      findings.hooks += 1
    }
    return
  }
  const words =
    text === undefined
      ? undefined
      : addition.kind === 'toml'
        ? commandInToml(text, addition)
        : wordsOfEntry(findJson(text, addition, () => true))
  if (program.isEditor === true) await checkAgent(words, file, findings)
  else if (words === undefined) findings.add(MCP, { problem: `${file} has no entry for it any more` })
  else
    try {
      findings.tools = await countTools(words)
    } catch (error) {
      findings.add(MCP, { problem: sentenceOf(error) })
    }
}

/** Checks all that was installed for a program. */
export async function checkInstallation(
  program: AgentProgram,
  { written, guard, compacts }: Installation,
  folder: string,
): Promise<InstallationCheck> {
  const findings = new Findings()
  const options = { hasGuard: guard !== undefined, compacts: compacts === true }
  for (const { addition } of written.toReversed()) await checkAddition(program, addition, folder, options, findings)
  const { problems, ledgerProblems } = findings
  const broken = [...problems].map(([problem, parts]) => `${parts.join(', ')}: ${problem}`)
  const obstacle = broken.length === 0 ? program.obstacle?.(written.map(({ addition }) => addition)) : undefined
  const { name: agent } = program
  const ledger = [...ledgerProblems].map((each) => `; the ledger cannot be opened now: ${each}`).join('')
  const sentence =
    broken.length > 0
      ? `${broken.join('; ')}. Run \`context-ledger install --agent ${agent} --yes\` again`
      : `${findings.summary()}${ledger}${obstacle === undefined ? '' : `, but ${obstacle}`}`
  return {
    agent,
    isWorking: broken.length === 0 && obstacle === undefined,
    sentence: `${titleOf(program)}: ${sentence}`,
  }
}
