/** `context-ledger mcp` on its standard streams, in a process of its own, asked by the real client. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { ask, spawnedServer } from '../support/mcp.js'

const cwd = mkdtempSync(join(tmpdir(), 'context-ledger-mcp-'))

beforeAll(async () => {
  const ledger = await openLedger({ store: join(cwd, '.context-ledger'), policy: SMALL })
  await ledger.append('run-7', talk(40))
  await ledger.settled()
  await ledger.close()
})
afterAll(() => {
  rmSync(cwd, { recursive: true, force: true })
})

describe('mcp on standard streams', () => {
  it('answers what was said', async () => {
    const { client, said } = await spawnedServer(cwd)
    const answer = await ask(client, 'memory_read', { query: 'Message 3 berth', conversation: 'run-7' })
    expect(said()).toBe('')
    expect(answer.error).toBeUndefined()
    expect(answer.text).toContain('Message 3: the berth of the harbour')
    await client.close()
  })
})
