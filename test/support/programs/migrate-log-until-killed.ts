/**
 * Runs `migrate-log --from A --to B` in a child process that a test kills. Prints `started`, and then the output of the
 * command.
 */
import { runMigrateLog } from '../../../src/interfaces/cli/migrate/migrate-log.js'
import { logPlaces } from '../log-places.js'
import { sayNow } from '../say-now.js'

async function run(): Promise<void> {
  const [from, to, schema] = process.argv.slice(2)
  sayNow('started\n')
  await runMigrateLog(
    { from, to, fromDatabase: undefined, toDatabase: undefined, overwrite: false, json: true },
    logPlaces(schema),
  )
}

await run()
