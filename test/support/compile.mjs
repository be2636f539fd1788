/**
 * Before all tests: compiles the program, once. The command line is tested as shipped, and running it from its source
 * takes twice as long. An unchanged source is not compiled again. In parallel, this makes the template from which new
 * databases are loaded. The programs that tests start are bundled, each into one file (child.ts starts them).
 */
import { build as bundle } from 'esbuild'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeEmptyDatabases } from './empty-databases.mjs'
import { writeScript } from './source-bundle.mjs'

/** Has the time at which the last build of a test run began. */
const STAMP = join('dist', 'test', 'built')

/** Everything that scripts/build.mjs reads; the packages by their versions. */
const INPUTS = ['src', 'projections', 'examples', 'scripts', '.']

function isBuilt() {
  if (!existsSync(STAMP)) return false
  const { mtimeMs } = statSync(STAMP)
  return INPUTS.flatMap((folder) =>
    readdirSync(folder, { recursive: folder !== '.', withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  ).every((file) => statSync(file).mtimeMs < mtimeMs)
}

function build() {
  if (isBuilt()) return
  const began = new Date()
  const { status, stdout } = spawnSync(
    process.execPath,
    ['scripts/build.mjs', '--incremental', '--tsBuildInfoFile', 'dist/.tsbuildinfo'],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`the program does not compile:\n${stdout}`)
  mkdirSync(join('dist', 'test'), { recursive: true })
  writeFileSync(STAMP, '')
  utimesSync(STAMP, began, began)
}

async function bundlePrograms() {
  const programs = join('test', 'support', 'programs')
  await bundle({
    entryPoints: readdirSync(programs).map((file) => join(programs, file)),
    outdir: join('dist', 'test'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  })
}

export default async function compile() {
  build()
  await Promise.all([writeScript(), writeEmptyDatabases(), bundlePrograms()])
}
