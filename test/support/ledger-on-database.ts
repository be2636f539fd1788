/** A ledger over a database that the test can reach too, as an attacker with its password could. */
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { createMemoryWorkQueue } from '../../src/adapters/memory/work-queue.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createCleanStorage } from '../../src/adapters/postgres/clean-storage.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { createPostgresImportedFiles } from '../../src/adapters/postgres/imported-files.js'
import { createPostgresLostCounts } from '../../src/adapters/postgres/lost-counts.js'
import { createPostgresTallies } from '../../src/adapters/postgres/tallies.js'
import { createPostgresProofStore } from '../../src/adapters/postgres/proof-store.js'
import { createPostgresPendingErasures } from '../../src/adapters/postgres/pending-erasures.js'
import { createPostgresSpending } from '../../src/adapters/postgres/spending.js'
import { decodeMetadata, eventHash, GENESIS_HASH, metadataText } from '../../src/domain/events/codec.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import { createLedger } from '../../src/library/create-ledger.js'
import type { Ledger } from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import type { EmbeddingModel } from '../../src/ports/embedding-model.js'
import type { EventStore } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import type { LanguageModel } from '../../src/ports/language-model.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import type { TextKeys } from '../../src/application/sealing/text-keys.js'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import { projectionsFor } from '../../projections/index.js'

export async function ledgerOn(
  db: Database,
  options: {
    readonly policy?: PolicySettings
    readonly summarizer?: Summarizer
    readonly languageModel?: LanguageModel
    readonly estimator?: string
    readonly onProblem?: (problem: unknown) => void
    readonly workers?: 'inside' | 'elsewhere'
    readonly embedding?: EmbeddingModel
    /** The keys of an erasable ledger. */
    readonly keys?: TextKeys
    /** False where another ledger is open on the same database. */
    readonly alone?: boolean
    /** Replaces the store by one that the test controls. */
    readonly storeFrom?: (store: EventStore) => EventStore
  } = {},
): Promise<Ledger> {
  await migrateLog(db)
  const stored = createPostgresEventStore(db)
  const store = options.storeFrom?.(stored) ?? stored
  return createLedger({
    log: { store, bodies: createPostgresBodyStore(db), keys: options.keys },
    name: db.name,
    db,
    projections: projectionsFor(store),
    alone: options.alone ?? true,
    ahead: true,
    workers: options.workers ?? 'inside',
    claims: createMemoryClaims(systemClock),
    checkRowsApart: undefined,
    languageModel: options.languageModel,
    proofs: createPostgresProofStore(db),
    spending: createPostgresSpending(db),
    importedFiles: createPostgresImportedFiles(db),
    lostCounts: createPostgresLostCounts(db, { isReadOnly: false }),
    tallies: createPostgresTallies(db, { isReadOnly: false }),
    pendingErasures: createPostgresPendingErasures(db),
    cleanStorage: createCleanStorage(db),
    queue: createMemoryWorkQueue(systemClock),
    summarizer: options.summarizer ?? createExtractiveSummarizer(),
    editionSummarizer: options.summarizer ?? createExtractiveSummarizer(),
    candidateSummarizer: () => options.summarizer ?? createExtractiveSummarizer(),
    checkModel: () => Promise.resolve({ kind: 'usable', by: 'list' }),
    fallback: createExtractiveSummarizer(),
    persona: '',
    embedding: options.embedding,
    prices: {},
    policy: options.policy,
    estimator: options.estimator,
    actor: 'test',
    clock: systemClock,
    onProblem:
      options.onProblem ??
      ((problem) => {
        throw problem instanceof Error ? problem : new Error(JSON.stringify(problem))
      }),
    readOnly: undefined,
    onReader: () => undefined,
    onCompaction: () => undefined,
    close: () => Promise.resolve(),
  })
}

interface EventRow {
  readonly position: string
  readonly revision: string
  readonly id: string
  readonly stream: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

/**
 * Simulates a writer with access to the database: a trigger of the log refuses changes, and the table's owner can drop
 * it.
 */
export interface Attacker {
  run(statement: string, values?: readonly unknown[]): Promise<void>
  /** Recomputes every hash of a stream, so that its chain is valid. */
  rechain(stream: string): Promise<void>
  /** Puts the log back as it was when the attack began. */
  undo(): Promise<void>
}

export async function attack(db: Database): Promise<Attacker> {
  await db.script(
    'alter table events disable trigger events_are_kept; drop table if exists events_before; create table events_before as select * from events; drop table if exists streams_before; create table streams_before as select * from streams; drop table if exists head_before; create table head_before as select * from log_head',
  )
  return {
    run: async (statement, values = []) => {
      await db.query(statement, values)
    },
    async rechain(stream) {
      let previousHash = GENESIS_HASH
      for (const row of await db.query<EventRow>('select * from events where stream = $1 order by revision', [
        stream,
      ])) {
        const event = { ...row, revision: Number(row.revision), position: Number(row.position) }
        const read = decodeMetadata(event)
        if (read._tag === 'Left') throw new Error(read.left.detail)
        const hash = eventHash(event, { ...read.right, previousHash })
        await db.query('update events set metadata = $2 where position = $1', [
          row.position,
          metadataText({ ...read.right, previousHash, hash }),
        ])
        previousHash = hash
      }
    },
    undo: async () => {
      await db.script(
        'delete from events; insert into events select * from events_before; delete from streams; insert into streams select * from streams_before; update log_head set position = (select position from head_before)',
      )
    },
  }
}
