/**
 * The log's tables and the functions that append to it, for a server and for the embedded engine. They are created in
 * the first schema of the connection's search path. Positions come from a counter, not from a sequence: a sequence hands
 * out numbers before their transactions commit, and a reader that follows them skips late commits (measured with 16
 * writers, such a store lost 18 to 22 % of the events).
 */
import type { Sql } from '../../ports/sql.js'
import { storeError } from '../../ports/store-error.js'

/**
 * Every append sends NOTIFY on this channel. Channels belong to the whole database, so appends to a log in another
 * schema also wake our subscriptions, without effect.
 */
export const LOG_CHANNEL = 'context_ledger'

/** Versions of the log's tables: of the store, and of this program. */
export interface Upgrade {
  readonly from: number
  readonly to: number
}

/**
 * Migrates the log's tables to the version of this program. Concurrent calls are safe. If nothing is to do, it takes
 * two queries.
 * @param beforeUpgrade called if the tables have an earlier version; if it rejects, nothing is changed
 */
export async function migrateLog(
  db: Sql,
  beforeUpgrade: (upgrade: Upgrade) => Promise<void> | void = () => undefined,
): Promise<void> {
  const [table] = await db.query<{ exists: boolean }>(`select to_regclass('log_version') is not null as exists`)
  const version = table?.exists === true ? await recordedVersion(db) : 0
  if (version === MIGRATIONS.length) return
  if (version > 0) await beforeUpgrade({ from: version, to: MIGRATIONS.length })
  await db.transaction(
    async (sql) => {
      // The lock lasts until the commit: a second process waits here and then finds nothing to do. The transaction is
      // patient, because a migration may take longer than the statement timeout.
      await sql.query(`select pg_advisory_xact_lock(hashtextextended('context_ledger.migrate', 0))`)
      await sql.script(
        `create table if not exists log_version (one boolean primary key default true check (one), version int not null)`,
      )
      for (const migration of MIGRATIONS.slice(await recordedVersion(sql))) await sql.script(migration)
      await sql.query(
        `insert into log_version (version) values ($1) on conflict (one) do update set version = excluded.version`,
        [MIGRATIONS.length],
      )
    },
    { isPatient: true },
  )
}

/** Throws if the log's tables have another version than this program. For readers, which do not migrate. */
export async function checkLogVersion(db: Sql): Promise<void> {
  const version = await recordedVersion(db)
  if (version < MIGRATIONS.length)
    throw storeError(
      'StoreUnavailable',
      `the log is in use by an earlier version of this program (its tables have version ${String(version)}, this program needs ${String(MIGRATIONS.length)}): read it with that version, or after that process has ended`,
    )
}

async function recordedVersion(db: Sql): Promise<number> {
  const [row] = await db.query<{ version: number }>('select version from log_version')
  const version = row?.version ?? 0
  if (version > MIGRATIONS.length) {
    throw storeError(
      'NewerSchema',
      `the log was written by a later version of this program (its tables have version ${String(version)}, this program supports up to ${String(MIGRATIONS.length)})`,
    )
  }
  return version
}

const LOG = `
-- Names compare by their bytes: a locale's order would make the indexes larger and slower, and may change with the operating system.
-- Every append changes its row, and the free half of each page lets that happen without touching an index.
create table streams (
  stream text collate "C" primary key,
  revision bigint not null
) with (fillfactor = 50);

-- One row: the position of the last event. It is taken last in an append and held until the commit, so positions have no gaps and
-- become visible in their order. That serialises appends, at one commit each; several events in one append share it.
create table log_head (
  one boolean primary key default true check (one),
  position bigint not null
) with (fillfactor = 10);
insert into log_head (position) values (-1);

-- Data and metadata are text, because they are kept as they were hashed; jsonb would order keys anew and refuse an escaped NUL.
create table events (
  position bigint primary key,
  revision bigint not null,
  id uuid not null,
  stream text collate "C" not null,
  type text not null,
  data text not null,
  metadata text not null,
  unique (stream, revision),
  unique (stream, id)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'events are never changed or deleted' using errcode = 'restrict_violation';
end $$;
create trigger events_are_kept before update or delete or truncate on events
  for each statement execute function refuse_change();

-- p_expected: -2 anywhere, -1 no stream, else the revision of the stream's last event.
create function append_events(
  p_stream text, p_expected bigint, p_ids uuid[], p_types text[], p_data text[], p_metadata text[],
  out outcome text, out last_revision bigint, out last_position bigint, out recorded uuid[]
) language plpgsql as $$
declare
  v_count int := cardinality(p_ids);
  v_same boolean;
begin
  -- The stream's row is taken first and the log's last, in every append alike, so two of them never wait for each other in a circle.
  -- It is moved on at once and put back where the append is refused: locking it before would be a statement and a write more in every append.
  update streams s set revision = s.revision + v_count where s.stream = p_stream returning s.revision - v_count into last_revision;
  if not found then
    if p_expected >= 0 then
      outcome := 'conflict';
      last_revision := -1;
      return;
    end if;
    insert into streams values (p_stream, v_count - 1) on conflict (stream) do nothing returning -1 into last_revision;
    -- Nothing inserted: another append made the stream after we looked; the insert waited for its commit.
    if not found then
      update streams s set revision = s.revision + v_count where s.stream = p_stream returning s.revision - v_count into last_revision;
    end if;
  end if;

  -- Ids before revisions: an append that is repeated because its answer was lost is no conflict.
  -- Each id is looked up by itself (the limit keeps the planner from joining otherwise). With id = any (p_ids), a plan that was made while the
  -- table was small reads the whole stream for every append: measured, 0.8 ms at 5,000 events, growing with each.
  if last_revision >= 0 and exists (
    select from unnest(p_ids) p (id)
    cross join lateral (select from events e where e.stream = p_stream and e.id = p.id limit 1) there
  ) then
    select array_agg(there.id order by p.ord),
      count(*) = v_count and bool_and(there.type = p.type and there.data = p.data)
        and max(there.revision - p.ord) = min(there.revision - p.ord),
      max(there.revision), max(there.position)
    into recorded, v_same, last_revision, last_position
    from unnest(p_ids, p_types, p_data) with ordinality p (id, type, data, ord)
    cross join lateral (select * from events e where e.stream = p_stream and e.id = p.id limit 1) there;
    outcome := case when v_same then 'repeated' else 'recorded' end;
    update streams s set revision = s.revision - v_count where s.stream = p_stream;
    return;
  end if;

  if p_expected <> -2 and p_expected <> last_revision then
    outcome := 'conflict';
    update streams s set revision = s.revision - v_count where s.stream = p_stream;
    return;
  end if;

  update log_head h set position = h.position + v_count returning h.position into last_position;
  insert into events (position, revision, id, stream, type, data, metadata)
    select last_position - v_count + p.ord, last_revision + p.ord, p.id, p_stream, p.type, p.data, p.metadata
    from unnest(p_ids, p_types, p_data, p_metadata) with ordinality p (id, type, data, metadata, ord);
  last_revision := last_revision + v_count;
  outcome := 'appended';
  perform pg_notify('${LOG_CHANNEL}', '');
end $$;

-- Several appends in one transaction, so that those who wait for each other's commit share one. Each has its own outcome, and one that is
-- refused does not touch the others. The events of all stand in one list; p_counts says how many belong to each.
create function append_many(
  p_streams text[], p_expected bigint[], p_counts int[], p_ids uuid[], p_types text[], p_data text[], p_metadata text[]
) returns table (outcome text, last_revision bigint, last_position bigint, recorded uuid[]) language plpgsql as $$
declare
  v_start int := 1;
begin
  -- All streams are locked before the log's row is, and in the order of their names, so two of these never wait for each other in a circle.
  insert into streams select distinct s, -1 from unnest(p_streams) s order by s on conflict (stream) do nothing;
  perform from streams s where s.stream = any (p_streams) order by s.stream for update;
  for i in 1 .. cardinality(p_streams) loop
    return query select a.* from append_events(
      p_streams[i], p_expected[i],
      p_ids[v_start : v_start + p_counts[i] - 1], p_types[v_start : v_start + p_counts[i] - 1],
      p_data[v_start : v_start + p_counts[i] - 1], p_metadata[v_start : v_start + p_counts[i] - 1]) a;
    v_start := v_start + p_counts[i];
  end loop;
  delete from streams s where s.stream = any (p_streams) and s.revision = -1;
end $$;

create table bodies (
  sha256 text collate "C" primary key,
  body bytea not null
);

create table compaction_claims (
  key text collate "C" primary key,
  owner text not null,
  expires_at timestamptz not null
);
`

// A number that increases whenever a claim is taken. It distinguishes a process that lost its claim from the current
// holder.
const CLAIM_FENCES = `
create sequence claim_fences;
alter table compaction_claims add column fence bigint not null default nextval('claim_fences');
`

// Conversations that wait for a compaction worker, the queue's checkpoint in the log, and the tokens spent. All of it
// can be deleted without losing events.
const COMPACTION_WORKERS = `
create sequence compaction_leases;
create table compaction_queue (
  conversation_id text collate "C" primary key,
  -- How often something came, and how often when it was last looked at: what comes while a worker has it is seen by the next.
  noted bigint not null default 1,
  looked bigint not null default 0,
  ready_at timestamptz not null default clock_timestamp(),
  failures int not null default 0,
  tokens_per_day bigint,
  lease bigint,
  lease_until timestamptz
) with (fillfactor = 50);
create index compaction_queue_ready on compaction_queue (ready_at);

create table compaction_checkpoint (
  one boolean primary key default true check (one),
  position numeric not null,
  event_id text not null
) with (fillfactor = 10);

create table compaction_tokens (
  period text not null,
  starts_at timestamptz not null,
  used bigint not null default 0,
  primary key (period, starts_at)
) with (fillfactor = 50);
`

// Spending of each edition, including reservations for running calls. Not part of the log: each summary records its own
// usage.
const EDITION_SPENDING = `
create table edition_spending (
  edition_id text collate "C" primary key,
  tokens bigint not null default 0,
  cost_micros bigint not null default 0
) with (fillfactor = 50);
`

// Prompt and completion tokens in separate columns, and no cost: readers compute it from the tokens at their own prices.
// An older row has one sum of tokens and a cost. The cost is dropped, and the sum counts as completion tokens, which are
// the more expensive ones: a limit in tokens is unchanged, and a limit in money errs on the safe side.
const SPENDING_BY_KIND = `
alter table edition_spending rename column tokens to completion_tokens;
alter table edition_spending add column prompt_tokens bigint not null default 0, drop column cost_micros;
`

// The same appends for a server with several writers. An append locks the log's row, and the lock of NOTIFY, until its
// commit. If the commit waited for the disk, appends would run one at a time. So an append commits without waiting, and
// then, without any lock, waits for an empty commit: that flushes everything committed before, and all waiting appends
// share one flush. A reader waits in the same way for events that are not yet acknowledged (`event-store.ts`).
const APPENDS_THAT_WAIT_TOGETHER = `
create or replace procedure append_and_wait(
  p_stream text, p_expected bigint, p_ids uuid[], p_types text[], p_data text[], p_metadata text[], inout said text
) language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  said := append_events(p_stream, p_expected, p_ids, p_types, p_data, p_metadata)::text;
  commit;
  perform pg_logical_emit_message(true, '${LOG_CHANNEL}', '');
end $$;

create or replace procedure append_many_and_wait(
  p_streams text[], p_expected bigint[], p_counts int[], p_ids uuid[], p_types text[], p_data text[], p_metadata text[],
  inout said text[]
) language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  said := array(select a::text from append_many(p_streams, p_expected, p_counts, p_ids, p_types, p_data, p_metadata) a);
  commit;
  perform pg_logical_emit_message(true, '${LOG_CHANNEL}', '');
end $$;
`

/**
 * Waits until every committed event is on the disk; returns the last position. A replica has only what is on the disk
 * of its primary.
 */
export const WAIT_FOR_DISK = `
  select position, case when pg_is_in_recovery() then null else pg_logical_emit_message(true, '${LOG_CHANNEL}', '')::text end
  from log_head`

// State of imported files when they were imported. Not part of the log: without it, the files are read again.
const IMPORTED_FILES = `
create table imported_files (
  file text collate "C" primary key,
  bytes bigint not null,
  changed_ms double precision not null,
  sha256 text not null
);
`

// State of `serve`: keys (never their secrets), recent uses of keys, and jobs. Not part of the log.
const SERVICE = `
create table service_keys (
  id text collate "C" primary key,
  name text not null,
  hash text not null,
  previous_hash text,
  previous_until timestamptz,
  roles text not null,
  scope text,
  prefix text,
  created_at timestamptz not null default clock_timestamp(),
  rotated_at timestamptz,
  revoked_at timestamptz,
  check (scope is null or prefix is null)
);

create table service_key_uses (
  place bigint generated always as identity primary key,
  at timestamptz not null,
  key_id text,
  route text not null,
  conversation_id text,
  status int not null,
  request_id text not null
);

create table service_jobs (
  id text collate "C" primary key,
  kind text not null,
  key_id text,
  conversation_id text,
  state text not null default 'running',
  progress text,
  result text,
  problem text,
  cancelled boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  alive_until timestamptz not null
) with (fillfactor = 50);
create index service_jobs_created on service_jobs (created_at);
`

/** One row: the key for fingerprints of secrets. */
const SECRETS_KEY = `
create table secrets_key (
  one boolean primary key default true check (one),
  key text not null
);
`

// Items that compactions lost, as counted by a version of this program. Not part of the log: without it, they are
// counted again.
const LOST_COUNTS = `
create table lost_counts (
  conversation_id text collate "C" primary key,
  version text not null,
  revision bigint not null,
  lost int not null
);
`

/** The Merkle tree over the events, and the checkpoints. Not part of the log: the tree can be computed from it again. */
const PROOFS = `
create table proof_tree (
  one boolean primary key default true check (one),
  size bigint not null,
  position numeric not null
) with (fillfactor = 10);
insert into proof_tree (size, position) values (0, -1);

create table proof_tiles (
  level int not null,
  index bigint not null,
  hashes bytea not null,
  -- Of the leaves only.
  first_position numeric,
  primary key (level, index)
);
create index proof_tiles_position on proof_tiles (first_position) where first_position is not null;

create table checkpoints (
  size bigint primary key,
  note text not null,
  verifier_keys text[] not null,
  created_at text not null,
  time_stamp bytea
);
`

// An erasable ledger: its keys, wrapped by a key vault outside this database. Not part of the log. `keys` of a
// conversation are encrypted under the data key that `wrapped` holds.
const KEYRINGS = `
create table erasable_ledger (
  one boolean primary key default true check (one),
  ledger_id text not null,
  vault_key text not null,
  wrapped text not null
);

create table keyrings (
  conversation_id text collate "C" primary key,
  version int not null,
  generation int not null,
  wrapped text not null,
  keys text not null,
  to_destroy text not null
);

-- Persons by keyed pseudonym.
create table key_subjects (
  subject text collate "C" primary key,
  erased boolean not null default false
);
create table key_subject_conversations (
  subject text collate "C" not null,
  conversation_id text collate "C" not null,
  primary key (subject, conversation_id)
);

create table erased_fingerprints (
  fingerprint text collate "C" primary key
);

-- Erasures that have begun; the events say how far they are.
create table pending_erasures (
  erasure_id text collate "C" not null,
  conversation_id text collate "C" not null,
  request text not null,
  primary key (erasure_id, conversation_id)
);
`

// Conversations from before the first worker. They are taken after all others, so each kind has its own index.
const COMPACTION_BACKLOG = `
alter table compaction_queue add column backlog boolean not null default false;
drop index compaction_queue_ready;
create index compaction_queue_ready on compaction_queue (ready_at) where not backlog;
create index compaction_queue_backlog on compaction_queue (ready_at) where backlog;
`

// The tally of each conversation, as counted by a version of this program, as JSON text. Not part of the log: without it,
// the conversations are counted again.
const TALLIES = `
create table tallies (
  conversation_id text collate "C" primary key,
  version text not null,
  events bigint not null,
  tally text not null
);
`

/** Never edit a released migration; add a new one at the end. */
const MIGRATIONS: readonly string[] = [
  LOG,
  CLAIM_FENCES,
  COMPACTION_WORKERS,
  EDITION_SPENDING,
  SPENDING_BY_KIND,
  APPENDS_THAT_WAIT_TOGETHER,
  IMPORTED_FILES,
  SERVICE,
  SECRETS_KEY,
  LOST_COUNTS,
  PROOFS,
  KEYRINGS,
  COMPACTION_BACKLOG,
  TALLIES,
]
