import { text, toggle, type CliCommand } from '../command.js'

export const migrateLog: CliCommand = {
  words: 'migrate-log',
  describe: 'Copy a log between stores and files, and verify that the copy is identical',
  uses: [],
  options: {
    from: text('Source: a directory, postgres://…, esdb://… or a file; @FILE reads the address from a file'),
    to: text('Target, in the same forms; a name that ends in .gz is a file'),
    'from-database': text('Database of the source, if its log is in KurrentDB'),
    'to-database': text('Database of the target, if its log is in KurrentDB'),
    overwrite: toggle('Replace an existing file'),
    erasable: toggle('Encrypt every text, so that `erase` can erase it in the target'),
    keys: text('Directory or key vault of an erasable log'),
    'to-keys': text('Directory or key vault of the target, if it is another one: keys are wrapped again'),
  },
  examples: [
    ['$0 migrate-log --from .context-ledger --to backup.clog.gz', 'make a backup'],
    ['$0 migrate-log --from .context-ledger --to ./moved --to-keys vault+https://…', 'move to another key vault'],
    ['$0 migrate-log --from .context-ledger --to postgres://…', 'copy to a server; run it again to copy newer events'],
  ],
  async run(args) {
    const [{ runMigrateLog }, { readSecret }, places] = await Promise.all([
      import('../migrate/migrate-log.js'),
      import('../config/secrets.js'),
      import('../../../library/compose.js'),
    ])
    const address = async (flag: string, value: string | undefined): Promise<string | undefined> =>
      value === undefined ? undefined : await readSecret(value, process.cwd(), `--${flag}`)
    await runMigrateLog(
      {
        from: await address('from', args.text('from')),
        to: await address('to', args.text('to')),
        fromDatabase: await address('from-database', args.setting('from-database')),
        toDatabase: await address('to-database', args.setting('to-database')),
        overwrite: args.is('overwrite'),
        erasable: args.is('erasable'),
        keys: args.text('keys'),
        toKeys: args.text('to-keys'),
        json: args.json,
      },
      places,
    )
  },
}
