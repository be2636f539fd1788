import { text, toggle, type CliCommand } from '../command.js'

export const install: CliCommand = {
  words: 'install',
  describe: 'Install hooks that give agents back what a compaction lost, and the MCP server',
  uses: ['open', 'recall'],
  options: {
    agent: text('Install for this program: claude-code, codex, gemini, opencode or pi; with --acp: zed or jetbrains'),
    acp: text(
      'The agent that the editor runs and that is recorded: claude-code, codex, gemini, opencode, or a command',
    ),
    auto: toggle('Install for all programs on this machine'),
    check: toggle('Send a canary through each installed hook, plugin and MCP server, and print what arrived'),
    guard: {
      type: 'string',
      describe:
        'Ask before a call that would break a confirmed rule. With `deny`, the call does not run; `off` removes the guard [default: ask]',
    },
    compact: {
      type: 'string',
      describe:
        'Make the summaries of pi and opencode from the ledger when they compact; the program makes them itself if that fails or takes 2 s. `off` ends it',
    },
    remove: toggle('Remove what was installed; without --agent, from all programs'),
    yes: toggle('Write without asking for confirmation'),
  },
  examples: [
    ['$0 install', 'list the programs, and the last problem of each hook'],
    ['$0 install --agent claude-code', 'show the change, ask, and write it'],
    ['$0 install --check', 'does a note arrive? One line for each program'],
    ['$0 install --agent claude-code --guard', 'also ask before a call that would break a confirmed rule'],
    ['$0 install --agent pi --compact', 'also make the summaries of pi from the ledger'],
    ['$0 install --agent zed --acp opencode', 'record opencode in Zed'],
    ['$0 install --remove --yes', 'remove everything that was installed'],
  ],
  async run(args) {
    const { runInstall } = await import('../install/run-install.js')
    await runInstall(args.flags, {
      agent: args.text('agent'),
      isAuto: args.is('auto'),
      checks: args.is('check'),
      removes: args.is('remove'),
      guard: args.text('guard'),
      acp: args.text('acp'),
      compact: args.text('compact'),
      yes: args.is('yes'),
      json: args.json,
    })
  },
}
