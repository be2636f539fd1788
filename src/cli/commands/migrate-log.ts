import { text, toggle, type Command } from '../command.js'

export const migrateLog: Command = {
  words: 'migrate-log',
  describe: 'Copy a log between stores, to a file or from one, and prove the copy equal',
  options: {
    from: text('A folder, postgres://…, esdb://…, or a file'),
    to: text('The same; a name that ends in .gz is a file'),
    'from-database': text('Database of a log in KurrentDB that is copied'),
    'to-database': text('Database of the log in KurrentDB that it is copied to'),
    overwrite: toggle('Replace the file that is there'),
  },
  examples: [
    ['$0 migrate-log --from .context-ledger --to backup.clog.gz', 'a backup'],
    ['$0 migrate-log --from .context-ledger --to postgres://…', 'to a server; again, it brings what came since'],
  ],
  async run(given) {
    const [{ runMigrateLog }, places] = await Promise.all([
      import('../migrate/migrate-log.js'),
      import('../../library/compose.js'),
    ])
    await runMigrateLog(
      {
        from: given.text('from'),
        to: given.text('to'),
        fromDatabase: given.setting('from-database'),
        toDatabase: given.setting('to-database'),
        overwrite: given.is('overwrite'),
        json: given.json,
      },
      places,
    )
  },
}
