/** Damages files of other programs: records are lost, repeated or moved, and arguments of calls are cut off. */
import fc from 'fast-check'

const DAMAGES = ['lost', 'repeated', 'later', 'earlier', 'cut'] as const

/** One damage. The place counts from the beginning of the file, and starts again after its end. */
export interface Damage {
  readonly what: (typeof DAMAGES)[number]
  readonly offset: number
}

export const damages: fc.Arbitrary<readonly Damage[]> = fc.array(
  fc.record({ what: fc.constantFrom(...DAMAGES), offset: fc.nat(10_000) }),
  { minLength: 1, maxLength: 3 },
)

type Holder = Record<string | number, unknown>

const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null

const ARGUMENTS = new Set(['input', 'arguments', 'args', 'rawArgs', 'parameters', 'command', 'tool_input', 'params'])

function isJsonText(value: string): boolean {
  try {
    return isHolder(JSON.parse(value))
  } catch {
    return false
  }
}

/** The lists of records in a value, and the places of arguments. */
class Places {
  readonly lists: unknown[][] = []
  readonly arguments: { readonly holder: Holder; readonly key: string | number }[] = []

  collect(value: unknown): this {
    if (!isHolder(value)) return this
    if (Array.isArray(value) && value.some(isHolder)) this.lists.push(value)
    for (const [key, each] of Object.entries(value)) {
      const isArgument = ARGUMENTS.has(key) && (typeof each === 'string' || isHolder(each))
      if (isArgument || (typeof each === 'string' && isJsonText(each))) this.arguments.push({ holder: value, key })
      this.collect(each)
    }
    return this
  }
}

/** Damages a list in place. */
function damageList(list: unknown[], at: number, what: Damage['what']): void {
  const [record] = list.splice(at, 1)
  if (what === 'repeated') list.splice(at, 0, record, structuredClone(record))
  else if (what === 'later') list.splice(Math.min(list.length, at + 2), 0, record)
  else if (what === 'earlier') list.splice(Math.max(0, at - 2), 0, record)
}

/** Damages the records in place. */
function damageRecords(records: unknown[], { what, offset }: Damage): void {
  const places = new Places().collect(records)
  if (what === 'cut') {
    const found = places.arguments[offset % Math.max(1, places.arguments.length)]
    if (found === undefined) return
    const value = found.holder[found.key]
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    found.holder[found.key] = text.slice(0, Math.ceil(text.length / 2))
    return
  }
  const items = places.lists.flatMap((list) => list.map((_record, at) => ({ list, at })))
  const found = items[offset % Math.max(1, items.length)]
  if (found !== undefined) damageList(found.list, found.at, what)
}

/** A text in quotation marks of SQL. */
const LITERAL = /'((?:[^']|'')*)'/gu

/** The statements of a database: values that are JSON are damaged, and a lost row is not inserted. */
function damageStatements(content: string, damage: Damage): string {
  const values: unknown[] = []
  const rest = content.replaceAll(LITERAL, (literal, text: string) => {
    const value = text.replaceAll("''", "'")
    if (!isJsonText(value)) return literal
    values.push(JSON.parse(value))
    return `⟦${String(values.length - 1)}⟧`
  })
  if (damage.what === 'lost' && damage.offset % 2 === 0) {
    const statements = rest.split('\n')
    const rows = statements.flatMap((statement, at) => (statement.startsWith('INSERT') ? [at] : []))
    statements.splice(rows[(damage.offset / 2) % Math.max(1, rows.length)] ?? statements.length, 1)
    return restored(statements.join('\n'), values)
  }
  damageRecordsIn(values, damage)
  return restored(rest, values)
}

/** The values themselves stay: each belongs to a row. */
function damageRecordsIn(values: readonly unknown[], damage: Damage): void {
  const records = values.flatMap((value) => (isHolder(value) ? [{ value }] : []))
  const chosen = records[damage.offset % Math.max(1, records.length)]
  if (chosen !== undefined) damageRecords([chosen.value], { ...damage, offset: Math.floor(damage.offset / 7) + 1 })
}

const restored = (statements: string, values: readonly unknown[]): string =>
  statements.replaceAll(
    /⟦(\d+)⟧/gu,
    (_mark, at: string) => `'${JSON.stringify(values[Number(at)]).replaceAll("'", "''")}'`,
  )

/** The content of a file after a damage: of lines of JSON, one JSON value, statements of a database, or text. */
export function damaged(content: string, damage: Damage): string {
  if (/^(?:CREATE|PRAGMA|INSERT|BEGIN)\b/mu.test(content)) return damageStatements(content, damage)
  const isWhole = isJsonText(content)
  const lines = isWhole ? [content] : content.trimEnd().split('\n')
  if (lines.every(isJsonText)) {
    const records = lines.map((line): unknown => JSON.parse(line))
    if (isWhole) {
      const [value] = records
      // The value itself is no record that can be lost.
      if (isHolder(value)) damageRecords(Array.isArray(value) ? value : [{ value }], damage)
      return JSON.stringify(value)
    }
    damageRecords(records, damage)
    return records.map((record) => `${JSON.stringify(record)}\n`).join('')
  }
  damageList(lines, damage.offset % lines.length, damage.what)
  return `${lines.join('\n')}\n`
}
