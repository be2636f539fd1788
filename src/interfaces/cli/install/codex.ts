/** Codex 0.12x: hooks in `hooks.json`, MCP servers in `config.toml`. */
import { shellWith } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import {
  guardAddition,
  HOOK_TIMEOUT_SECONDS,
  hookAddition,
  MCP_NAME,
  type AgentProgram,
  type HookMode,
} from './agent-program.js'
import { untrustedHooks } from './codex-trust.js'

export const codex: AgentProgram = {
  name: 'codex',
  folder: agentFolders.codex,
  // The login shell of the user, from the list of users.
  shell: () => shellWith(() => userInfo().shell, process.env),
  additions(folder, { hook, guard, mcp: [command, ...args] }) {
    const file = join(folder, 'hooks.json')
    const isStrict = true
    const run = (mode: HookMode) => ({ command: hook('codex', mode), timeout: HOOK_TIMEOUT_SECONDS })
    return [
      hookAddition(file, 'PreCompact', run('background'), { isStrict }),
      hookAddition(file, 'PostCompact', run('background'), { isStrict }),
      hookAddition(file, 'SessionStart', run('waits'), { matcher: 'compact', isStrict }),
      hookAddition(file, 'UserPromptSubmit', run('guarded'), { isStrict }),
      hookAddition(file, 'PostToolUse', run('guarded'), { isStrict }),
      ...guardAddition(file, 'PreToolUse', guard?.hook('codex')),
      {
        kind: 'toml',
        file: join(folder, 'config.toml'),
        table: ['mcp_servers', MCP_NAME],
        // A JSON string is a basic string of TOML.
        lines: [`command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`],
      },
    ]
  },
  obstacle: untrustedHooks,
  afterwards: 'Codex runs new hooks after you have trusted them: type /hooks in Codex',
}
