/** The only file that knows every adapter: it opens stores, databases and models, and makes a ledger of them. */
import { createVectorTable } from '../../projections/archive-index/vectors.js'
import { projections } from '../../projections/index.js'
import type { Projection } from '../../projections/projection.js'
import { createMemoryClaims } from '../adapters/memory/claims.js'
import { createOpenAiEmbeddingModel } from '../adapters/openai/embedding-model.js'
import { createOpenAiLanguageModel } from '../adapters/openai/language-model.js'
import { openFolder, openMemory } from '../adapters/pglite/sql.js'
import { createPostgresBodyStore } from '../adapters/postgres/body-store.js'
import { createPostgresClaims } from '../adapters/postgres/claims.js'
import { createPostgresEventStore } from '../adapters/postgres/event-store.js'
import { migrateLog } from '../adapters/postgres/schema.js'
import { openPostgres } from '../adapters/postgres/sql.js'
import type { Log } from '../application/load-conversation.js'
import type { PolicySettings } from '../domain/policy.js'
import type { Claims } from '../ports/claims.js'
import { systemClock, type Clock } from '../ports/clock.js'
import type { Database } from '../ports/sql.js'
import type { Summarizer } from '../ports/summarizer.js'
import { guarded } from '../summarizers/guarded.js'
import { createExtractiveSummarizer, createSummarizer, parseSummarizerConfig, type SummarizerConfig } from '../summarizers/index.js'
import { createLedger, settingsOf } from './create-ledger.js'
import { valueOf, type Ledger } from './ledger.js'
import { problem } from './problem.js'

export interface EmbeddingConfig {
  readonly model: string
  readonly baseUrl?: string
  readonly apiKey?: string
}

export interface LedgerOptions {
  /** Where the log is: a folder (the embedded Postgres; one process at a time), `memory`, `postgres://…`, or a KurrentDB by `esdb://…` or `kurrentdb://…`. */
  readonly store: string
  /** Where the read models, large bodies and claims are, for a log in KurrentDB: `postgres://…`, or a folder. A Postgres log keeps them beside it. */
  readonly database?: string
  /** Who summarizes: `extractive` (no model, no key), the configuration of a model, or a summarizer of your own. */
  readonly summarizer?: 'extractive' | SummarizerConfig | Summarizer
  /** Settings for what is appended through this ledger; they are recorded. Left out, a conversation keeps its own. */
  readonly policy?: PolicySettings
  /** What the summarizer's prompt says of whom it works for. */
  readonly persona?: string
  /** Where it is given, search goes by meaning too. */
  readonly embedding?: EmbeddingConfig
  /** Who keeps the read models and compacts: this process (the default), or processes of their own (`projections run`, `compaction run`). */
  readonly workers?: 'inside' | 'elsewhere'
  /** Recorded with every fact as who asked. Default `library`. */
  readonly actor?: string
  readonly clock?: Clock
  /** Hears of what nobody waits for: a compaction that failed behind an append, a read model that stopped. */
  readonly onProblem?: (problem: unknown) => void
}

const bad = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

function summarizerOf(given: LedgerOptions['summarizer']): Summarizer {
  if (given === undefined || given === 'extractive') return createExtractiveSummarizer()
  if (typeof given === 'object' && 'prepare' in given) return guarded(given)
  const config = valueOf(parseSummarizerConfig(given), (left) => bad(`summarizer.${left.field}`, left.detail))
  if (config.kind === 'extractive') return createSummarizer(config)
  const model = valueOf(createOpenAiLanguageModel(config), (left) => bad(left.field, left.detail))
  return createSummarizer(config, model)
}

const isPostgres = (address: string): boolean => /^postgres(ql)?:\/\//iu.test(address)
const schemeOf = (address: string): string | undefined => /^([a-z][a-z0-9+.-]*):\/\//iu.exec(address)?.[1]

/** Opens a database and brings its tables up to date: a server by its address, a folder by its path. */
async function openDatabase(address: string, field: 'store' | 'database'): Promise<Database> {
  if (address.trim() === '') throw bad(field, 'is empty: give a folder, or postgres://…')
  const scheme = schemeOf(address)
  if (scheme !== undefined && !isPostgres(address)) throw bad(field, `"${scheme}" is no kind of ${field}: give a folder, or postgres://…`)
  const db = address === 'memory' ? await openMemory() : isPostgres(address) ? await openPostgres(address) : await openFolder(address)
  try {
    await migrateLog(db)
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

/** What a ledger stands on. */
interface Stores {
  readonly log: Log
  /** Where the read models, the bodies and the claims are. */
  readonly db: Database
  readonly projections: readonly Projection[]
  /** False where the log belongs to this process alone. */
  readonly isLogShared: boolean
  /** False where the database does. */
  readonly isDatabaseShared: boolean
  close(): Promise<void>
}

async function openStores(store: string, database: string | undefined): Promise<Stores> {
  if (database !== undefined) throw bad('database', 'is for a log that is no Postgres: this one keeps its read models beside it')
  const db = await openDatabase(store, 'store')
  const isShared = isPostgres(store)
  return { log: { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }, db, projections, isLogShared: isShared, isDatabaseShared: isShared, close: () => db.close() }
}

// A folder belongs to this process alone: claims in memory die with it, and nobody waits for one that a killed process held.
const claimsOf = (stores: Stores, clock: Clock): Claims => (stores.isDatabaseShared ? createPostgresClaims(stores.db) : createMemoryClaims(clock))

/** Opens a ledger. Throws where the store cannot be opened or a setting is wrong, before anything is written. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { clock = systemClock, actor = 'library', onProblem = () => undefined, persona = '', workers = 'inside' } = options
  const policy = settingsOf(options.policy)
  const summarizer = summarizerOf(options.summarizer)
  const embedding = options.embedding === undefined ? undefined : valueOf(createOpenAiEmbeddingModel(options.embedding), (left) => bad(left.field, left.detail))
  const stores = await openStores(options.store, options.database)
  try {
    if (workers === 'elsewhere' && !stores.isDatabaseShared) throw bad('workers', 'cannot be elsewhere: a folder belongs to the one process that has it open')
    if (embedding !== undefined) await createVectorTable(stores.db)
  } catch (error) {
    await stores.close()
    throw error
  }
  return createLedger({
    log: stores.log,
    db: stores.db,
    projections: stores.projections,
    alone: !stores.isLogShared,
    workers,
    claims: claimsOf(stores, clock),
    summarizer,
    standIn: createExtractiveSummarizer(),
    persona,
    embedding,
    policy,
    actor,
    clock,
    onProblem,
    close: () => stores.close(),
  })
}
