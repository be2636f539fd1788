/** Starts a server as a program does, and talks to it with lines of JSON-RPC. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { isRecord } from '../../../lib/is-record.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { withinTime } from '../../../lib/within-time.js'
import { CANARY_MS } from './check-hook.js'

type Fields = Readonly<Record<string, unknown>>

/**
 * Sends a request, and returns what `onAnswer` makes of an answer; it may send more. Throws with the reason if the server
 * rejects a request, ends, or does not answer in time.
 */
export async function askServer<Found>(
  [program, ...words]: readonly [string, ...string[]],
  request: object,
  onAnswer: (answer: Fields, send: (message: object) => void) => Found | undefined,
): Promise<Found> {
  const child = spawn(program, words, { cwd: homeFolder(), stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true })
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += String(data)))
  child.stdin.on('error', () => undefined)
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  const ended = new Promise<never>((_resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status) => {
      const line = stderr.split('\n').find((each) => each.trim() !== '') ?? `status ${String(status)}`
      reject(new LedgerError('StoreUnavailable', `the server ended: ${line}`))
    })
  })
  // A caller may wait for it later.
  ended.catch(() => undefined)
  const answered = async (): Promise<Found> => {
    send(request)
    for await (const line of createInterface(child.stdout)) {
      const answer: unknown = JSON.parse(line)
      if (!isRecord(answer)) continue
      const { error } = answer
      if (isRecord(error)) throw new LedgerError('StoreUnavailable', `the server answered: ${String(error['message'])}`)
      const found = onAnswer(answer, send)
      if (found !== undefined) return found
    }
    return await ended
  }
  try {
    return await withinTime(async () => await Promise.race([answered(), ended]), CANARY_MS)
  } finally {
    child.stdin.end()
    child.kill()
  }
}
