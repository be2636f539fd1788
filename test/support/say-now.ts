/** What a process of the tests says before it may be killed: it is in the pipe when this returns. */
import { writeSync } from 'node:fs'

const PAUSE_MS = 1

/** Writes to standard output. If the pipe is full because the reader is slow, this waits. */
export function sayNow(text: string): void {
  let left = Buffer.from(text)
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
    }
  }
}
