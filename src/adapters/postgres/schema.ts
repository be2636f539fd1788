/**
 * The log's tables and the one function that appends to it, the same for a server and for the embedded engine. They lie
 * in the schema that the connection's search path names first. Positions are told out by a counter and not by a
 * sequence: a sequence gives numbers away before their transactions commit, and a reader that goes by them skips the
 * late ones (a store of that kind, measured with 16 writers, lost 18 to 22 % of the events).
 */
import type { Sql } from '../../ports/sql.js'
import { StoreError } from '../../ports/store-error.js'

/**
 * Every append says NOTIFY on this channel. Channels belong to the whole database, so a log in another schema wakes us
 * too, for nothing.
 */
export const LOG_CHANNEL = 'context_ledger'

/**
 * Brings the log's tables to the version that this program knows. Two processes may do it at once; with nothing to do
 * it is one query.
 */
export async function migrateLog(db: Sql): Promise<void> {
  const [found] = await db.query<{ exists: boolean }>(`select to_regclass('log_version') is not null as exists`)
  if (found?.exists === true && (await recordedVersion(db)) === MIGRATIONS.length) return
  await db.transaction(
    async (sql) => {
      // Held until the commit, so a second process waits here and then finds the work done. Building may take longer
      // than a statement should.
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

/**
 * Throws where the log's tables are not of the version that this program knows: who only reads does not bring them
 * there.
 */
export async function checkLogVersion(db: Sql): Promise<void> {
  const version = await recordedVersion(db)
  if (version < MIGRATIONS.length)
    throw new StoreError(
      'StoreUnavailable',
      `the log is kept by an earlier version of this program (its tables are version ${String(version)}, this program knows ${String(MIGRATIONS.length)}): read it by that version, or when that process has ended`,
    )
}

async function recordedVersion(db: Sql): Promise<number> {
  const [row] = await db.query<{ version: number }>('select version from log_version')
  const version = row?.version ?? 0
  if (version > MIGRATIONS.length) {
    throw new StoreError(
      'NewerSchema',
      `the log was written by a later version of this program (its tables are version ${String(version)}, this program knows ${String(MIGRATIONS.length)})`,
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

// A number that grows with each taking of a claim, by which a process that lost its claim is told from the one that has
// it now.
const CLAIM_FENCES = `
create sequence claim_fences;
alter table compaction_claims add column fence bigint not null default nextval('claim_fences');
`

// Who waits for a compaction worker, how far the log was read for it, and what was spent. None of it is a fact: all of
// it may be deleted.
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

// What an edition has cost so far, with what is set aside for calls under way. No fact: what a summary took is recorded
// with it.
const EDITION_SPENDING = `
create table edition_spending (
  edition_id text collate "C" primary key,
  tokens bigint not null default 0,
  cost_micros bigint not null default 0
) with (fillfactor = 50);
`

// Tokens to and from the model apart, and no cost: that follows from them, at the price of whoever asks. An older row
// has one sum of tokens, and a cost by whatever prices its runs were given. The cost is dropped, and the sum counts as
// tokens from the model, which cost the more of the two: a bound in tokens holds as it did, and one in money errs on
// the safe side, as it does for calls that were lost.
const SPENDING_BY_KIND = `
alter table edition_spending rename column tokens to completion_tokens;
alter table edition_spending add column prompt_tokens bigint not null default 0, drop column cost_micros;
`

// The same appends, for a server with several writers. The log's row, and the lock of NOTIFY, are held until the commit.
// Held until that is on the disk, they would let one append through at a time. So the append commits without waiting,
// and then waits, with nothing locked, for a commit that has nothing in it: whatever was committed before is on the
// disk with it, and all who wait share one flush. Whoever reads what nobody was told of yet waits in the same way
// (`event-store.ts`).
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
 * Waits until all that is committed is on the disk; gives how far that is. A server that follows another one has only
 * what is on that one's disk.
 */
export const WAIT_FOR_DISK = `
  select position, case when pg_is_in_recovery() then null else pg_logical_emit_message(true, '${LOG_CHANNEL}', '')::text end
  from log_head`

// Files of other programs that were imported, as they were then. No fact: whoever loses it reads them once more.
const IMPORTED_FILES = `
create table imported_files (
  file text collate "C" primary key,
  bytes bigint not null,
  changed_ms double precision not null,
  sha256 text not null
);
`

// What `serve` keeps: keys (never their secrets), their last uses, jobs. No facts: a ledger without them has lost nothing
// that was said.
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

/** A migration is never edited once it is released; the next one stands behind it. */
const MIGRATIONS: readonly string[] = [
  LOG,
  CLAIM_FENCES,
  COMPACTION_WORKERS,
  EDITION_SPENDING,
  SPENDING_BY_KIND,
  APPENDS_THAT_WAIT_TOGETHER,
  IMPORTED_FILES,
  SERVICE,
]
