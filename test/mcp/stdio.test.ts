/**
 * `context-ledger mcp` on its standard streams, in processes of their own, asked by the real client: two beside each
 * other
 * on one folder, a host that records meanwhile, a client that leaves or sends what is no message.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { runCli, startCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { longTest } from '../support/length.js'
import { ask, endServers, spawnedServer } from '../support/mcp.js'

const cwd = mkdtempSync(join(tmpdir(), 'context-ledger-mcp-'))
const store = join(cwd, '.context-ledger')

beforeAll(async () => {
  const ledger = await openLedger({ store, policy: SMALL })
  await ledger.append('run-7', talk(40))
  await ledger.admin.waitForCompaction()
  await ledger.close()
})
const started: ChildProcessWithoutNullStreams[] = []
const start = (...words: readonly string[]): ChildProcessWithoutNullStreams => {
  const child = startCli(['mcp', ...words], { cwd })
  started.push(child)
  return child
}
afterEach(async () => {
  await endServers()
  for (const child of started.splice(0)) child.kill('SIGKILL')
})
afterAll(() => {
  rmSync(cwd, { recursive: true, force: true })
})

const OPENING = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
})}\n`

describe('mcp on standard streams', () => {
  longTest('two clients ask and record at once, and the folder is free again behind them', async () => {
    const [one, two] = await Promise.all([spawnedServer(cwd), spawnedServer(cwd, ['--conversation', 'run-7'])])
    const conversation = 'run-7'
    const answers = await Promise.all([
      ask(one.client, 'memory_read', { query: 'Message 3 berth', conversation }),
      ask(two.client, 'memory_read', { query: 'Message 3 berth' }),
      ask(one.client, 'conversation_at', { conversation, at: 'm20' }),
      ask(two.client, 'what_was_forgotten', {}),
    ])
    expect(answers.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined])
    expect(answers[0]?.data).toEqual(answers[1]?.data)
    const pin = { messageId: 'm39', operationId: 'pin' }
    const pins = await Promise.all([
      ask(one.client, 'pin_message', { ...pin, conversation }),
      ask(two.client, 'pin_message', pin),
    ])
    expect(pins.map(({ error }) => error)).toEqual([undefined, undefined])
    await Promise.all([one.client.close(), two.client.close()])
    const host = await openLedger({ store })
    expect((await host.messages('run-7')).messages.filter(({ pinned: isPinned }) => isPinned)).toHaveLength(1)
    await host.close()
  })

  longTest('goes beside a host that has the folder, and sees what it records', async () => {
    const host = await openLedger({ store })
    const { client } = await spawnedServer(cwd, ['--conversation', 'host'])
    await host.append('host', [{ id: 'h1', role: 'user', content: 'the pilot is late' }])
    expect((await ask(client, 'conversation_at')).text).toContain('the pilot is late')
    expect((await ask(client, 'pin_message', { messageId: 'h1', operationId: 'x' })).error).toMatch(/open in|belongs/u)
    await host.append('host', [{ id: 'h2', role: 'user', content: 'the tug is early' }])
    await host.close()
    // The host has gone, and the client still has what it asks for.
    expect((await ask(client, 'conversation_at')).text).toContain('the tug is early')
    expect((await ask(client, 'pin_message', { messageId: 'h1', operationId: 'x' })).error).toBeUndefined()
    await client.close()
  })

  longTest('lets a folder go while nobody asks', async () => {
    const { client } = await spawnedServer(cwd)
    expect((await ask(client, 'memory_read', { query: 'berth' })).error).toBeUndefined()
    for (let tries = 0; ; tries += 1) {
      const { status } = await runCli(['append', 'waiting', '--text', 'now it is my turn'], { cwd })
      if (status === 0) break
      expect(tries).toBeLessThan(100)
    }
    expect((await ask(client, 'memory_read', { query: 'my turn', conversation: 'waiting' })).error).toBeUndefined()
    await client.close()
  })

  it('standard output carries the protocol alone, and lines that are none end nothing', async () => {
    const child = start()
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    let problems = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      problems += text
    })
    child.stdin.write('no JSON\n{"a":\n[]\nnull\n\n')
    child.stdin.write(OPENING)
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    child.stdin.write(
      `${JSON.stringify({
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: 'memory_read', arguments: { query: 'x'.repeat(1_000_000) } },
      })}\n`,
    )
    child.stdin.write('{"jsonrpc":"2.0","id":3,"method":"no/such"}\n')
    while (![1, 2, 3].every((id) => out.includes(`"id":${String(id)}`))) await once(child.stdout, 'data')
    const answers = out
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(answers).toContainEqual(expect.objectContaining({ id: 1, result: expect.anything() }))
    expect(answers).toContainEqual(
      expect.objectContaining({ id: 2, result: expect.objectContaining({ isError: true }) }),
    )
    expect(answers).toContainEqual(expect.objectContaining({ id: 3, error: expect.anything() }))
    child.stdin.end()
    expect(await once(child, 'close')).toEqual([0, null])
    expect(new Set(problems.trim().split('\n'))).toEqual(
      new Set(['warning: the client sent a line that is not a JSON-RPC 2.0 message: the line was ignored']),
    )
  })

  longTest('ends when its client leaves in the middle of a call, and when it is told to', async () => {
    const leaving = start('--conversation', 'run-7')
    leaving.stdin.write(OPENING)
    leaving.stdin.write(
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"what_was_forgotten","arguments":{}}}\n',
    )
    await once(leaving.stdout, 'data')
    leaving.stdout.destroy()
    leaving.stdin.end()
    expect((await once(leaving, 'close'))[0]).toBe(0)
    const secondClient = start()
    secondClient.stdin.write(OPENING)
    await once(secondClient.stdout, 'data')
    secondClient.kill('SIGTERM')
    expect(await once(secondClient, 'close')).toEqual([0, null])
  })

  it('says with the first call where there is no ledger, blames nobody, and makes none', async () => {
    const empty = join(cwd, 'empty')
    mkdirSync(empty)
    const { client } = await spawnedServer(empty)
    expect((await ask(client, 'memory_read', { query: 'berth' })).error).toMatch(
      /^there is no ledger in .*: create one with `context-ledger import FILE`/u,
    )
    await client.close()
    expect((await runCli(['list'], { cwd: empty })).status).toBe(2)
  })

  it('refuses what does not go together', async () => {
    const run = async (...words: readonly string[]) => await runCli(['mcp', ...words], { cwd })
    expect(await run('--conversation', 'a', '--scope', 'b')).toMatchObject({ status: 2, stdout: '' })
    expect((await run('--conversation', '')).stderr).toContain('--conversation is empty')
    expect((await run('--scope', 'a\nb')).stderr).toContain('--scope has a control character')
    expect(await run('--port', '99999')).toMatchObject({ status: 2, stdout: '' })
    expect((await run('--prot', '1')).stderr).toContain('port')
  })
})
