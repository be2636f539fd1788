/**
 * The process that `cli/resident.ts` starts: serves readers of the directory, and ends if nobody reads for some minutes, if
 * another process asks for the directory, or if the directory is deleted. Nobody waits for its output.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openResident } from './compose.js'
import { packageVersion } from '../lib/package-root.js'
import { RESIDENT_MINUTES } from './resident-minutes.js'

const CHECK_MS = 5_000

const [folder = ''] = process.argv.slice(2)
let lastUsed = performance.now()
let isAsked = false
let wake = (): void => undefined

const end = (): void => {
  isAsked = true
  wake()
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)

const database = await openResident(folder, {
  version: packageVersion(),
  onYield: end,
  onReader: () => {
    lastUsed = performance.now()
  },
}).catch(() => undefined)

const isNeeded = (): boolean =>
  !isAsked && performance.now() - lastUsed < RESIDENT_MINUTES * 60_000 && existsSync(join(folder, 'ledger.json'))

if (database !== undefined) {
  while (isNeeded())
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CHECK_MS)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  await database.close().catch(() => undefined)
}
process.exit()
