/** `projections run` in a process of its own, on a schema of the test server. Words: schema, port of the metrics. */
import { createPostgresClaims } from '../../../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import { openPostgres } from '../../../src/adapters/postgres/sql.js'
import { runProjections } from '../../../src/interfaces/cli/workers/projections.js'
import { projections } from '../../../projections/index.js'
import { decodeStored } from '../builders.js'
import { testServer } from '../postgres.js'

const [schema = '', port = '0'] = process.argv.slice(2)
// The output of the command goes to standard error; the tests read standard output.
process.stderr.write = process.stdout.write.bind(process.stdout)
await runProjections(
  { store: testServer },
  { partitions: 2, metricsPort: Number(port), metricsHost: '127.0.0.1', json: true },
  async ({ store }) => {
    const db = await openPostgres(store, { schema })
    return {
      db,
      store: createPostgresEventStore(db),
      decode: decodeStored,
      projections,
      claims: createPostgresClaims(db),
      close: () => db.close(),
    }
  },
)
