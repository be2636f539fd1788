/**
 * A KurrentDB for a benchmark: the one that CONTEXT_LEDGER_TEST_KURRENTDB names, else the server of the tests, in a
 * process of its own. What is measured is the adapter beside the bare client on the same server; the stand-in's own
 * figures say nothing of a KurrentDB.
 */
import { createInterface } from 'node:readline'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './root.js'

/** The address of a server that may be filled; empty where there is none. */
const kurrentServer = process.env['CONTEXT_LEDGER_TEST_KURRENTDB'] ?? ''

export interface KurrentPlace {
  readonly address: string
  close(): Promise<void>
}

/** What stands behind the figures, for their notes. */
export const kurrentName =
  kurrentServer === '' ? 'the server of the tests in a process of its own, which is no KurrentDB' : 'a KurrentDB'

/** A server: an empty one of its own, or the one that the environment names as it is. */
export async function openKurrent(): Promise<KurrentPlace> {
  if (kurrentServer !== '') return { address: kurrentServer, close: () => Promise.resolve() }
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join('test', 'support', 'kurrentdb', 'start-wire-server.ts')],
    { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const gone = new Promise<void>((resolve) => {
    child.on('close', () => {
      resolve()
    })
  })
  const ready = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('ready ')) resolve(line.slice('ready '.length))
    })
    child.on('close', (code) => {
      reject(new Error(`the server of the tests ended with ${String(code)}`))
    })
  })
  return {
    address: ready,
    async close() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

const LET_GO_MS = 2_000

/** Ends a client's calls. It waits for streams that were left before their end, and may wait for ever. */
export async function letGo(ended: Promise<void>): Promise<void> {
  const tooLong = new AbortController()
  await Promise.race([ended, delay(LET_GO_MS, undefined, { signal: tooLong.signal }).catch(() => undefined)])
  tooLong.abort()
}
