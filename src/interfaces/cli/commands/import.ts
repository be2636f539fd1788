import { LedgerError } from '../../../lib/ledger-error.js'
import { text, toggle, type CliCommand } from '../command.js'

export const importFiles: CliCommand = {
  words: 'import [files..]',
  describe: 'Import conversations from files: agent transcripts with their compactions, or plain messages',
  uses: ['open', 'record', 'summarize', 'search'],
  policy: true,
  positionals: {
    files: {
      type: 'string',
      array: true,
      describe: 'Files or directories: transcripts, JSON Lines, chat arrays (.json); - reads standard input',
    },
  },
  options: {
    conversation: text('Id of the conversation; overrides the header of the file'),
    scope: text('Tenant or owner of new conversations'),
    from: text('Program that wrote the files: claude-code, codex, pi … [default: detected]'),
    discover: toggle('List the transcripts of known programs on this machine'),
    yes: toggle('With --discover: import all of them'),
    follow: toggle('Keep importing as transcripts grow or appear, until Ctrl-C'),
    poll: text('With --follow: seconds between scans [default: 5]'),
    project: {
      ...text('With a service in --store: only conversations that began in this directory are sent; repeatable'),
      array: true,
      // A file may follow it.
      nargs: 1,
    },
    'allow-http': toggle('Send to a service on another machine without encryption'),
    sample: toggle('Print the structure of a file without its texts, for an issue; records nothing'),
    'dry-run': toggle('Read and count without recording'),
  },
  examples: [
    ['$0 import chat.jsonl', 'the id comes from the header, or from the file name'],
    ['$0 import ~/.claude/projects', 'all Claude Code sessions'],
    ['$0 import --discover', 'list transcripts of other programs on this machine'],
    [
      '$0 import --follow ~/.claude/projects --store https://ledger.example --project ~/src/api',
      'push the sessions of one project to a team’s service',
    ],
    ['my-agent --log | $0 import --conversation run-7', 'read one message per line'],
  ],
  async run(args) {
    if (args.text('poll') !== undefined && !args.is('follow'))
      throw new LedgerError('Usage', '--poll requires --follow')
    const { runImport } = await import('../import/import-files.js')
    await runImport(args.flags, {
      files: args.words('files'),
      conversation: args.text('conversation'),
      scope: args.text('scope'),
      from: args.text('from'),
      dryRun: args.is('dry-run'),
      sample: args.is('sample'),
      discovers: args.is('discover'),
      all: args.is('yes'),
      follow: args.is('follow') ? (args.positive('poll') ?? 5) : undefined,
      projects: args.several('project'),
      allowsHttp: args.is('allow-http'),
      json: args.json,
    })
  },
}
