/**
 * Before all tests: compiles the program, once. The command line is tested as it is shipped, and a process that runs it
 * from its source takes twice as long. What did not change since the last time is not compiled again. Beside it the
 * template is made that new databases are loaded from.
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
