import { text, toggle, type Command } from '../command.js'
import { InputError } from '../errors.js'

export const importFiles: Command = {
  words: 'import [files..]',
  describe:
    'Record conversations from files: transcripts of other programs, with the compactions that they did, or messages as if they happened now',
  policy: true,
  positionals: {
    files: {
      type: 'string',
      array: true,
      describe: 'Files or folders: transcripts, JSON Lines, chat arrays (.json); or - for standard input',
    },
  },
  options: {
    conversation: text('Id of the conversation, over the file’s header'),
    scope: text('Tenant or owner of new conversations'),
    from: text('The program that wrote them: claude-code, codex, pi … [default: recognized by what they hold]'),
    discover: toggle('List what this machine has where these programs keep it'),
    yes: toggle('With --discover: take all of it'),
    follow: toggle('Keep up with transcripts that grow or appear, until Ctrl-C'),
    poll: text('With --follow: seconds between two looks at all of them [default: 5]'),
    'dry-run': toggle('Read and count, and record nothing'),
  },
  examples: [
    ['$0 import chat.jsonl', 'its header names the conversation, else its name'],
    ['$0 import ~/.claude/projects', 'every session of Claude Code'],
    ['$0 import --discover', 'what other programs have on this machine'],
    ['my-agent --log | $0 import --conversation run-7', 'one message per line'],
  ],
  async run(given) {
    if (given.text('poll') !== undefined && !given.is('follow'))
      throw new InputError('Usage', '--poll goes with --follow')
    const { runImport } = await import('../import/import-files.js')
    await runImport(given.flags, {
      files: given.words('files'),
      conversation: given.text('conversation'),
      scope: given.text('scope'),
      from: given.text('from'),
      dryRun: given.is('dry-run'),
      discovers: given.is('discover'),
      all: given.is('yes'),
      follow: given.is('follow') ? (given.positive('poll') ?? 5) : undefined,
      json: given.json,
    })
  },
}
