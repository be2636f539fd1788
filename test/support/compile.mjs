/**
 * Before all tests: compiles the program, once. The command line is tested as shipped, and running it from its source
 * takes twice as long. An unchanged source is not compiled again. In parallel, this makes the template from which new
 * databases are loaded. The programs that tests start are bundled, each into one file (child.ts starts them).
 */
import { buildSync } from 'esbuild'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeEmptyFolder } from './empty-folder.mjs'
import { writeScript } from './source-bundle.mjs'

export default async function compile() {
  const { status, stdout } = spawnSync(
    process.execPath,
    ['scripts/build.mjs', '--incremental', '--tsBuildInfoFile', 'dist/.tsbuildinfo'],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`the program does not compile:\n${stdout}`)
  await writeScript()
  await writeEmptyFolder()
  const programs = join('test', 'support', 'programs')
  buildSync({
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
