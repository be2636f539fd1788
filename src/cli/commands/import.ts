import { text, type Command } from '../command.js'

export const importFiles: Command = {
  words: 'import [files..]',
  describe: 'Record conversations from files, as if they happened now',
  policy: true,
  positionals: {
    files: { type: 'string', array: true, describe: 'JSON Lines, chat arrays (.json), or - for standard input' },
  },
  options: {
    conversation: text('Id of the conversation, over the file’s header'),
    scope: text('Tenant or owner of new conversations'),
  },
  examples: [
    ['$0 import chat.jsonl', 'its header names the conversation, else its name'],
    ['my-agent --log | $0 import --conversation run-7', 'one message per line'],
  ],
  async run(given) {
    const { runImport } = await import('../import/import-files.js')
    await runImport(given.flags, {
      files: given.words('files'),
      conversation: given.text('conversation'),
      scope: given.text('scope'),
      json: given.json,
    })
  },
}
