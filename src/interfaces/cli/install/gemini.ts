/** Gemini CLI from 0.26: hooks and MCP servers in `settings.json`, which may have comments. */
import { shellWith } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import { join } from 'node:path'
import { HOOK_TIMEOUT_SECONDS, hookAddition, MCP_NAME, type AgentProgram, type HookMode } from './agent-program.js'

export const gemini: AgentProgram = {
  name: 'gemini',
  folder: agentFolders.gemini,
  shell: () => shellWith(() => 'bash', process.env),
  additions(folder, { hook, guard, mcp: [command, ...args] }) {
    const file = join(folder, 'settings.json')
    const isStrict = false
    const named = (shell: string) => ({ name: MCP_NAME, command: shell, timeout: HOOK_TIMEOUT_SECONDS * 1_000 })
    const run = (mode: HookMode) => named(hook('gemini', mode))
    return [
      hookAddition(file, 'PreCompress', run('background'), { isStrict }),
      hookAddition(file, 'BeforeAgent', run('guarded'), { isStrict }),
      hookAddition(file, 'AfterTool', run('guarded'), { isStrict }),
      ...(guard === undefined ? [] : [hookAddition(file, 'BeforeTool', named(guard.hook('gemini')), { isStrict })]),
      { kind: 'json', file, isStrict, path: ['mcpServers', MCP_NAME], value: { command, args }, isItem: false },
    ]
  },
}
