/** `import --sample FILE`: prints the skeleton of a file. Nothing is recorded, and no text of the file is printed. */
import { createReadStream } from 'node:fs'
import { LedgerError } from '../../../lib/ledger-error.js'
import { recognizeTranscript } from '../../../application/importers/index.js'
import { headOf, recordsOf } from '../../../application/importers/records-of.js'
import { lineSkeleton, skeleton } from '../../../application/importers/sample.js'
import { columnsOf, openDatabase, needsSqlite } from '../../../application/importers/sqlite.js'
import { SQLITE } from '../../../application/importers/sqlite-header.js'
import { sentenceOf } from '../../../ports/store-error.js'
import { line, many, note, noteColours } from '../output.js'
import { textLines } from '../text-lines.js'

/** Different shapes that are printed; the others are counted. */
const MAX_SHAPES = 60
const ROWS_OF_TABLE = 20

/** Shapes with their numbers, in the order in which they were found. */
class Shapes {
  private readonly counts = new Map<string, number>()

  add(shape: unknown): void {
    const text = JSON.stringify(shape)
    this.counts.set(text, (this.counts.get(text) ?? 0) + 1)
  }

  async print(): Promise<void> {
    const shapes = [...this.counts]
    for (const [text, count] of shapes.slice(0, MAX_SHAPES))
      await line(count === 1 ? text : `${text}  x${String(count)}`)
    if (shapes.length > MAX_SHAPES) await line(`and ${many(shapes.length - MAX_SHAPES, 'other shape')}`)
  }
}

/** The tables of a database, with the shapes of their first rows. */
async function sampleDatabase(path: string): Promise<void> {
  const database = openDatabase(path)
  if (database === undefined) throw new LedgerError('FileUnusable', `${path} ${needsSqlite()}`)
  try {
    for (const { name } of database.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")) {
      const table = String(name)
      const [{ count = 0 } = {}] = database.all(`SELECT count(*) AS count FROM "${table.replaceAll('"', '""')}"`)
      await line(`table ${table}: ${[...columnsOf(database, table)].join(', ')} (${String(count)} rows)`)
      const shapes = new Shapes()
      for (const row of database.all(`SELECT * FROM "${table.replaceAll('"', '""')}" LIMIT ${String(ROWS_OF_TABLE)}`))
        shapes.add(skeleton(row))
      await shapes.print()
    }
  } catch (error) {
    throw new LedgerError('FileUnusable', `${path} cannot be read as a database: ${sentenceOf(error)}`)
  } finally {
    database.close()
  }
}

async function sampleText(path: string): Promise<void> {
  const shapes = new Shapes()
  for await (const { text } of textLines(createReadStream(path), path))
    if (text.trim() !== '') shapes.add(lineSkeleton(text))
  await shapes.print()
}

/** Prints the skeleton of a file. */
export async function sampleFile(path: string): Promise<void> {
  const head = await headOf(path).catch((error: unknown) => {
    throw new LedgerError('FileUnusable', `${path} cannot be read: ${sentenceOf(error)}`)
  })
  const found = await recognizeTranscript(path)
  note(
    noteColours.dim(
      `${found === undefined ? 'no importer recognizes the file' : `recognized as ${found.importer.program}`}; texts are replaced, but check the lines before you attach them to an issue`,
    ),
  )
  if (head.text.startsWith(SQLITE)) await sampleDatabase(path)
  else if (head.records.length === 0) await sampleText(path)
  else {
    const shapes = new Shapes()
    const isLines = head.records.length > 1 || path.endsWith('.jsonl')
    for await (const record of recordsOf(path, isLines ? 'lines' : 'json'))
      shapes.add('kind' in record ? `<${record.detail.replace(/:.*$/su, '')}>` : skeleton(record.value))
    await shapes.print()
  }
}
