/** The wrapped keys of an erasable ledger in Postgres. */
import type { KeyringRecord, KeyringRows, KeyringStore, LedgerKeys, KeySharing } from '../../ports/keyring-store.js'
import type { Database, Sql } from '../../ports/sql.js'

interface Row extends Record<string, unknown> {
  readonly conversation_id: string
  readonly version: number
  readonly generation: number
  readonly wrapped: string
  readonly keys: string
  readonly to_destroy: string
}

const recordOf = (row: Row): KeyringRecord => ({
  conversationId: row.conversation_id,
  version: row.version,
  generation: row.generation,
  wrapped: row.wrapped,
  keys: row.keys,
  toDestroy: row.to_destroy === '' ? [] : row.to_destroy.split(',').map(Number),
})

/**
 * An expression for the record of a conversation, as one text: a column for each field would take longer.
 * @param conversation the number of the parameter with its id
 */
export const keyringAsText = (conversation: number): string =>
  `(select version || '|' || generation || '|' || to_destroy || '|' || keys || '|' || wrapped from keyrings where conversation_id = $${String(conversation)})`

// `wrapped` is what a vault returned, so it may have any character.
const AS_TEXT = /^(\d+)\|(\d+)\|([\d,]*)\|([^|]*)\|(.*)$/su

/** The record from the result of `keyringAsText`. */
export function keyringFrom(conversationId: string, text: string): KeyringRecord {
  const [, version, generation, toDestroy = '', keys = '', wrapped = ''] = AS_TEXT.exec(text) ?? []
  return recordOf({
    conversation_id: conversationId,
    version: Number(version),
    generation: Number(generation),
    wrapped,
    keys,
    to_destroy: toDestroy,
  })
}

/**
 * The statement that inserts the first record of a conversation. It returns a row if there was none.
 * @param first the number of its first parameter
 */
export const insertKeyring = (first: number): string =>
  `insert into keyrings (conversation_id, version, generation, wrapped, keys, to_destroy)
   values (${[0, 1, 2, 3, 4, 5].map((at) => `$${String(first + at)}`).join(', ')}) on conflict do nothing returning 1`

/** The same statement without a wait for the disk. The next commit of the same database that waits, waits for both. */
const insertKeyringSoon = `with soon as materialized (select set_config('synchronous_commit', 'off', true))
   insert into keyrings (conversation_id, version, generation, wrapped, keys, to_destroy)
   select $1, $2::int, $3::int, $4, $5, $6 from soon on conflict do nothing returning 1`

/** The parameters of `insertKeyring`. */
export const keyringValues = ({
  conversationId,
  version,
  generation,
  wrapped,
  keys,
  toDestroy,
}: KeyringRecord): readonly unknown[] => [conversationId, version, generation, wrapped, keys, toDestroy.join(',')]

/**
 * Stores the first record of a conversation before an append to the log in the same database. A crash before the append
 * may lose keys that sealed nothing.
 * @returns whether the conversation had no keys
 */
export const putBeforeAppend = async (db: Database, record: KeyringRecord): Promise<boolean> =>
  (await db.query(insertKeyringSoon, keyringValues(record))).length > 0

/** Stores a record if its version follows the stored one. */
async function putRecord(sql: Sql, record: KeyringRecord): Promise<'stored' | 'conflict'> {
  const stored = await sql.query(
    record.version === 1
      ? insertKeyring(1)
      : `update keyrings set version = $2, generation = $3, wrapped = $4, keys = $5, to_destroy = $6
         where conversation_id = $1 and version = $2 - 1 returning 1`,
    keyringValues(record),
  )
  return stored.length === 0 ? 'conflict' : 'stored'
}

/** Stores a record, and that these persons occur in it. */
async function putWith(
  sql: Sql,
  record: KeyringRecord,
  subjects: readonly string[],
): Promise<'stored' | 'conflict' | 'erased'> {
  for (const subject of subjects.toSorted()) {
    // The row is locked until the commit, so an erasure of this person waits, and then finds this conversation.
    const [state] = await sql.query<{ erased: boolean }>(
      `insert into key_subjects (subject) values ($1)
       on conflict (subject) do update set subject = excluded.subject returning erased`,
      [subject],
    )
    if (state?.erased === true) return 'erased'
  }
  if ((await putRecord(sql, record)) === 'conflict') return 'conflict'
  for (const subject of subjects)
    await sql.query(
      'insert into key_subject_conversations (subject, conversation_id) values ($1, $2) on conflict do nothing',
      [subject, record.conversationId],
    )
  return 'stored'
}

const PAGE = 500

const NO_ROWS: KeyringRows = { records: [], subjects: [], occurrences: [], fingerprints: [] }

/** The rows of a table in pages, in the order of columns that are unique together. */
async function* pages<Found extends Record<string, unknown>>(
  db: Database,
  table: string,
  columns: readonly (keyof Found & string)[],
  selected = '*',
): AsyncIterable<readonly Found[]> {
  const key = columns.join(', ')
  let after: readonly unknown[] | undefined
  for (;;) {
    const from: string =
      after === undefined ? '' : `where (${key}) > (${columns.map((_c, at) => `$${String(at + 1)}`).join(', ')})`
    const rows = await db.query<Found>(
      `select ${selected} from ${table} ${from} order by ${key} limit ${String(PAGE)}`,
      after ?? [],
    )
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = columns.map((column) => last[column])
  }
}

async function* rowsOf(db: Database): AsyncIterable<KeyringRows> {
  for await (const rows of pages<Row>(db, 'keyrings', ['conversation_id']))
    yield { ...NO_ROWS, records: rows.map(recordOf) }
  for await (const rows of pages<{ subject: string; erased: boolean }>(db, 'key_subjects', ['subject']))
    yield { ...NO_ROWS, subjects: rows.map(({ subject, erased }) => ({ subject, isErased: erased })) }
  for await (const rows of pages<{ subject: string; conversation_id: string }>(db, 'key_subject_conversations', [
    'subject',
    'conversation_id',
  ]))
    yield {
      ...NO_ROWS,
      occurrences: rows.map(({ subject, conversation_id }) => ({ subject, conversationId: conversation_id })),
    }
  for await (const rows of pages<{ fingerprint: string }>(db, 'erased_fingerprints', ['fingerprint']))
    yield { ...NO_ROWS, fingerprints: rows.map(({ fingerprint }) => fingerprint) }
}

async function putRows(sql: Sql, { records, subjects, occurrences, fingerprints }: KeyringRows): Promise<void> {
  for (const record of records)
    await sql.query(
      `insert into keyrings (conversation_id, version, generation, wrapped, keys, to_destroy)
       values ($1, $2, $3, $4, $5, $6) on conflict (conversation_id) do update set version = excluded.version,
         generation = excluded.generation, wrapped = excluded.wrapped, keys = excluded.keys, to_destroy = excluded.to_destroy`,
      keyringValues(record),
    )
  if (subjects.length > 0)
    await sql.query(
      `insert into key_subjects as known (subject, erased) select * from unnest($1::text[], $2::boolean[])
       on conflict (subject) do update set erased = known.erased or excluded.erased`,
      [subjects.map(({ subject }) => subject), subjects.map(({ isErased }) => isErased)],
    )
  if (occurrences.length > 0)
    await sql.query(
      `insert into key_subject_conversations (subject, conversation_id) select * from unnest($1::text[], $2::text[])
       on conflict do nothing`,
      [occurrences.map(({ subject }) => subject), occurrences.map(({ conversationId }) => conversationId)],
    )
  if (fingerprints.length > 0)
    await sql.query('insert into erased_fingerprints (fingerprint) select unnest($1::text[]) on conflict do nothing', [
      fingerprints,
    ])
}

/**
 * Creates the store on the tables of the log's schema.
 * @param sharing what other processes can do with the database while this one has it open
 */
export function createPostgresKeyringStore(db: Database, sharing: KeySharing): KeyringStore {
  return {
    async ledger() {
      const [row] = await db.query<{ ledger_id: string; vault_key: string; wrapped: string }>(
        'select ledger_id, vault_key, wrapped from erasable_ledger',
      )
      return row === undefined
        ? undefined
        : ({ ledgerId: row.ledger_id, vaultKey: row.vault_key, wrapped: row.wrapped } satisfies LedgerKeys)
    },
    async createLedger({ ledgerId, vaultKey, wrapped }) {
      await db.query(
        'insert into erasable_ledger (ledger_id, vault_key, wrapped) values ($1, $2, $3) on conflict do nothing',
        [ledgerId, vaultKey, wrapped],
      )
    },
    sharing,
    async erasures() {
      const [row] = await db.query<{ conversation_ids: readonly string[]; has_fingerprints: boolean }>(
        `select array(select distinct conversation_id from pending_erasures) as conversation_ids,
           exists (select from erased_fingerprints) as has_fingerprints`,
      )
      return { conversationIds: row?.conversation_ids ?? [], hasFingerprints: row?.has_fingerprints ?? false }
    },
    async get(conversationId) {
      const [row] = await db.query<{ keyring: string | null }>(`select ${keyringAsText(1)} as keyring`, [
        conversationId,
      ])
      return typeof row?.keyring === 'string' ? keyringFrom(conversationId, row.keyring) : undefined
    },
    async *conversations() {
      for await (const rows of pages<Pick<Row, 'conversation_id'>>(
        db,
        'keyrings',
        ['conversation_id'],
        'conversation_id',
      ))
        for (const row of rows) yield row.conversation_id
    },
    put: async (record, subjects = []) =>
      subjects.length === 0
        ? await putRecord(db, record)
        : await db.transaction((sql) => putWith(sql, record, subjects)),
    async conversationsOf(subject) {
      const rows = await db.query<{ conversation_id: string }>(
        'select conversation_id from key_subject_conversations where subject = $1 order by conversation_id',
        [subject],
      )
      return rows.map((row) => row.conversation_id)
    },
    async eraseSubject(subject) {
      const rows = await db.query('update key_subjects set erased = true where subject = $1 returning 1', [subject])
      return rows.length > 0
    },
    async isSubjectErased(subject) {
      const [row] = await db.query<{ erased: boolean }>('select erased from key_subjects where subject = $1', [subject])
      return row?.erased === true
    },
    async addFingerprints(fingerprints) {
      await db.query('insert into erased_fingerprints (fingerprint) select unnest($1::text[]) on conflict do nothing', [
        fingerprints,
      ])
    },
    async findFingerprints(fingerprints) {
      const rows = await db.query<{ fingerprint: string }>(
        'select fingerprint from erased_fingerprints where fingerprint = any ($1::text[])',
        [fingerprints],
      )
      return new Set(rows.map((row) => row.fingerprint))
    },
    rows: () => rowsOf(db),
    async putRows(rows) {
      await db.transaction((sql) => putRows(sql, rows))
    },
  }
}
