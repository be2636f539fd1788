/** Claude Code 2.1: hooks in `settings.json`, MCP servers of the user in `.claude.json`. */
import { shellWith } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import { join } from 'node:path'
import {
  guardAddition,
  HOOK_TIMEOUT_SECONDS,
  hookAddition,
  MCP_NAME,
  type AgentProgram,
  type HookMode,
} from './agent-program.js'

export const claudeCode: AgentProgram = {
  name: 'claude-code',
  folder: agentFolders.claudeCode,
  shell: () => shellWith(() => '/bin/sh', process.env),
  additions(folder, { hook, guard, mcp: [command, ...args] }, home) {
    const file = join(folder, 'settings.json')
    const isStrict = true
    const run = (mode: HookMode) => ({ command: hook('claude-code', mode), timeout: HOOK_TIMEOUT_SECONDS })
    return [
      hookAddition(file, 'PreCompact', run('background'), { isStrict }),
      hookAddition(file, 'SessionStart', run('waits'), { matcher: 'compact', isStrict }),
      hookAddition(file, 'UserPromptSubmit', run('guarded'), { isStrict }),
      hookAddition(file, 'PostToolUse', run('guarded'), { isStrict }),
      ...guardAddition(file, 'PreToolUse', guard?.hook('claude-code')),
      {
        kind: 'json',
        // With its own directory, Claude Code keeps this file there too.
        file: join(folder === join(home, '.claude') ? home : folder, '.claude.json'),
        isStrict,
        path: ['mcpServers', MCP_NAME],
        value: { type: 'stdio', command, args },
        isItem: false,
      },
    ]
  },
}
