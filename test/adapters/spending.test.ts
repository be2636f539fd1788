/** The bound on an edition's spending: in memory, on the embedded engine, and on a server. */
import { expect, test } from '@jest/globals'
import { createMemorySpending } from '../../src/adapters/memory/spending.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { createPostgresSpending } from '../../src/adapters/postgres/spending.js'
import type { Database } from '../../src/ports/sql.js'
import { describeSpending, type OpenedSpending } from '../contracts/spending.js'
import { openTestDatabase } from '../support/memory-database.js'
import { serverDescribe } from '../support/length.js'
import { openTestSchema } from '../support/postgres.js'

describeSpending('memory', async () => {
  let shared = createMemorySpending()
  return {
    spending: () => shared,
    async empty() {
      shared = createMemorySpending()
    },
    close: async () => undefined,
  }
})

const spendingOn = (db: Database, close: () => Promise<void>): OpenedSpending => ({
  spending: () => createPostgresSpending(db),
  empty: () => db.script('delete from edition_spending'),
  close,
})

describeSpending('PGlite', async () => {
  const db = await openTestDatabase()
  await migrateLog(db)
  return spendingOn(db, () => db.close())
})

test('a row of an earlier version, with one sum of tokens, counts as completion tokens', async () => {
  const db = await openTestDatabase()
  await migrateLog(db)
  await db.script(`drop table edition_spending; drop table imported_files; drop table service_keys, service_key_uses, service_jobs, secrets_key, lost_counts, proof_tree, proof_tiles, checkpoints, erasable_ledger, keyrings, key_subjects, key_subject_conversations, erased_fingerprints, pending_erasures, tallies;
    create table edition_spending (edition_id text collate "C" primary key, tokens bigint not null default 0, cost_micros bigint not null default 0) with (fillfactor = 50);
    insert into edition_spending values ('e1', 500, 77);
    alter table compaction_queue drop column backlog;
    create index compaction_queue_ready on compaction_queue (ready_at);
    update log_version set version = 4`)
  await migrateLog(db)
  const spending = createPostgresSpending(db)
  expect(await spending.spentOn('e1')).toEqual({ promptTokens: 0, completionTokens: 500 })
  expect(await spending.reserve('e1', { promptTokens: 1, completionTokens: 0 }, { tokens: 500 })).toMatchObject({
    kind: 'no-room',
    spent: 500,
  })
  await db.close()
})

// Without a server these are counted as skipped.

serverDescribe('on a Postgres server', () => {
  describeSpending('Postgres', async () => {
    const { db, drop } = await openTestSchema()
    return spendingOn(db, async () => {
      await db.close()
      await drop()
    })
  })
})
