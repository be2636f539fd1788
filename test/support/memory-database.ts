/**
 * A database in memory for tests. The engine needs seconds to create a cluster and 0.4 s to load one, so the first test run of a machine
 * leaves an image of an empty one in the folder for temporary files, and all others load it.
 */
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemory } from '../../src/adapters/pglite/sql.js'
import { codeOf } from '../../src/adapters/store-error.js'
import type { Database } from '../../src/ports/sql.js'

/** An empty database in memory, with the extension and without tables. */
export async function openTestDatabase(): Promise<Database> {
  return await openMemory(await image())
}

async function image(): Promise<Blob> {
  const require = createRequire(join(process.cwd(), 'package.json'))
  const [engine, extension] = ['@electric-sql/pglite', '@electric-sql/pglite-pgvector'].map((name) => versionOf(require.resolve(name)))
  const file = join(tmpdir(), `context-ledger-test-image-${await engine}-${await extension}.tar`)
  try {
    return new Blob([await readFile(file)])
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  const fresh = await PGlite.create({ extensions: { vector } })
  await fresh.exec('create schema context_ledger; create extension vector with schema public')
  const made = await fresh.dumpDataDir('none')
  await fresh.close()
  // Test files run beside each other; each may make the image, and whoever is last leaves the same one.
  const draft = `${file}.${String(process.pid)}`
  await writeFile(draft, new Uint8Array(await made.arrayBuffer()))
  await rename(draft, file)
  return made
}

/** The version in the package.json above a file of a package. */
async function versionOf(file: string): Promise<string> {
  const found: unknown = JSON.parse(await readFile(join(file.slice(0, file.lastIndexOf('/dist/')), 'package.json'), 'utf8'))
  return typeof found === 'object' && found !== null && 'version' in found ? String(found.version) : 'unknown'
}
