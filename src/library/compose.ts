/** The only file that knows every adapter: it opens stores, databases and models, and makes a ledger of them. */
import { either as E } from 'fp-ts'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { createVectorTable } from '../../projections/read-models/archive-index/vectors.js'
import { projectionsFor } from '../../projections/index.js'
import { createEventIdIndex } from '../../projections/read-models/message-ids/queries.js'
import type { Projection } from '../../projections/engine/projection.js'
import { createMemoryClaims } from '../adapters/memory/claims.js'
import { createMemoryTokenBudget } from '../adapters/memory/token-budget.js'
import { createMemoryWorkQueue } from '../adapters/memory/work-queue.js'
import { createKeyFolder, defaultKeyFolder } from '../adapters/file/key-folder.js'
import { createMemoryKeyVault } from '../adapters/memory/key-vault.js'
import { createOpenAiEmbeddingModel } from '../adapters/openai/embedding-model.js'
import { createOpenAiLanguageModel } from '../adapters/openai/language-model.js'
import { checkOpenAiModel } from '../adapters/openai/model-check.js'
import type { OpenOptions } from '../adapters/pglite/sql.js'
import { openFolderToRead, type FolderToRead } from '../adapters/pglite/open-to-read.js'
import { createPostgresBulkTarget } from '../adapters/postgres/bulk-append.js'
import { createPostgresBodyStore } from '../adapters/postgres/body-store.js'
import { createPostgresClaims } from '../adapters/postgres/claims.js'
import { createPostgresEventStore } from '../adapters/postgres/event-store.js'
import { checkLogVersion, migrateLog, type Upgrade } from '../adapters/postgres/schema.js'
import { createPostgresImportedFiles } from '../adapters/postgres/imported-files.js'
import { createPostgresLostCounts } from '../adapters/postgres/lost-counts.js'
import { createPostgresTallies } from '../adapters/postgres/tallies.js'
import { createCleanStorage } from '../adapters/postgres/clean-storage.js'
import { createPostgresKeyringStore } from '../adapters/postgres/keyring-store.js'
import { createPostgresPendingErasures } from '../adapters/postgres/pending-erasures.js'
import { createPostgresJobStore } from '../adapters/postgres/service-jobs.js'
import { createPostgresKeyStore } from '../adapters/postgres/service-keys.js'
import { createOperatingState } from '../adapters/postgres/operating-state.js'
import { createPostgresProofStore } from '../adapters/postgres/proof-store.js'
import type { OperatingState } from '../ports/operating-state.js'
import type { ProofStore } from '../ports/proof-store.js'
import { createPostgresSecretsKey } from '../adapters/postgres/secrets-key.js'
import { createPostgresSpending } from '../adapters/postgres/spending.js'
import { createPostgresTokenBudget } from '../adapters/postgres/token-budget.js'
import { createPostgresWorkQueue } from '../adapters/postgres/work-queue.js'
import { createCheckRows } from '../application/audit/check-rows.js'
import { decodeEvent } from '../application/recording/read-event.js'
import { LedgerError } from '../lib/ledger-error.js'
import type { EventStore } from '../ports/event-store.js'
import type { KeyVault } from '../ports/key-vault.js'
import type { Log } from '../application/recording/load-conversation.js'
import { notErasable, TextKeys } from '../application/sealing/text-keys.js'
import type { OpenedLog } from '../application/backup/migrate-log.js'
import { laterTypes } from '../domain/events/index.js'
import { LEDGER_PREFIXES } from '../domain/values/ids.js'
import type { Claims } from '../ports/claims.js'
import type { EmbeddingModel } from '../ports/embedding-model.js'
import { systemClock, type Clock } from '../ports/clock.js'
import type { CheckRows } from '../ports/row-check.js'
import type { PendingErasures } from '../ports/pending-erasures.js'
import type { Database } from '../ports/sql.js'
import type { LanguageModel } from '../ports/language-model.js'
import type { Summarizer } from '../ports/summarizer.js'
import { createSummarizerFrom } from '../application/summarizers/from-function.js'
import { guarded, LONGEST_MS } from '../application/summarizers/guarded.js'
import { MODEL_VARIABLES, modelSettings } from '../application/summarizers/environment.js'
import {
  createExtractiveSummarizer,
  createSummarizer,
  parseSummarizerConfig,
  type SummarizerConfig,
} from '../application/summarizers/index.js'
import { isKurrentDb, isPostgres, isService, lacksScheme, lacksSlash, schemeOf } from './addresses.js'
import { parseKeyAddress, type KeyAddress } from './key-address.js'
import type { OpenCompactionProcess, ProjectionProcess, ServiceStores } from './processes.js'
import { rowCheckOf } from './auditing.js'
import { createLedger } from './create-ledger.js'
import type { LedgerParts } from './parts.js'
import type { EmbeddingConfig, Ledger, LedgerOptions } from './ledger.js'
import { bad, nameOf, optionsOf, readFrom, textGiven } from './options.js'
import { openLedger as openLedgerCall } from '../schema/calls/open-ledger.js'
import { valueOf } from './problem.js'
import { tracedSummarizer } from './spans.js'
import { createRowThread, type RowThreadPlace } from './row-thread.js'
import { notifyingSummarizer } from './notifying-summarizer.js'
import { guardListener, problemReporter } from './report-problem.js'

type OnOpening = NonNullable<LedgerOptions['onOpening']>

/** A summarizer by the caller. Its strategy, provider and model are recorded with every summary. */
function ownSummarizer(given: Summarizer): Summarizer {
  for (const field of ['strategy', 'provider', 'model'] as const) nameOf(`summarizer.${field}`, given[field])
  for (const field of ['prepare', 'summarize'] as const)
    if (typeof given[field] !== 'function') throw bad(`summarizer.${field}`, 'must be a function')
  if (!(Number.isSafeInteger(given.windowTokens) && given.windowTokens > 0))
    throw bad('summarizer.windowTokens', 'must be a whole number above 0')
  return given
}

/** The model of the environment. */
function environmentConfig(): SummarizerConfig {
  const { model, ...connection } = modelSettings(process.env)
  if (model === undefined)
    throw bad('summarizer', `is "openai" without a model: set ${MODEL_VARIABLES.model.join(' or ')}`)
  return { kind: 'openai', model, ...connection }
}

/** `retries` overrides the configuration of the model's client. A summarizer by the caller retries as it likes. */
function summarizerOf(
  given: LedgerOptions['summarizer'],
  retries: { readonly maxRetries?: 0 } = {},
  longestMs: number = LONGEST_MS,
): Summarizer {
  if (given === undefined || given === 'extractive') return createExtractiveSummarizer()
  if (typeof given === 'function') return guarded(ownSummarizer(createSummarizerFrom(given)), longestMs)
  if (typeof given === 'object' && given !== null && 'prepare' in given) return guarded(ownSummarizer(given), longestMs)
  const config = configOf(given)
  return config.kind === 'extractive' ? createSummarizer(config) : createSummarizer(config, modelOf(config, retries))
}

const configOf = (setting: 'openai' | SummarizerConfig): SummarizerConfig =>
  valueOf(parseSummarizerConfig(setting === 'openai' ? environmentConfig() : setting), (left) =>
    bad(`summarizer.${left.field}`, left.detail),
  )

type ModelConfig = Extract<SummarizerConfig, { kind: 'openai' }>

const modelOf = (config: ModelConfig, retries: { readonly maxRetries?: 0 } = {}): LanguageModel =>
  valueOf(createOpenAiLanguageModel({ ...config, ...retries }), (left) => bad(left.field, left.detail))

/** The model of the summarizer; undefined if it has none, or one that only the caller knows. */
function languageModelOf(setting: LedgerOptions['summarizer']): LanguageModel | undefined {
  const isConfigured =
    setting === 'openai' || (typeof setting === 'object' && setting !== null && !('prepare' in setting))
  const config = isConfigured ? configOf(setting) : undefined
  return config?.kind === 'openai' ? modelOf(config) : undefined
}

/** A model for vectors. The rows record its name with each vector. */
function embeddingOf(config: EmbeddingConfig): EmbeddingModel {
  return valueOf(createOpenAiEmbeddingModel(config), (left) => bad(`embedding.${left.field}`, left.detail))
}

interface Opening {
  readonly onOpening?: OnOpening | undefined
  /** Nothing is to be written: then a folder may be one that another process has open. */
  readonly readOnly?: boolean | undefined
  /** Called if another process begins to read the folder through this one. */
  readonly onReader?: () => void
  /** Options of a folder that only this program's own processes use. */
  readonly folder?: FolderOptions | undefined
}

/** Options of a folder that only this program's own processes use. */
export type FolderOptions = Pick<OpenOptions, 'alone' | 'resident' | 'onReaders' | 'onRun' | 'onYield'> & {
  /** Called before the tables of a store are upgraded; if it rejects, they stay as they are, and opening fails. */
  readonly beforeUpgrade?: (upgrade: Upgrade & { readonly name: string }) => Promise<void>
}

/** Opens a database whose address was checked. An engine or a driver is loaded when it is needed. */
async function openToWrite(address: string, options: OpenOptions): Promise<Database> {
  if (isPostgres(address)) return await (await import('../adapters/postgres/sql.js')).openPostgres(address)
  const { openFolder, openMemory } = await import('../adapters/pglite/sql.js')
  return address === 'memory' ? await openMemory() : await openFolder(address, options)
}

/** Opens a database and brings its tables up to date: a server by its address, a folder by its path. */
async function openDatabase(
  address: string,
  field: 'store' | 'database',
  { onOpening, readOnly = false, onReader, folder }: Opening,
): Promise<FolderToRead> {
  const kinds = field === 'store' ? 'a folder, postgres://… or esdb://…' : 'a folder, or postgres://…'
  if (address.trim() === '') throw bad(field, `is empty: give ${kinds}`)
  // Without this check, an address in another program's notation would create a folder of that name.
  if (address !== 'memory' && /^[\s:]*memory[\s:]*$/iu.test(address))
    throw bad(
      field,
      `"${address}" is not "memory": did you mean memory? (a folder of that name is ./${address.trim()})`,
    )
  if (lacksScheme(address))
    throw bad(
      field,
      `"${address}" has no scheme: give postgres://…, esdb://… or a service's http://… (a folder of that name is ./${address})`,
    )
  if (lacksSlash(address))
    throw bad(
      field,
      `"${address}" has one slash behind its scheme, where two belong (a folder of that name is ./${address})`,
    )
  if (isService(address))
    throw bad(
      field,
      `"${new URL(address).origin}" is a service: this is done beside its store (openRemoteLedger of context-ledger/client opens a ledger behind a service)`,
    )
  const scheme = schemeOf(address)
  if (scheme !== undefined && !isPostgres(address))
    throw bad(field, `"${scheme}" is no kind of ${field}: give ${kinds}`)
  const waiting = {
    ...(onOpening === undefined ? {} : { onWait: onOpening }),
    ...(onReader === undefined ? {} : { onReader }),
    ...folder,
  }
  const { db, ownerName: readBy } =
    readOnly && address !== 'memory' && !isPostgres(address)
      ? await openFolderToRead(address, waiting)
      : { db: await openToWrite(address, waiting), ownerName: undefined }
  try {
    await (readBy === undefined
      ? migrateLog(db, async (upgrade) => {
          await folder?.beforeUpgrade?.({ ...upgrade, name: db.name })
          onOpening?.(
            `upgrading ${db.name} from version ${String(upgrade.from)} of its tables to ${String(upgrade.to)}; earlier versions of this program cannot open it afterwards`,
          )
        })
      : checkLogVersion(db))
    return { db, ownerName: readBy }
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Name of a store that has no ledger, if this can be checked without opening it. Opening would create one. */
export async function nameWithoutLedger(store: string): Promise<string | undefined> {
  if (isPostgres(store)) {
    const { lookAtPostgres } = await import('../adapters/postgres/sql.js')
    const { name, hasSchema } = await lookAtPostgres(store)
    return hasSchema ? undefined : name
  }
  // The marker that the embedded store writes first. A folder without it may still hold something else, of which
  // opening complains.
  const isThere =
    schemeOf(store) !== undefined ||
    (await access(join(store, 'ledger.json')).then(
      () => true,
      () => false,
    ))
  return isThere ? undefined : store
}

/** The stores of a ledger. */
interface Stores {
  readonly log: Log
  /** The log's address for people. */
  readonly name: string
  /** Where the read models, the bodies and the claims are. */
  readonly db: Database
  readonly projections: readonly Projection[]
  /** False where the log belongs to this process alone. */
  readonly isLogShared: boolean
  /** False where the database does. */
  readonly isDatabaseShared: boolean
  /** The process that has the folder open, if the folder is read through it. */
  readonly readBy: string | undefined
  /** Undefined if the ledger is not erasable. */
  readonly textKeys: TextKeys | undefined
  readonly close: () => Promise<void>
}

/** Where the keys of an erasable ledger are, and whether a new ledger is to be one. */
export interface KeyPlace {
  readonly keys?: string | KeyVault | undefined
  readonly erasable?: boolean | undefined
  /** Makes a new ledger a copy of the erasable ledger that has these keys. */
  readonly copyOf?: TextKeys | undefined
}

/** Vaults of ledgers in memory, which end with this process. */
const memoryVault = createMemoryKeyVault()

async function vaultOf(store: string, keys: KeyPlace['keys'], isBlocking: boolean): Promise<KeyVault> {
  if (typeof keys === 'object') return keys
  const text = keys ?? process.env['CONTEXT_LEDGER_KEYS']
  if (text === undefined)
    return store === 'memory' ? memoryVault : createKeyFolder(defaultKeyFolder(), undefined, isBlocking)
  const address = keyAddressGiven(keys === undefined ? 'CONTEXT_LEDGER_KEYS' : 'keys', text)
  switch (address.kind) {
    case 'folder':
      return createKeyFolder(address.folder, undefined, isBlocking)
    case 'vault': {
      const { createVaultTransit } = await import('../adapters/vault-transit/key-vault.js')
      return createVaultTransit(address)
    }
    case 'aws-kms': {
      const { createAwsKms } = await import('../adapters/aws-kms/key-envelope.js')
      return createKeyFolder(address.folder ?? defaultKeyFolder(), createAwsKms(address))
    }
    case 'gcp-kms': {
      const { createGcpKms } = await import('../adapters/gcp-kms/key-envelope.js')
      return createKeyFolder(address.folder ?? defaultKeyFolder(), createGcpKms(address))
    }
    case 'azure-kms': {
      const { createAzureKms } = await import('../adapters/azure-kms/key-envelope.js')
      return createKeyFolder(address.folder ?? defaultKeyFolder(), createAzureKms(address))
    }
  }
}

function keyAddressGiven(field: string, text: string): KeyAddress {
  const parsed = parseKeyAddress(text)
  if (E.isLeft(parsed)) throw bad(field, parsed.left)
  return parsed.right
}

/** The keys of texts; undefined if the ledger is not erasable. Makes an empty ledger erasable if requested. */
async function openTextKeys(
  { log, name, db, isDatabaseShared, readBy }: Pick<Stores, 'log' | 'name' | 'db' | 'isDatabaseShared' | 'readBy'>,
  store: string,
  { keys, erasable, copyOf }: KeyPlace,
): Promise<TextKeys | undefined> {
  const sharing = isDatabaseShared || readBy !== undefined ? 'writers' : store === 'memory' ? 'none' : 'readers'
  const keyrings = createPostgresKeyringStore(db, sharing)
  const isErasable = (await keyrings.ledger()) !== undefined
  if (!isErasable && erasable !== true && copyOf === undefined) return undefined
  const vault = await vaultOf(store, keys, !isDatabaseShared)
  if (!isErasable) {
    if (await hasEvents(log.store)) throw copyOf === undefined ? notErasable('erasable') : targetNotErasable(name)
    await (copyOf === undefined ? TextKeys.create(keyrings, vault) : TextKeys.createCopy(keyrings, vault, copyOf))
  }
  return await TextKeys.open(keyrings, vault)
}

const targetNotErasable = (name: string): LedgerError =>
  new LedgerError(
    'TargetDiffers',
    `${name} has events and is not erasable: copy an erasable log to an empty store, which becomes erasable, or to an earlier copy of this log`,
  )

async function hasEvents(store: EventStore): Promise<boolean> {
  for await (const _event of store.readPositions({ prefix: LEDGER_PREFIXES, limit: 1 })) return true
  return false
}

async function openStores(
  store: string,
  database: string | undefined,
  opening: Opening = {},
  place: KeyPlace = {},
): Promise<Stores> {
  const stores = await openWithoutKeys(store, database, opening)
  try {
    const textKeys = await openTextKeys(stores, store, place)
    return textKeys === undefined ? stores : { ...stores, textKeys, log: { ...stores.log, keys: textKeys } }
  } catch (error) {
    await stores.close()
    throw error
  }
}

async function openWithoutKeys(store: string, database: string | undefined, opening: Opening): Promise<Stores> {
  if (isKurrentDb(store)) return await openKurrentDb(store, database, opening)
  if (database !== undefined)
    throw bad('database', 'is for a log in KurrentDB: this one keeps its read models beside it')
  const { db, ownerName: readBy } = await openDatabase(store, 'store', opening)
  const isShared = isPostgres(store)
  const log = {
    store: createPostgresEventStore(db),
    bodies: createPostgresBodyStore(db),
    secretsKey: createPostgresSecretsKey(db),
  }
  return {
    log,
    name: db.name,
    db,
    projections: projectionsFor(log.store),
    isLogShared: isShared || readBy !== undefined,
    isDatabaseShared: isShared,
    readBy,
    textKeys: undefined,
    close: () => db.close(),
  }
}

async function openKurrentDb(store: string, database: string | undefined, opening: Opening): Promise<Stores> {
  if (database === undefined)
    throw bad(
      'database',
      'is missing: a log in KurrentDB keeps its read models, large bodies and claims in a Postgres, which --database or CONTEXT_LEDGER_DATABASE names',
    )
  // Loaded where it is wanted: the client takes longer to load than a command on another store takes in all.
  const [{ openKurrentDbEventStore }, { parseAddress }] = await Promise.all([
    import('../adapters/kurrentdb/event-store.js'),
    import('../adapters/kurrentdb/connection.js'),
  ])
  // Check the address before a database is opened for it.
  parseAddress(store)
  const { db, ownerName: readBy } = await openDatabase(database, 'database', opening)
  const bodies = createPostgresBodyStore(db)
  try {
    const log = await openKurrentDbEventStore(store, {
      bodies,
      eventIds: createEventIdIndex(db),
      laterTypes,
      prefixes: LEDGER_PREFIXES,
    })
    return {
      log: { store: log, bodies, secretsKey: createPostgresSecretsKey(db) },
      name: log.name,
      db,
      projections: projectionsFor(log),
      isLogShared: true,
      isDatabaseShared: isPostgres(database),
      readBy,
      textKeys: undefined,
      async close() {
        await log.close()
        await db.close()
      },
    }
  } catch (error) {
    await db.close()
    throw error
  }
}

// A folder belongs to this process alone: claims in memory die with it, and nobody waits for one that a killed process
// held.
const claimsOf = (stores: Stores, clock: Clock): Claims =>
  stores.isDatabaseShared ? createPostgresClaims(stores.db) : createMemoryClaims(clock)

const KEY_VAULT = ['name', 'wrap', 'unwrap', 'destroy'] as const satisfies readonly (keyof KeyVault)[]

function keysOf(keys: LedgerOptions['keys']): LedgerOptions['keys'] {
  if (keys === undefined) return undefined
  if (typeof keys === 'string') {
    keyAddressGiven('keys', textGiven('keys', keys))
    return keys
  }
  if (typeof keys !== 'object' || keys === null)
    throw bad('keys', 'must be a folder, the address of a key vault, or a key vault')
  const missing = readFrom('keys', () => KEY_VAULT.find((name) => !(name in keys)))
  if (missing !== undefined)
    throw bad(`keys.${missing}`, 'is missing: a key vault has wrap, unwrap, destroy and a name')
  return keys
}

/** The options of a ledger, checked, and what is made of them without opening anything; throws where one is wrong. */
export function checkedOptions(options: LedgerOptions) {
  const {
    store,
    database,
    clock = systemClock,
    actor = 'library',
    onProblem,
    onOpening = () => undefined,
    onRequest,
    persona = '',
    workers = 'inside',
    ahead = true,
    embedding,
    readOnly = false,
    policy,
    estimator,
    prices = {},
    summarizerTimeoutMs: longestMs = LONGEST_MS,
    ...given
  } = optionsOf(openLedgerCall, options)
  const reportProblem = problemReporter(onProblem)
  const listener = onRequest === undefined ? undefined : guardListener(onRequest, reportProblem)
  const observed = (summarizer: Summarizer): Summarizer =>
    tracedSummarizer(listener === undefined ? summarizer : notifyingSummarizer(summarizer, listener))
  return {
    erasable: given.erasable,
    keys: keysOf(given.keys),
    store,
    database,
    clock,
    actor,
    onProblem: reportProblem,
    onOpening: guardListener(onOpening, reportProblem),
    persona,
    workers,
    ahead,
    readOnly,
    policy,
    estimator,
    prices,
    summarizer: readFrom('summarizer', () => observed(summarizerOf(given.summarizer, {}, longestMs))),
    candidateSummarizer: (candidate: NonNullable<LedgerOptions['summarizer']>) =>
      readFrom('summarizer', () => observed(summarizerOf(candidate, { maxRetries: 0 }, longestMs))),
    languageModel: languageModelOf(given.summarizer),
    editionSummarizer: observed(summarizerOf(given.summarizer, { maxRetries: 0 }, longestMs)),
    embedding: embedding === undefined ? undefined : embeddingOf(embedding),
  }
}

/** Opens a ledger. Throws where the store cannot be opened or a setting is wrong, before anything is written. */
export const openLedger = async (options: LedgerOptions): Promise<Ledger> => (await openWithStores(options)).ledger

/** Opens a ledger together with the stores of the service. Closing the ledger closes all of them. */
export async function openService(
  options: LedgerOptions,
  folder?: FolderOptions,
): Promise<ServiceStores & { readonly ledger: Ledger }> {
  const { ledger, stores, onCompaction } = await openWithStores(options, folder)
  return { ledger, onCompaction, ...serviceStores(stores) }
}

/** Opens the keys of the service alone. */
export async function openKeys(where: {
  readonly store: string
  readonly database?: string
}): Promise<Pick<ServiceStores, 'keys'> & { close(): Promise<void> }> {
  const stores = await openStores(where.store, where.database)
  return { keys: serviceStores(stores).keys, close: stores.close }
}

const serviceStores = ({ db, log, isDatabaseShared, isLogShared }: Stores): Omit<ServiceStores, 'onCompaction'> => ({
  keys: createPostgresKeyStore(db),
  jobs: createPostgresJobStore(db),
  isShared: isDatabaseShared && isLogShared,
  budget: (limits) => createMemoryTokenBudget(limits, systemClock),
  ping: async () => {
    await Promise.all([db.query('select 1'), log.store.head()])
  },
})

async function openWithStores(
  options: LedgerOptions,
  folder?: FolderOptions,
): Promise<Pick<ServiceStores, 'onCompaction'> & { readonly ledger: Ledger; readonly stores: Stores }> {
  const { store, database, ...given } = checkedOptions(options)
  const { clock, workers, embedding, readOnly } = given
  let readerBegun = (): void => undefined
  const hearing = new Set<LedgerParts['onCompaction']>()
  const stores = await openStores(
    store,
    database,
    {
      ...given,
      folder,
      onReader: () => {
        readerBegun()
      },
    },
    given,
  )
  const isReadThroughOwner = stores.readBy !== undefined
  try {
    if (workers === 'elsewhere' && !stores.isDatabaseShared)
      throw bad('workers', 'cannot be elsewhere: a folder belongs to the one process that has it open')
    if (embedding !== undefined && !isReadThroughOwner) await createVectorTable(stores.db)
  } catch (error) {
    await stores.close()
    throw error
  }
  const ledger = createLedger({
    ...given,
    // Rows and vectors are the other process's to keep.
    ...(isReadThroughOwner ? ({ workers: 'elsewhere', ahead: false } as const) : {}),
    readOnly: readOnly ? { keptBy: stores.readBy } : undefined,
    onReader: (begun) => {
      readerBegun = begun
    },
    log: stores.log,
    name: stores.name,
    db: stores.db,
    projections: stores.projections,
    alone: !stores.isLogShared,
    claims: claimsOf(stores, clock),
    proofs: createPostgresProofStore(stores.db),
    checkRowsApart:
      stores.isDatabaseShared && typeof given.keys !== 'object'
        ? createRowThread({ store, database, keys: given.keys })
        : undefined,
    spending: createPostgresSpending(stores.db),
    importedFiles: createPostgresImportedFiles(stores.db),
    lostCounts: createPostgresLostCounts(stores.db, { isReadOnly: isReadThroughOwner }),
    tallies: createPostgresTallies(stores.db, { isReadOnly: isReadThroughOwner }),
    pendingErasures: createPostgresPendingErasures(stores.db),
    cleanStorage: createCleanStorage(stores.db),
    queue: createMemoryWorkQueue(clock),
    fallback: createExtractiveSummarizer(),
    checkModel: checkOpenAiModel,
    onCompaction(running) {
      for (const began of hearing) began(running)
    },
    close: () => stores.close(),
  })
  return { ledger, stores, onCompaction: (began) => void hearing.add(began) }
}

/** Opens a log for a copy: its tables made where they are missing, and nothing else. */
export async function openLog(
  address: string,
  options: { readonly database?: string } & KeyPlace,
): Promise<
  OpenedLog & {
    readonly proofs: ProofStore
    readonly operating: OperatingState
    readonly erasable?: { readonly keys: TextKeys; readonly pendingErasures: PendingErasures }
  }
> {
  const { log, name, db, close, textKeys } = await openStores(address, options.database, {}, options)
  return {
    name,
    store: log.store,
    bodies: log.bodies,
    proofs: createPostgresProofStore(db),
    operating: createOperatingState(db),
    ...(isKurrentDb(address) ? {} : { bulk: createPostgresBulkTarget(db, name) }),
    ...(textKeys === undefined
      ? {}
      : { erasable: { keys: textKeys, pendingErasures: createPostgresPendingErasures(db) } }),
    close,
  }
}

export { evictResident } from '../adapters/pglite/evict-resident.js'
export { findOwner, type FolderOwner } from '../adapters/pglite/folder-lock.js'
export { createLogFile, openLogFile } from '../adapters/file/log-file.js'
export { createManifestFile, openManifestFile } from '../adapters/file/manifest-file.js'
export {
  createKeyFile,
  fingerprintFrom as fingerprintMeant,
  privateKeyFrom,
  readPrivateKey,
  signerFrom,
} from '../adapters/file/signing-key.js'
export { publishCheckpointFile, readCheckpointFile } from '../adapters/file/checkpoint-file.js'

/** Opens what `projections run` works with. */
export async function openProjections(
  where: { readonly store: string; readonly database?: string } & KeyPlace,
): Promise<ProjectionProcess> {
  const { log, db, projections, close } = await openStores(where.store, where.database, {}, where)
  return {
    db,
    store: log.store,
    decode: (stored) => decodeEvent(stored, log),
    projections,
    claims: createPostgresClaims(db),
    close,
  }
}

/** Opens what a thread needs to compare rows. It does not wait for rows that lag; the caller compares these again. */
export async function openRowCheck(
  where: RowThreadPlace,
): Promise<{ readonly checkRows: CheckRows; close(): Promise<void> }> {
  const { log, db, projections, close } = await openStores(where.store, where.database, {}, where)
  const rowCheck = rowCheckOf({ log, db, projections })
  return {
    checkRows: createCheckRows(log, (everyConversation) => rowCheck(everyConversation, () => Promise.resolve())),
    close,
  }
}

/** Opens what `compaction run` works with. */
export const openCompaction: OpenCompactionProcess = async (where) => {
  const { log, name, db, close } = await openStores(where.store, where.database, {}, where)
  try {
    return {
      log,
      name,
      summarizer: tracedSummarizer(summarizerOf(await where.summarizerFor(log))),
      fallback: createExtractiveSummarizer(),
      claims: createPostgresClaims(db),
      queue: createPostgresWorkQueue(db),
      budget: (limits) => createPostgresTokenBudget(db, limits),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
