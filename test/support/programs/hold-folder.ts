/**
 * Says `ready`, and at each line on its input tries to lock the folder that the line names; says `locked`, or the
 * refusal. Holds what it got.
 */
import { createInterface } from 'node:readline'
import { lockFolder } from '../../../src/adapters/pglite/folder-lock.js'
import { lockOptionsOf } from '../lock-options.js'
import { sayNow } from '../say-now.js'

async function run(): Promise<void> {
  const options = lockOptionsOf(process.argv)
  sayNow('ready\n')
  for await (const folder of createInterface({ input: process.stdin })) {
    try {
      await lockFolder(folder, options)
      sayNow('locked\n')
    } catch (error) {
      sayNow(`${error instanceof Error ? error.message : String(error)}\n`)
    }
  }
}

await run()
