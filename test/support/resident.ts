/** Starts a resident reader. */
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ownerOf } from '../../src/library/resident.js'

/** The program of a resident reader, as it is shipped. */
export const RESIDENT = fileURLToPath(new URL('../../dist/src/interfaces/cli/resident-main.js', import.meta.url))

const OPENING_MS = 60_000

/** Resolves when the resident reader serves readers. */
export async function startResident(store: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [RESIDENT, store], { stdio: 'ignore' })
  const until = performance.now() + OPENING_MS
  for (;;) {
    const owner = await ownerOf(store)
    // It has a socket when it serves readers.
    if (owner?.pid === child.pid && owner?.socket !== undefined) return child
    if (performance.now() > until) throw new Error('the resident reader does not open the directory')
    await delay(10)
  }
}
