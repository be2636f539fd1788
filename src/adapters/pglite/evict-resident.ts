/** Makes a resident reader close its folder. It has acknowledged no write, so it may be killed at any moment. */
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { send } from './reading-protocol.js'

/** How long a resident reader may take to close the folder. */
const YIELD_MS = 2_000
/** How long the system may take to end a process that was killed. */
const KILL_MS = 2_000
const POLL_MS = 10

async function until(isGone: () => Promise<boolean>, ms: number): Promise<boolean> {
  const end = performance.now() + ms
  while (!(await isGone())) {
    if (performance.now() >= end) return false
    await delay(POLL_MS)
  }
  return true
}

/**
 * Asks the resident reader to close its folder, and kills it if it does not. Resolves to false if neither was possible:
 * it belongs to another user. `isGone` tells whether it has closed the folder or has ended.
 */
export async function evictResident(
  { pid, socket: address }: { readonly pid: number; readonly socket: string | undefined },
  isGone: () => Promise<boolean>,
): Promise<boolean> {
  if (address !== undefined) {
    const socket = connect(address)
    // A resident reader that does not answer is killed below.
    socket.on('error', () => undefined)
    socket.unref()
    await send(socket, { kind: 'yield' }).catch(() => undefined)
    const isYielded = await until(isGone, YIELD_MS)
    socket.destroy()
    if (isYielded) return true
  }
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile, or belongs to another user.
  }
  return await until(isGone, KILL_MS)
}
