/**
 * The log of a KurrentDB server and its decisions on appends, without the wire. It behaves as EventStoreDB 24.2.0 was
 * observed to, even if that is surprising: the same ids at the current revision are stored a second time, other content
 * under a known id is a success that changes nothing, and `any` recognises a repetition only while the process
 * remembers the id.
 */
import { randomUUID } from 'node:crypto'
import { changes } from '../latch.js'

export interface Proposed {
  readonly id: string
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

export interface Recorded extends Proposed {
  readonly stream: string
  readonly revision: number
  /** Commit and prepare position in one: they have been equal since the server writes without transactions. */
  readonly position: number
  /** Since 1970, in units of 100 nanoseconds. */
  readonly created: number
}

export interface Journal {
  /** What earlier processes have written, oldest first, an append at a time. */
  readonly appends: ReadonlyArray<readonly Recorded[]>
  write(records: readonly Recorded[]): void
  close(): void
}

export type Expected = number | 'any' | 'no_stream' | 'stream_exists'

export type AppendResult =
  /**
   * Both are those of the append's last event; a repetition gets the old ones, and an append of nothing has no
   * position.
   */
  | { readonly kind: 'appended'; readonly revision: number | undefined; readonly position: number | undefined }
  | { readonly kind: 'wrong-version'; readonly actual: number | undefined }
  | { readonly kind: 'deleted' }

/** What a reader finds under a stream's name. */
type StreamView =
  | { readonly kind: 'found'; readonly records: readonly Recorded[]; readonly from: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'deleted' }

/** What a node reads from; on a follower that lags it is less than what the leader has. */
export interface ReadableLog {
  /** Everything, system events too, in the order of their positions. */
  readonly all: readonly Recorded[]
  /** Where the next record will begin. */
  readonly end: number
  /** A stream as readers see it: without what is truncated, and not at all while it is deleted. */
  stream(name: string): StreamView
  /** Resolves when there is more to see. */
  changed(): Promise<void>
}

export interface EventLog extends ReadableLog {
  append(stream: string, expected: Expected, events: readonly Proposed[]): AppendResult
  /** Deletes the stream until the next append to it. */
  remove(stream: string, expected: Expected): AppendResult
  /** Takes the stream away for good. */
  tombstone(stream: string, expected: Expected): AppendResult
  /**
   * A process or a leader begins: it writes an event of its own, and the ids that another one remembered are unknown to
   * it.
   */
  begin(): void
  /** Sets the retention of a stream, as JSON: `{"$maxCount":2}`, `{"$tb":5}`. */
  setMetadata(stream: string, json: string): void
  /** Removes the records that retention hides from the log itself. The last event of a stream stays, as on a real server. */
  scavenge(): void
  close(): void
}

export interface LogOptions {
  readonly journal?: Journal
  /**
   * How many ids it remembers for `any` and `stream_exists`. The real one forgets somewhere between 20,000 and 60,000.
   */
  readonly rememberedIds?: number
  /**
   * Other systems use the log too: their events come before ours, after each of our appends, and so always at the end.
   */
  readonly foreign?: boolean
}

/**
 * The size of a record in addition to its own bytes. The figure is arbitrary, but positions must have gaps, as byte
 * offsets have.
 */
const RECORD_OVERHEAD_BYTES = 83
/** As `$tb` (truncate before) it means that the stream is deleted. JSON's numbers round it up. */
const SOFT_DELETED = '9223372036854775807'
const TOMBSTONE_REVISION = 2 ** 63

const ticks = (): number => Date.now() * 10_000

const sizeOf = (record: Recorded): number =>
  RECORD_OVERHEAD_BYTES +
  Buffer.byteLength(record.stream) +
  Buffer.byteLength(record.type) +
  record.data.length +
  record.metadata.length

const systemEvent = (type: string, json: string): Proposed => ({
  id: randomUUID(),
  type,
  contentType: 'application/json',
  data: Buffer.from(json),
  metadata: new Uint8Array(),
})

/** Where the last event begins that a server writes into a new log. */
const NEW_LOG_HEAD = 548
/** The streams of others. None of them begins as ours do, though some come close; the server's own are among them. */
const FOREIGN_STREAMS = [
  'orders-7',
  'Conversation-1',
  'conversations',
  '$stats-127.0.0.1:2113',
  'edition',
  'a-conversation-1',
]
/** So few that a server looks at all of them at one go, and has no checkpoint on the way. */
const FOREIGN_AT_FIRST = 9
const FOREIGN_BEHIND_EACH = 2

interface Stream {
  readonly records: Recorded[]
  truncateBefore: number
  maxCount: number
  tombstoned: boolean
}

/** The settings in a `$metadata` event; anything that is no number in its place counts as not given. */
function retentionIn(data: Uint8Array): { readonly truncateBefore: number; readonly maxCount: number } {
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(data).toString('utf8'))
  } catch {
    parsed = undefined
  }
  const settings = new Map(typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : [])
  const numberAt = (key: string, otherwise: number): number => {
    const value: unknown = settings.get(key)
    return typeof value === 'number' ? value : otherwise
  }
  return { truncateBefore: numberAt('$tb', 0), maxCount: numberAt('$maxCount', Infinity) }
}

/** An empty log, or what the journal holds. */
export function createEventLog({ journal, rememberedIds = 40_000, foreign = false }: LogOptions = {}): EventLog {
  const all: Recorded[] = []
  const streams = new Map<string, Stream>()
  const remembered = new Map<string, { readonly stream: string; readonly revision: number }>()
  const change = changes()
  let end = 0
  let foreignEvents = 0

  const streamNamed = (name: string): Stream => {
    const known = streams.get(name) ?? { records: [], truncateBefore: 0, maxCount: Infinity, tombstoned: false }
    streams.set(name, known)
    return known
  }
  const lastRevision = (name: string): number => (streams.get(name)?.records.length ?? 0) - 1
  const isSoftDeleted = (name: string): boolean => (streams.get(name)?.truncateBefore ?? 0) > Number.MAX_SAFE_INTEGER

  function keep(record: Recorded): void {
    all.push(record)
    end = record.position + sizeOf(record)
    const stream = streamNamed(record.stream)
    if (record.revision === TOMBSTONE_REVISION) {
      stream.tombstoned = true
      return
    }
    stream.records.push(record)
    if (record.type === '$metadata' && record.stream.startsWith('$$'))
      Object.assign(streamNamed(record.stream.slice(2)), retentionIn(record.data))
  }

  function remember(record: Recorded): void {
    remembered.delete(record.id)
    remembered.set(record.id, { stream: record.stream, revision: record.revision })
    const [oldest] = remembered.keys()
    if (remembered.size > rememberedIds && oldest !== undefined) remembered.delete(oldest)
  }

  function store(stream: string, firstRevision: number, events: readonly Proposed[]): Recorded | undefined {
    let position = end
    const created = ticks()
    const records = events.map((event, at) => {
      const record: Recorded = { ...event, stream, revision: firstRevision + at, position, created }
      position += sizeOf(record)
      return record
    })
    if (records.length > 0) journal?.write(records)
    for (const record of records) {
      keep(record)
      remember(record)
    }
    change.happened()
    return records.at(-1)
  }

  const setMetadata = (stream: string, json: string): Recorded | undefined =>
    store(`$$${stream}`, lastRevision(`$$${stream}`) + 1, [systemEvent('$metadata', json)])
  const setTruncateBefore = (stream: string, before: string): Recorded | undefined =>
    setMetadata(stream, `{"$tb":${before}}`)

  /**
   * Whether these ids were stored before, as far as the process remembers: the revision of the last one, or what else
   * to make of them.
   */
  function repetitionRemembered(stream: string, events: readonly Proposed[]): number | 'new' | 'partly' {
    let last: number | undefined
    for (const { id } of events) {
      const known = remembered.get(id)
      if (known?.stream !== stream) return last === undefined ? 'new' : 'partly'
      // Neither the order nor the neighbourhood is looked at: [e d] is a repetition of [d e], and so is [a c] of [a b
      // c].
      last = known.revision
    }
    return last ?? 'new'
  }

  /** Whether exactly these ids follow the expected revision: the revision of the last one. */
  function repetitionAt(expected: number, stream: string, events: readonly Proposed[]): number | undefined {
    const records = streams.get(stream)?.records ?? []
    const same = events.every(({ id }, at) => records[expected + 1 + at]?.id === id)
    return same && events.length > 0 ? expected + events.length : undefined
  }

  /** May it be stored, has it been stored before, or must it be refused? */
  function decide(stream: string, expected: Expected, events: readonly Proposed[]): 'store' | AppendResult {
    const current = lastRevision(stream)
    const refused: AppendResult = { kind: 'wrong-version', actual: current < 0 ? undefined : current }
    const repeated = (revision: number): AppendResult => ({
      kind: 'appended',
      revision,
      position: streams.get(stream)?.records[revision]?.position,
    })
    if (streams.get(stream)?.tombstoned === true) return { kind: 'deleted' }
    if (expected === 'any' || expected === 'stream_exists') {
      if (expected === 'stream_exists' && current < 0) return refused
      const repetition = repetitionRemembered(stream, events)
      if (repetition === 'partly') return refused
      return repetition === 'new' ? 'store' : repeated(repetition)
    }
    const after = expected === 'no_stream' ? -1 : expected
    if (after === current) return 'store'
    const repetition = after < current ? repetitionAt(after, stream, events) : undefined
    if (repetition !== undefined) return repeated(repetition)
    return after === -1 && isSoftDeleted(stream) ? 'store' : refused
  }

  function append(stream: string, expected: Expected, events: readonly Proposed[]): AppendResult {
    const decision = decide(stream, expected, events)
    if (decision !== 'store') return decision
    const current = lastRevision(stream)
    if (events.length === 0)
      return { kind: 'appended', revision: current < 0 ? undefined : current, position: undefined }
    // A deleted stream comes back with its next event, and what lay before stays hidden.
    if (isSoftDeleted(stream)) setTruncateBefore(stream, String(current + 1))
    const last = store(stream, current + 1, events)
    if (foreign) othersAppend(FOREIGN_BEHIND_EACH)
    return { kind: 'appended', revision: last?.revision, position: last?.position }
  }

  function othersAppend(count: number): void {
    for (let left = count; left > 0; left--) {
      const stream = FOREIGN_STREAMS[foreignEvents % FOREIGN_STREAMS.length] ?? ''
      store(stream, lastRevision(stream) + 1, [
        {
          ...systemEvent('OrderPlaced', `{"number":${String(foreignEvents)}}`),
          contentType: foreignEvents % 2 === 0 ? 'application/json' : 'application/octet-stream',
        },
      ])
      foreignEvents += 1
    }
  }

  /** What a server writes for itself before anybody can append. */
  function writeFirstEvents(): void {
    const first = '$$$settings'
    const overhead = RECORD_OVERHEAD_BYTES + Buffer.byteLength(`${first}$metadata`)
    store(first, 0, [
      systemEvent('$metadata', JSON.stringify({ $acl: { $r: '$admins' } }).padEnd(NEW_LOG_HEAD - overhead)),
    ])
    store('$$$stats-127.0.0.1:2113', 0, [systemEvent('$metadata', '{"$maxAge":86400}')])
    if (foreign) othersAppend(FOREIGN_AT_FIRST)
  }

  for (const records of journal?.appends ?? []) for (const record of records) keep(record)

  return {
    all,
    append,
    get end() {
      return end
    },
    stream(name) {
      const stream = streams.get(name)
      if (stream?.tombstoned === true) return { kind: 'deleted' }
      if (stream === undefined || stream.records.length === 0 || isSoftDeleted(name)) return { kind: 'missing' }
      return {
        kind: 'found',
        records: stream.records,
        from: Math.max(stream.truncateBefore, stream.records.length - stream.maxCount),
      }
    },
    remove(stream, expected) {
      const decision = decide(stream, expected, [])
      return decision === 'store'
        ? {
            kind: 'appended',
            revision: lastRevision(stream),
            position: setTruncateBefore(stream, SOFT_DELETED)?.position,
          }
        : decision
    },
    tombstone(stream, expected) {
      const decision = decide(stream, expected, [])
      if (decision !== 'store') return decision
      return {
        kind: 'appended',
        revision: TOMBSTONE_REVISION,
        position: store(stream, TOMBSTONE_REVISION, [systemEvent('$streamDeleted', '{}')])?.position,
      }
    },
    begin() {
      remembered.clear()
      const isNew = all.length === 0
      if (isNew) writeFirstEvents()
      else
        store('$epoch-information', lastRevision('$epoch-information') + 1, [systemEvent('$epoch-information', '{}')])
    },
    setMetadata,
    scavenge() {
      const isKept = ({ stream: name, revision }: Recorded): boolean => {
        const stream = streams.get(name)
        if (stream === undefined || revision === TOMBSTONE_REVISION) return true
        if (stream.tombstoned) return false
        const last = stream.records.length - 1
        return revision === last || revision >= Math.max(stream.truncateBefore, last + 1 - stream.maxCount)
      }
      all.splice(0, all.length, ...all.filter(isKept))
    },
    changed: () => change.next(),
    close: () => journal?.close(),
  }
}
