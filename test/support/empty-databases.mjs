/**
 * The databases that tests start from: an empty one, and an empty ledger, whose tables the program has made. Copying its
 * files is quicker than making the tables. A test of that takes an empty database (memory-database.ts) or the program's
 * own template (pglite.ts).
 *
 * The files of their write-ahead log have 1 MB instead of 16, which an erasure fills with zeros.
 */
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createEmptyDatabase } from '../../scripts/empty-database.mjs'
import { findTemplate } from './template-file.mjs'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))
const empty = join(dist, 'test', 'empty-database')
const ledger = join(dist, 'test', 'empty-ledger')

const isNewer = (file, inputs) =>
  existsSync(file) && inputs.every((input) => statSync(input).mtimeMs < statSync(file).mtimeMs)

/** Writes a database: `write` puts its files into a directory, from which this makes an archive too. */
async function writeDatabase(place, write) {
  const draft = `${place}.${String(process.pid)}`
  const files = join(draft, 'files')
  mkdirSync(draft, { recursive: true })
  const umask = process.umask(0o077)
  try {
    await write(files)
    const db = await PGlite.create({ fs: new NodeFS(files) })
    const dump = await db.dumpDataDir('none')
    writeFileSync(join(draft, 'archive.tar'), new Uint8Array(await dump.arrayBuffer()))
    await db.close()
  } finally {
    process.umask(umask)
  }
  rmSync(place, { recursive: true, force: true })
  renameSync(draft, place)
}

async function initialize(files) {
  const db = await createEmptyDatabase({ fs: new NodeFS(files), initDbStartParams: ['--wal-segsize=1'] })
  await db.close()
}

/** Makes a ledger in the files of the empty database, with the compiled program. */
async function makeLedger(files) {
  const { openLedger } = await import(join(dist, 'src', 'index.js'))
  const store = join(dirname(files), 'ledger')
  await (await openLedger({ store })).close()
  rmSync(join(store, 'pgdata'), { recursive: true })
  cpSync(join(empty, 'files'), join(store, 'pgdata'), { recursive: true })
  const opened = await openLedger({ store })
  // The first reading call makes the tables of the read models.
  await opened.list()
  await opened.close()
  renameSync(join(store, 'pgdata'), files)
  rmSync(store, { recursive: true })
}

/** Writes both, unless they are newer than what they are made with. */
export async function writeEmptyDatabases() {
  const template = await findTemplate()
  if (!isNewer(empty, [template, fileURLToPath(import.meta.url)])) await writeDatabase(empty, initialize)
  if (!isNewer(ledger, [empty, join(dist, 'test', 'built')])) await writeDatabase(ledger, makeLedger)
}

/** Copies the files of the empty ledger. */
export const copyEmptyLedger = (to) => {
  cpSync(join(ledger, 'files'), to, { recursive: true })
}

const archiveOf = (place) => new Blob([readFileSync(join(place, 'archive.tar'))])
export const readEmptyDatabase = () => archiveOf(empty)
export const readEmptyLedger = () => archiveOf(ledger)
