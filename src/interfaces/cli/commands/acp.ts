/** `acp`: runs an agent for an editor that speaks the Agent Client Protocol, and records the session. */
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
    // Report an invalid setting now.
    await loadConfig({ flags: args.flags, env: process.env, cwd: process.cwd() }, { writes: true })
    // The words of the agent are not for the process that records.
    const { agent: _agent, ...flags } = args.flags
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
