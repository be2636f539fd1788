/** `acp`: runs an agent for an editor that speaks the Agent Client Protocol, and records the session. */
import { resolve } from 'node:path'
import { homeFolder } from '../../../lib/user-folders.js'
import { CommandExit } from '../errors.js'
import { text, toggle, type CliCommand } from '../command.js'
import { note } from '../output.js'

export const acp: CliCommand = {
  words: 'acp <agent..>',
  describe: 'Record an agent in an editor: runs it for the editor over the Agent Client Protocol',
  uses: ['open', 'record', 'recall'],
  positionals: {
    agent: { type: 'string', array: true, describe: 'Program and arguments of the agent, after --' },
  },
  options: {
    recall: toggle('After a compaction by the agent: add a note of what its context lost to the next prompt'),
    scope: text('Tenant or owner of new conversations'),
  },
  examples: [
    ['$0 acp -- opencode acp', 'what an editor starts in place of `opencode acp`'],
    ['$0 acp --recall -- gemini --acp', 'with a note after each compaction'],
  ],
  async run(args) {
    const [{ relayAgent }, { loadConfig }] = await Promise.all([
      import('../acp/relay-agent.js'),
      import('../config/load-config.js'),
    ])
    // An editor starts it in a project, which may have settings of other people: those of the home directory count.
    const { agent: _agent, ...typed } = args.flags
    const store = args.setting('store') ?? process.env['CONTEXT_LEDGER_STORE']
    const isPath = store !== undefined && store !== '' && !store.startsWith('@') && !store.includes('://')
    const flags = { ...typed, ...(isPath ? { store: resolve(store) } : {}) }
    // Report an invalid setting now.
    await loadConfig({ flags, env: process.env, cwd: homeFolder() }, { writes: true })
    const settings = {
      flags,
      name: `acp-${new Date().toISOString()}-${String(process.pid)}`,
      scope: args.text('scope'),
      recall: args.is('recall'),
    }
    const status = await relayAgent(args.words('agent'), settings, (messages) => {
      note(`${String(messages)} messages were not recorded, because the process that records ended`)
    })
    if (status !== 0) throw new CommandExit(status)
  },
}
