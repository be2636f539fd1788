/** Codex 0.12x: hooks in `hooks.json`, MCP servers in `config.toml`. */
import { agentFolders } from '../../lib/user-folders.js'
import { userInfo } from 'node:os'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { many } from '../output.js'
import type { Addition } from './installation.js'
import {
  HOOK_TIMEOUT_SECONDS,
  hookAddition,
  MCP_NAME,
  shellWith,
  type AgentProgram,
  type HookMode,
} from './agent-program.js'

/**
 * Codex runs a hook only if `config.toml` has the hash of the hook that the user trusted, in a table named after its
 * place in `hooks.json`.
 */
function untrustedHooks(additions: readonly Addition[]): string | undefined {
  const events = additions.flatMap((each) =>
    each.kind === 'json' && each.isItem ? [{ ...each, event: each.path.at(-1) ?? '' }] : [],
  )
  const untrusted = events.filter(({ file, event }) => {
    const config = join(dirname(file), 'config.toml')
    const text = existsSync(config) ? readFileSync(config, 'utf8') : ''
    const name = `${file}:${event.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, '_').toLowerCase()}:`
    return !text
      .split(/^\[/mu)
      .some((table) => table.startsWith('hooks.state.') && table.includes(name) && table.includes('trusted_hash'))
  })
  return untrusted.length === 0
    ? undefined
    : `Codex does not run ${many(untrusted.length, 'hook', 'hooks')} that you have not trusted: type /hooks in Codex`
}

export const codex: AgentProgram = {
  name: 'codex',
  folder: agentFolders.codex,
  // The login shell of the user, from the list of users.
  shell: shellWith(() => userInfo().shell),
  additions(folder, { hook, mcp: [command, ...args] }) {
    const file = join(folder, 'hooks.json')
    const isStrict = true
    const run = (mode: HookMode) => ({ command: hook('codex', mode), timeout: HOOK_TIMEOUT_SECONDS })
    return [
      hookAddition(file, 'PreCompact', run('background'), { isStrict }),
      hookAddition(file, 'PostCompact', run('background'), { isStrict }),
      hookAddition(file, 'SessionStart', run('waits'), { matcher: 'compact', isStrict }),
      hookAddition(file, 'UserPromptSubmit', run('guarded'), { isStrict }),
      hookAddition(file, 'PostToolUse', run('guarded'), { isStrict }),
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
