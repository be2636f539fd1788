/**
 * Builds the program into `dist`: esbuild writes the JavaScript, and the compiler checks the types and writes their
 * declarations, which `--without-types` omits (the program runs the same). In parallel, it creates the template of an
 * empty database that src/adapters/pglite/template.ts loads, if `dist` has none for this version of the engine. Other
 * arguments of the command are passed to the compiler.
 */
import { PGlite } from '@electric-sql/pglite'
import { build } from 'esbuild'
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
  // The archive contains three copies of one database, megabytes apart: a window over all of them makes it a third of
  // the size of gzip.
  const packed = await promisify(brotliCompress)(archive, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 4,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: archive.length,
    },
  })
  await mkdir(dist, { recursive: true })
  // Another build may do the same concurrently; whichever is last leaves an equivalent file.
  const draft = join(dist, `${name}.${String(process.pid)}`)
  await writeFile(draft, Buffer.concat([createHash('sha256').update(packed).digest(), packed]))
  await rename(draft, join(dist, name))
  for (const old of await readdir(dist))
    if (/^pglite-.*\.template$/u.test(old) && old !== name) await rm(join(dist, old), { force: true })
}

const words = process.argv.slice(2).filter((word) => word !== '--without-types')
const withTypes = !process.argv.includes('--without-types')

function checkTypes() {
  const compiler = spawn(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-p',
      join(root, 'tsconfig.build.json'),
      '--emitDeclarationOnly',
      ...words,
    ],
    { stdio: 'inherit' },
  )
  return new Promise((resolve, reject) => {
    compiler.once('error', reject)
    compiler.once('exit', (status) => {
      resolve(status ?? 1)
    })
  })
}

async function writeJavaScript() {
  const sources = []
  // The image is built without the examples.
  for (const folder of ['src', 'projections', 'examples'].filter((each) => existsSync(join(root, each))))
    for (const file of await readdir(join(root, folder), { recursive: true }))
      if (/\.tsx?$/u.test(file) && !file.startsWith(join('page', 'client'))) sources.push(join(root, folder, file))
  await Promise.all([forNode(sources), forBrowsers()])
}

async function forNode(sources) {
  await build({
    entryPoints: sources,
    outdir: dist,
    outbase: root,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: true,
    logLevel: 'warning',
  })
}

/** The files that the page sends to a browser, each bundled with its dependencies. */
async function forBrowsers() {
  const client = join(root, 'src/page/client')
  const options = {
    outdir: join(dist, 'src/page/assets'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
  }
  const licence = await readFile(join(root, 'node_modules/uplot/LICENSE'), 'utf8')
  await Promise.all([
    build({ ...options, entryPoints: [join(client, 'page.ts'), join(client, 'page.css')], external: ['./plot.js'] }),
    // The plot contains uPlot, so its licence is included.
    build({ ...options, entryPoints: [join(client, 'plot.ts')], banner: { js: `/*! uPlot\n${licence}*/` } }),
  ])
}

const checked = withTypes ? checkTypes() : Promise.resolve(0)
await writeJavaScript()
await makeTemplate().catch((error) => {
  // The program works without the template.
  console.warn(
    `no template of an empty database, so the first opening of a ledger takes some seconds more: ${error instanceof Error ? error.message : String(error)}`,
  )
})
process.exitCode = await checked
