/**
 * Reads the given folder while another process has it open. For each line of input it prints one line of JSON: `events`
 * returns the number of events; `hold` reports that it is inside a transaction, and stays there until the next line;
 * any other line is a statement, and returns its rows. A failure is `{ failure, code? }`.
 */
import { createInterface } from 'node:readline'
import { openFolderToRead } from '../../../src/adapters/pglite/open-to-read.js'
import { codeOf, sentenceOf } from '../../../src/ports/store-error.js'
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import { sayNow } from '../say-now.js'

const say = (said: unknown): void => {
  sayNow(`${JSON.stringify(said)}\n`)
}

async function run(): Promise<void> {
  const { db, ownerName: readBy } = await openFolderToRead(process.argv[2] ?? '')
  const store = createPostgresEventStore(db)
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  say({ readBy })
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    try {
      if (line.value === 'events') {
        let events = 0
        for await (const { position } of store.readAll()) if (position === events) events += 1
        say({ events })
      } else if (line.value === 'hold') {
        await db.snapshot([], async (sql) => {
          const count = async (): Promise<unknown> => (await sql.query('select count(*)::int as count from events'))[0]
          say({ held: await count() })
          await lines.next()
          say({ heldStill: await count() })
        })
      } else say({ rows: await db.query(line.value) })
    } catch (error) {
      const code = codeOf(error)
      say({ failure: sentenceOf(error), ...(code === undefined ? {} : { code }) })
    }
  }
  await db.close()
}

await run()
