/**
 * Editors that run agents over the Agent Client Protocol: an entry in their settings starts an agent through
 * `context-ledger acp`. The entries of the user stay.
 */
import { join } from 'node:path'
import { isRecord } from '../../../lib/is-record.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { agentFolders } from '../../../lib/user-folders.js'
import type { AgentProgram } from './agent-program.js'
import { askServer } from './ask-server.js'

/** The commands of agents that speak the protocol. */
const AGENTS: Readonly<Record<string, readonly string[]>> = {
  'claude-code': ['npx', '-y', '@agentclientprotocol/claude-agent-acp'],
  codex: ['npx', '-y', '@zed-industries/codex-acp'],
  gemini: ['gemini', '--acp'],
  opencode: ['opencode', 'acp'],
}

/** An agent for an editor. */
export interface RecordedAgent {
  /** As the editor shows it. */
  readonly name: string
  readonly words: readonly string[]
}

/**
 * The agent that `--acp` names.
 * @throws LedgerError if it is neither a known agent nor a command
 */
export function recordedAgent(agent: string): RecordedAgent {
  const words = AGENTS[agent] ?? agent.split(' ').filter((word) => word !== '')
  const known = Object.keys(AGENTS).join(', ')
  if (words.length < (agent in AGENTS ? 1 : 2))
    throw new LedgerError(
      'Usage',
      `--acp ${JSON.stringify(agent)} is not an agent that speaks the Agent Client Protocol: name one of ${known}, or its command with arguments, for example --acp "opencode acp"`,
    )
  return { name: `${agent} (recorded)`, words }
}

/** @param fields other fields of an entry */
const editor = (
  name: string,
  title: string,
  folder: AgentProgram['folder'],
  file: string,
  fields: Readonly<Record<string, unknown>>,
): AgentProgram => ({
  name,
  title,
  isEditor: true,
  folder,
  additions: (settings, { acp }) => {
    if (acp === undefined) return []
    const [command, ...args] = acp.words
    const value = { ...fields, command, args, env: {} }
    return [
      {
        kind: 'json',
        file: join(settings, file),
        isStrict: false,
        path: ['agent_servers', acp.name],
        value,
        isItem: false,
      },
    ]
  },
  afterwards:
    'Choose the agent with the name "… (recorded)" in the editor. Sessions of other entries are not recorded.',
})

export const zed = editor('zed', 'Zed', agentFolders.zed, 'settings.json', { type: 'custom' })

export const jetbrains = editor(
  'jetbrains',
  'JetBrains IDEs',
  (_environment, home) => join(home, '.jetbrains'),
  'acp.json',
  {},
)

/** Starts an agent as an editor does. Returns its name. Throws with the reason if it does not answer. */
export async function nameOfAgent(words: readonly [string, ...string[]]): Promise<string> {
  const params = { protocolVersion: 1, clientCapabilities: {} }
  return await askServer(words, { id: 1, method: 'initialize', params }, ({ id, result }) => {
    if (id !== 1 || !isRecord(result)) return undefined
    const info = result['agentInfo']
    return isRecord(info) ? `${String(info['name'])} ${String(info['version'])}` : 'an agent without a name'
  })
}
