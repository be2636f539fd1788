/** Records that a program has not finished: a status that says so, or no result yet. */
import { isRecord } from '../../../src/lib/is-record.js'

/** Fields that say how far a record is, or that follow when it is finished. */
const FIELDS =
  /^(?:status|state|stopReason|stop_reason|finish|finish_reason|result|output|completed|completedAt|end_turn|endTime|toolResult|run|success|response|usage|isError)$/u
const STATES = [undefined, 'pending', 'started', 'running', 'in_progress', 'streaming', 'loading'] as const

type Path = readonly (string | number)[]

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (Array.isArray(value)) for (const [at, each] of value.entries()) yield* pathsIn(each, [...path, at])
  else if (isRecord(value))
    for (const [name, each] of Object.entries(value)) {
      if (FIELDS.test(name)) yield [...path, name]
      yield* pathsIn(each, [...path, name])
    }
}

function withValue(value: unknown, [first, ...rest]: Path, replacement: unknown): unknown {
  if (first === undefined) return replacement
  if (Array.isArray(value)) return value.map((each, at) => (at === first ? withValue(each, rest, replacement) : each))
  return isRecord(value) ? { ...value, [first]: withValue(value[first], rest, replacement) } : value
}

/** An unfinished form of a file. */
interface PendingFile {
  readonly content: string
  /** The record that is not finished, as text: its own messages may be missing. */
  readonly record: string
}

/** The record with this path: the element of the first list on the way, or the whole value. */
function recordAt(value: unknown, path: Path): unknown {
  let record = value
  for (const step of path) {
    if (Array.isArray(record)) return record[Number(step)]
    record = isRecord(record) ? record[step] : undefined
  }
  return value
}

/** All unfinished forms of a file of JSON. */
export function pendingForms(name: string, content: string): readonly PendingFile[] {
  if (!/\.(?:jsonl?|traj)$/u.test(name)) return []
  const isLines = name.endsWith('.jsonl')
  const records = (isLines ? content.trimEnd().split('\n') : [content]).map((text) => JSON.parse(text) as unknown)
  return records.flatMap((record, at) =>
    [...pathsIn(record)].flatMap((path) =>
      STATES.map((state) => ({
        content: records
          .map((each, index) => `${JSON.stringify(index === at ? withValue(each, path, state) : each)}\n`)
          .join(''),
        record: JSON.stringify(isLines ? record : recordAt(record, path)),
      })),
    ),
  )
}

/** All unfinished forms of a database: one call or message at a time is not finished. @param statements SQL */
export const pendingRows = (statements: string): readonly PendingFile[] =>
  [...statements.matchAll(/"status":"\w+"/gu)].flatMap((found) =>
    STATES.map((state) => {
      const end = found.index + found[0].length
      const from = statements.lastIndexOf('INSERT', found.index)
      const to = statements.indexOf('INSERT', found.index)
      return {
        content: `${statements.slice(0, found.index)}"status":${JSON.stringify(state ?? null)}${statements.slice(end)}`,
        record: statements.slice(from, to === -1 ? undefined : to),
      }
    }),
  )
