/**
 * Before all tests: compiles the program, once. The command line is tested as shipped, and running it from its source
 * takes twice as long. An unchanged source is not compiled again. In parallel, this makes the template from which new
 * databases are loaded.
 */
import { spawnSync } from 'node:child_process'

export default function compile(): void {
  const { status, stdout } = spawnSync(
    process.execPath,
    ['scripts/build.mjs', '--incremental', '--tsBuildInfoFile', 'dist/.tsbuildinfo'],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`the program does not compile:\n${stdout}`)
}
