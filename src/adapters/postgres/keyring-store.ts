/** The wrapped keys of an erasable ledger in Postgres. */
import type { KeyringRecord, KeyringStore, LedgerKeys } from '../../ports/keyring-store.js'
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
 * The statement that inserts the first record of a conversation. It returns a row if there was none.
 * @param first the number of its first parameter
 */
export const insertKeyring = (first: number): string =>
  `insert into keyrings (conversation_id, version, generation, wrapped, keys, to_destroy)
   values (${[0, 1, 2, 3, 4, 5].map((at) => `$${String(first + at)}`).join(', ')}) on conflict do nothing returning 1`

/** The parameters of `insertKeyring`. */
export const keyringValues = ({
  conversationId,
  version,
  generation,
  wrapped,
  keys,
  toDestroy,
}: KeyringRecord): readonly unknown[] => [conversationId, version, generation, wrapped, keys, toDestroy.join(',')]

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

/**
 * Creates the store on the tables of the log's schema.
 * @param isOnlyWriter true if no other process can write to the database while this one has it open
 */
export function createPostgresKeyringStore(db: Database, isOnlyWriter: boolean): KeyringStore {
  /** For the only writer: false if no fingerprint is stored; undefined if not read yet. */
  let hasFingerprints: boolean | undefined
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
    async get(conversationId) {
      const [row] = await db.query<Row>('select * from keyrings where conversation_id = $1', [conversationId])
      return row === undefined ? undefined : recordOf(row)
    },
    async *conversations() {
      let after = ''
      for (;;) {
        const rows = await db.query<{ conversation_id: string }>(
          `select conversation_id from keyrings where conversation_id > $1 order by conversation_id limit ${String(PAGE)}`,
          [after],
        )
        for (const row of rows) yield row.conversation_id
        const last = rows.at(-1)
        if (last === undefined || rows.length < PAGE) return
        after = last.conversation_id
      }
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
      hasFingerprints = true
      await db.query('insert into erased_fingerprints (fingerprint) select unnest($1::text[]) on conflict do nothing', [
        fingerprints,
      ])
    },
    async mayHaveFingerprints() {
      if (!isOnlyWriter || hasFingerprints !== undefined) return hasFingerprints ?? true
      const [found] = await db.query('select 1 from erased_fingerprints limit 1')
      // Some may have been added meanwhile.
      hasFingerprints ??= found !== undefined
      return hasFingerprints
    },
    async findFingerprints(fingerprints) {
      const rows = await db.query<{ fingerprint: string }>(
        'select fingerprint from erased_fingerprints where fingerprint = any ($1::text[])',
        [fingerprints],
      )
      return new Set(rows.map((row) => row.fingerprint))
    },
  }
}
