/**
 * Says `ready`, and at each line on its input tries to lock the folder that the line names; says `locked`, or the
 * refusal. Holds what it got.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { lockFolder } from '../../src/adapters/pglite/folder-lock.js'
import { lockOptionsOf } from './lock-options.js'

async function run(): Promise<void> {
  const options = lockOptionsOf(process.argv)
  writeSync(1, 'ready\n')
  for await (const folder of createInterface({ input: process.stdin })) {
    try {
      await lockFolder(folder, options)
      writeSync(1, 'locked\n')
    } catch (error) {
      writeSync(1, `${error instanceof Error ? error.message : String(error)}\n`)
    }
  }
}

await run()
