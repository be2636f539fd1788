/** Starts an MCP server as a program does, and asks for its tools. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { isRecord } from '../../../lib/is-record.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { withinTime } from '../../../lib/within-time.js'
import { CANARY_MS } from './check-hook.js'

const PROTOCOL_VERSION = '2025-06-18'

/** The number of tools that the server offers. Throws with the reason if it does not answer. */
export async function countTools([program, ...words]: readonly [string, ...string[]]): Promise<number> {
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
  const answers = async (): Promise<number> => {
    const clientInfo = { name: 'context-ledger install --check', version: '1' }
    send({ id: 1, method: 'initialize', params: { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo } })
    for await (const line of createInterface(child.stdout)) {
      const answer: unknown = JSON.parse(line)
      if (!isRecord(answer)) continue
      const { id, result, error } = answer
      if (isRecord(error)) throw new LedgerError('StoreUnavailable', `the server answered: ${String(error['message'])}`)
      if (id === 1) {
        send({ method: 'notifications/initialized' })
        send({ id: 2, method: 'tools/list', params: {} })
      }
      if (id === 2 && isRecord(result) && Array.isArray(result['tools'])) return result['tools'].length
    }
    return await ended
  }
  try {
    return await withinTime(async () => await Promise.race([answers(), ended]), CANARY_MS)
  } finally {
    child.stdin.end()
    child.kill()
  }
}
