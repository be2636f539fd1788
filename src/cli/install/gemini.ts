/** Gemini CLI from 0.26: hooks and MCP servers in `settings.json`, which may have comments. */
import { join } from 'node:path'
import { hookAddition, MCP_NAME, type AgentProgram, type HookMode } from './agent-program.js'

/** Milliseconds. The hook itself ends within 300. */
const TIMEOUT = 5_000

export const gemini: AgentProgram = {
  name: 'gemini',
  title: 'Gemini CLI',
  folder: ({ GEMINI_CLI_HOME: folder = '' }, home) => join(folder === '' ? home : folder, '.gemini'),
  additions(folder, { hook, mcp: [command, ...args] }) {
    const file = join(folder, 'settings.json')
    const isStrict = false
    const run = (mode: HookMode) => ({ name: MCP_NAME, command: hook('gemini', mode), timeout: TIMEOUT })
    return [
      hookAddition(file, 'PreCompress', run('background'), { isStrict }),
      hookAddition(file, 'BeforeAgent', run('guarded'), { isStrict }),
      hookAddition(file, 'AfterTool', run('guarded'), { isStrict }),
      { kind: 'json', file, isStrict, path: ['mcpServers', MCP_NAME], value: { command, args }, isItem: false },
    ]
  },
}
