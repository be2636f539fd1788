/** Starts an MCP server as a program does, and asks for its tools. */
import { isRecord } from '../../../lib/is-record.js'
import { askServer } from './ask-server.js'

const PROTOCOL_VERSION = '2025-06-18'

/** The number of tools that the server offers. Throws with the reason if it does not answer. */
export async function countTools(words: readonly [string, ...string[]]): Promise<number> {
  const clientInfo = { name: 'context-ledger install --check', version: '1' }
  const params = { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo }
  return await askServer(words, { id: 1, method: 'initialize', params }, ({ id, result }, send) => {
    if (id === 1) {
      send({ method: 'notifications/initialized' })
      send({ id: 2, method: 'tools/list', params: {} })
    }
    return id === 2 && isRecord(result) && Array.isArray(result['tools']) ? result['tools'].length : undefined
  })
}
