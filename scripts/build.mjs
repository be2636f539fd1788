/**
 * Compiles the program, and beside it, on another core, makes the template of an empty database that
 * src/adapters/pglite/template.ts loads, where
 * `dist` has none of this version of the engine. Words behind the command go to the compiler.
 */
import { PGlite } from '@electric-sql/pglite'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')

async function makeTemplate() {
  const require = createRequire(import.meta.url)
  const { version } = JSON.parse(
    await readFile(join(dirname(dirname(require.resolve('@electric-sql/pglite'))), 'package.json'), 'utf8'),
  )
  const name = `pglite-${version}.template`
  if (existsSync(join(dist, name))) return
  const db = await PGlite.create()
  await db.exec('checkpoint')
  const archive = Buffer.from(await (await db.dumpDataDir('none')).arrayBuffer())
  await db.close()
  // It holds three copies of one database, megabytes apart: a window that sees them all makes it a third of what gzip
  // does, at once.
  const packed = await promisify(brotliCompress)(archive, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 4,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: archive.length,
    },
  })
  await mkdir(dist, { recursive: true })
  // Another build may do the same at this moment; whoever is last leaves one that is as good.
  const draft = join(dist, `${name}.${String(process.pid)}`)
  await writeFile(draft, Buffer.concat([createHash('sha256').update(packed).digest(), packed]))
  await rename(draft, join(dist, name))
  for (const old of await readdir(dist))
    if (/^pglite-.*\.template$/u.test(old) && old !== name) await rm(join(dist, old), { force: true })
}

const compiler = spawn(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.build.json'), ...process.argv.slice(2)],
  { stdio: 'inherit' },
)
const compiled = new Promise((resolve, reject) => {
  compiler.once('error', reject)
  compiler.once('exit', (status) => {
    resolve(status ?? 1)
  })
})
await makeTemplate().catch((error) => {
  // The program does without.
  console.warn(
    `no template of an empty database, so the first opening of a ledger takes some seconds more: ${error instanceof Error ? error.message : String(error)}`,
  )
})
process.exitCode = await compiled
