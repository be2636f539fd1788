/**
 * Leaves out records that a program wrote again, as some do when they resume a session: byte for byte, or under other
 * ids. A record is a repeat if everything in it except its id equals an earlier one, including its time and the records
 * that it names. A record without an id and a time is never a repeat, since a user may say the same again.
 */
import { hash } from 'node:crypto'
import { isRecord } from '../../lib/is-record.js'
import { exactText } from '../../lib/json.js'
import { textIn } from '../../lib/text-in.js'
import type { Fields } from './bodies.js'
import type { TranscriptItem, TranscriptReader, TranscriptRecord } from './transcript.js'

/** The fields of a program's records by which repeats are recognized. */
export interface IdentifyingFields {
  /** The id of the record. */
  readonly id?: string
  /** Fields with ids of other records. */
  readonly references?: readonly string[]
  /** The time of the record. */
  readonly times?: readonly string[]
  /** Every record is identified by its whole content, also without an id and a time. */
  readonly byContent?: true
  /** The reader itself recognizes a record by an id that it knows: the record may be a newer state, or return after a rewind. */
  readonly readerKnowsIds?: true
  /** A file with such a record begins with a copied history, which may have the same time throughout. */
  readonly copiesHistory?: (record: Fields) => boolean
  /** After such a record, an earlier one may be written again with a meaning: the program went back. */
  readonly goesBack?: (record: Fields) => boolean
}

/** The name under which repeats are counted. */
export const REPEAT = 'repeated record'

/** Characters of a hash that distinguish the records of a file. */
const KEY_LENGTH = 22

/** A value in which the ids of repeats are replaced. */
function withIds(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return ids.get(value) ?? value
  if (Array.isArray(value)) return value.map((each) => withIds(each, ids))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withIds(each, ids)]))
}

/** A value as text; undefined if it is nested too deeply. */
function textOf(value: unknown): string | undefined {
  try {
    return exactText(value)
  } catch {
    return undefined
  }
}

class RepeatFilter implements TranscriptReader {
  /** Content of a record → its id; the empty text if it has none. */
  private readonly records = new Map<string, string>()
  /** Id of a repeat → id of the first record. */
  private readonly firstIds = new Map<string, string>()
  private isCopy = false

  constructor(
    private readonly reader: TranscriptReader,
    private readonly fields: IdentifyingFields,
  ) {}

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const record = isRecord(value) ? this.withFirstIds(value) : value
    // The rows of a database have keys.
    if (where.line !== undefined && isRecord(record) && this.isRepeat(record))
      yield { kind: 'left-out', what: REPEAT, where }
    else yield* this.reader.take({ value: record, where })
  }

  end(): Iterable<TranscriptItem> {
    return this.reader.end()
  }

  private withFirstIds(record: Fields): Fields {
    if (this.firstIds.size === 0) return record
    const named = (this.fields.references ?? []).filter((name) => record[name] !== undefined && record[name] !== null)
    if (named.length === 0) return record
    return { ...record, ...Object.fromEntries(named.map((name) => [name, withIds(record[name], this.firstIds)])) }
  }

  private isRepeat(record: Fields): boolean {
    const { id: idField = '', times = [], byContent, readerKnowsIds, goesBack, copiesHistory } = this.fields
    this.isCopy ||= copiesHistory?.(record) === true
    if (this.isCopy) return false
    if (goesBack?.(record) === true) this.records.clear()
    const id = textIn(record[idField])
    const hasTime = times.some((name) => record[name] !== undefined && record[name] !== null)
    if ((id === undefined || (readerKnowsIds === true && !hasTime)) && !hasTime && byContent !== true) return false
    const content = textOf(Object.entries(record).filter(([name]) => !hasTime || name !== idField))
    if (content === undefined) return false
    const key = hash('sha256', content, 'base64').slice(0, KEY_LENGTH)
    const first = this.records.get(key)
    if (first === undefined) this.records.set(key, id ?? '')
    if (first === undefined || (first === id && readerKnowsIds === true)) return false
    if (id !== undefined && id !== first) this.firstIds.set(id, first)
    return true
  }
}

/** A reader that receives no repeats. */
export const withoutRepeats = (reader: TranscriptReader, fields: IdentifyingFields): TranscriptReader =>
  new RepeatFilter(reader, fields)
