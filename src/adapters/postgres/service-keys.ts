/** The service's keys and their uses, in the tables that `migrateLog` creates. */
import type { Sql } from '../../ports/sql.js'
import { ROLES, type KeyRecord, type KeyStore, type KeyUse } from '../../ports/service-state.js'

interface KeyRow {
  readonly id: string
  readonly name: string
  readonly hash: string
  readonly previous_hash: string | null
  readonly previous_until: string | null
  readonly roles: string
  readonly scope: string | null
  readonly prefix: string | null
  readonly created_at: string
  readonly rotated_at: string | null
  readonly revoked_at: string | null
}

interface UseRow {
  readonly place: string
  readonly at: string
  readonly key_id: string | null
  readonly route: string
  readonly conversation_id: string | null
  readonly status: number
  readonly request_id: string
}

// Times as text, so that no driver rounds them and all have the same format.
const time = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ${column}`
const KEY = `select id, name, hash, previous_hash, ${time('previous_until')}, roles, scope, prefix, ${time('created_at')}, ${time('rotated_at')}, ${time('revoked_at')} from service_keys`

const keyOf = (row: KeyRow): KeyRecord => ({
  id: row.id,
  name: row.name,
  hash: row.hash,
  previous:
    row.previous_hash === null || row.previous_until === null
      ? undefined
      : { hash: row.previous_hash, until: row.previous_until },
  roles: ROLES.filter((role) => row.roles.split(' ').includes(role)),
  bound: row.scope !== null ? { scope: row.scope } : row.prefix !== null ? { prefix: row.prefix } : undefined,
  createdAt: row.created_at,
  rotatedAt: row.rotated_at ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
})

/** Keys in a database. */
export function createPostgresKeyStore(db: Sql): KeyStore {
  return {
    async add({ id, name, hash, roles, bound }) {
      await db.query(
        'insert into service_keys (id, name, hash, roles, scope, prefix) values ($1, $2, $3, $4, $5, $6)',
        [
          id,
          name,
          hash,
          roles.join(' '),
          bound !== undefined && 'scope' in bound ? bound.scope : null,
          bound !== undefined && 'prefix' in bound ? bound.prefix : null,
        ],
      )
    },
    async find(id) {
      const [row] = await db.query<KeyRow>(`${KEY} where id = $1`, [id])
      return row === undefined ? undefined : keyOf(row)
    },
    async list() {
      return (await db.query<KeyRow>(`${KEY} order by service_keys.created_at desc, id`)).map(keyOf)
    },
    async hasAny() {
      const [row] = await db.query<{ any: boolean }>('select exists (select from service_keys) as any')
      return row?.any === true
    },
    async rotate(id, hash, graceSeconds) {
      const rows = await db.query(
        `update service_keys set previous_hash = hash, previous_until = clock_timestamp() + $3 * interval '1 second',
           hash = $2, rotated_at = clock_timestamp() where id = $1 and revoked_at is null returning id`,
        [id, hash, graceSeconds],
      )
      return rows.length > 0
    },
    async revoke(id) {
      const rows = await db.query(
        'update service_keys set revoked_at = clock_timestamp() where id = $1 and revoked_at is null returning id',
        [id],
      )
      return rows.length > 0
    },
    async addUses(uses, limit) {
      await db.query(ADD_USES, [
        uses.map(({ at }) => at),
        uses.map(({ keyId }) => keyId ?? null),
        uses.map(({ route }) => route),
        uses.map(({ conversationId }) => conversationId ?? null),
        uses.map(({ status }) => status),
        uses.map(({ requestId }) => requestId),
      ])
      await db.query('delete from service_key_uses where place <= (select max(place) from service_key_uses) - $1', [
        limit,
      ])
    },
    async uses({ limit, before }) {
      const rows = await db.query<UseRow>(
        `select place::text as place, ${time('at')}, key_id, route, conversation_id, status, request_id
         from service_key_uses where $2::bigint is null or service_key_uses.place < $2::bigint
         order by service_key_uses.place desc limit $1`,
        [limit, before ?? null],
      )
      return rows.map((row): KeyUse & { readonly place: string } => ({
        place: row.place,
        at: row.at,
        keyId: row.key_id ?? undefined,
        route: row.route,
        conversationId: row.conversation_id ?? undefined,
        status: row.status,
        requestId: row.request_id,
      }))
    },
  }
}

const ADD_USES = `insert into service_key_uses (at, key_id, route, conversation_id, status, request_id)
  select * from unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[])`
