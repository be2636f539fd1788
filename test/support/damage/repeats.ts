/** Files of lines in which a program wrote records again. */
import fc from 'fast-check'
import { isRecord } from '../../../src/lib/is-record.js'

/** The field with the id of a record, for programs with a time in each record. */
const ID_FIELDS: Readonly<Record<string, string>> = {
  'claude-code': 'uuid',
  pi: 'id',
  gemini: 'id',
  openhands: 'id',
  qwen: 'uuid',
  'copilot-cli': 'id',
}

/** The first record of a run of the same thread: its items begin again. */
const BEGINS_RUN = /"thread\.started"/u

function withOtherId(record: string, field: string | undefined): string {
  const value: unknown = JSON.parse(record)
  if (!isRecord(value)) return record
  if (field === undefined || typeof value[field] !== 'string' || value['type'] === 'session') return record
  return JSON.stringify({ ...value, [field]: `${value[field]}-again` })
}

/** Lines in which records are repeated directly, or a part of the file at its end, byte for byte or under other ids. */
export const repeatsOf = (program: string, records: readonly string[]): fc.Arbitrary<readonly string[]> =>
  fc
    .tuple(
      fc.subarray([...records.keys()], { minLength: 1, maxLength: Math.min(3, records.length) }),
      fc.integer({ min: 0, max: records.length }),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([indexes, from, hasOtherIds, isAtEnd]) => {
      const repeat = (record: string): string => (hasOtherIds ? withOtherId(record, ID_FIELDS[program]) : record)
      if (isAtEnd) {
        const part = records.slice(from)
        return part.some((record) => BEGINS_RUN.test(record)) ? records : [...records, ...part.map(repeat)]
      }
      return records.flatMap((record, at) => (indexes.includes(at) ? [record, repeat(record)] : [record]))
    })
