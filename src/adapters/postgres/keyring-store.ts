/** The wrapped keys of an erasable ledger in Postgres. */
import type { KeyringRecord, KeyringStore, LedgerKeys } from '../../ports/keyring-store.js'
import type { Database } from '../../ports/sql.js'

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

const PAGE = 500

/** Creates the store on the tables of the log's schema. */
export function createPostgresKeyringStore(db: Database): KeyringStore {
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
    put: ({ conversationId, version, generation, wrapped, keys, toDestroy }, subjects = []) =>
      db.transaction(async (sql) => {
        for (const subject of subjects.toSorted()) {
          // The row is locked until the commit, so an erasure of this person waits, and then finds this conversation.
          const [state] = await sql.query<{ erased: boolean }>(
            `insert into key_subjects (subject) values ($1)
             on conflict (subject) do update set subject = excluded.subject returning erased`,
            [subject],
          )
          if (state?.erased === true) return 'erased'
        }
        const values = [conversationId, version, generation, wrapped, keys, toDestroy.join(',')]
        const stored = await sql.query(
          version === 1
            ? `insert into keyrings (conversation_id, version, generation, wrapped, keys, to_destroy)
               values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning 1`
            : `update keyrings set version = $2, generation = $3, wrapped = $4, keys = $5, to_destroy = $6
               where conversation_id = $1 and version = $2 - 1 returning 1`,
          values,
        )
        if (stored.length === 0) return 'conflict'
        for (const subject of subjects)
          await sql.query(
            'insert into key_subject_conversations (subject, conversation_id) values ($1, $2) on conflict do nothing',
            [subject, conversationId],
          )
        return 'stored'
      }),
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
  }
}
