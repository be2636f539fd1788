/**
 * A process that keeps the read models of a schema, for tests that kill or stop it: says each of its states as a line
 * of JSON. Words: schema, owner, partitions.
 */
import { createPostgresClaims } from '../../../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import { openPostgres } from '../../../src/adapters/postgres/sql.js'
import { projections } from '../../../projections/index.js'
import { startProjectionWorker } from '../../../projections/engine/worker.js'
import { decodeStored } from '../builders.js'
import { testServer } from '../postgres.js'

const [schema = '', owner = '', partitions = '1'] = process.argv.slice(2)
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)

const db = await openPostgres(testServer, { schema })
const worker = startProjectionWorker({
  db,
  store: createPostgresEventStore(db),
  decode: decodeStored,
  projections,
  claims: createPostgresClaims(db),
  owner,
  partitions: Number(partitions),
  onState: say,
  onFailure: (failure) => {
    say({ kind: 'failure', detail: String(failure) })
  },
})
process.stdin.resume()
process.stdin.once('data', () => {
  void worker
    .stop()
    .then(() => db.close())
    .then(() => process.exit(0))
})
