/**
 * A KurrentDB for a benchmark: the server in CONTEXT_LEDGER_TEST_KURRENTDB, otherwise the substitute server of the
 * tests in a separate process. The benchmark compares the adapter with the bare client on the same server. Figures of
 * the substitute do not apply to a real KurrentDB.
 */
import { createInterface } from 'node:readline'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './root.js'

/** The address of a server for test data; empty if there is none. */
const kurrentServer = process.env['CONTEXT_LEDGER_TEST_KURRENTDB'] ?? ''

export interface KurrentPlace {
  readonly address: string
  close(): Promise<void>
}

/** The name of the server, for the notes of figures. */
export const kurrentName =
  kurrentServer === '' ? 'the server of the tests in a process of its own, which is no KurrentDB' : 'a KurrentDB'

/** Starts an empty server, or returns the one from the environment unchanged. */
export async function openKurrent(): Promise<KurrentPlace> {
  if (kurrentServer !== '') return { address: kurrentServer, close: () => Promise.resolve() }
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join('test', 'support', 'programs', 'start-wire-server.ts')],
    { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const exited = new Promise<void>((resolve) => {
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
      await exited
    },
  }
}

const LET_GO_MS = 2_000

/** Closes a client. The client waits for streams that were abandoned before their end, and may wait forever. */
export async function letGo(ended: Promise<void>): Promise<void> {
  const tooLong = new AbortController()
  await Promise.race([ended, delay(LET_GO_MS, undefined, { signal: tooLong.signal }).catch(() => undefined)])
  tooLong.abort()
}
