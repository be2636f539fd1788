/** Lists of one conversation that are asked at once, or that have nothing of each other: each answer is its question's. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'

const MODES = ['observe', 'compact'] as const

let server: Server
let ledger: Ledger
const proxies = new Map<string, ProxyServer>()
const problems: unknown[] = []
/** Lets the answer to a question go. */
const waiting = new Map<string, () => void>()

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const question = /.*"content":"([^"]*)"/u.exec(Buffer.concat(chunks).toString('utf8'))?.[1] ?? ''
      waiting.set(question, () => {
        const message = { role: 'assistant', content: `to ${question}` }
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] }))
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on a port
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 16_000 } })
  for (const mode of MODES)
    proxies.set(
      mode,
      await startProxy({
        ledger,
        upstream: `http://127.0.0.1:${String(port)}`,
        port: 0,
        mode,
        onProblem: (problem) => problems.push(problem),
      }),
    )
})
afterAll(async () => {
  for (const proxy of proxies.values()) await proxy.close(100)
  server.closeAllConnections()
  server.close()
  await ledger.close()
})
beforeEach(() => {
  problems.length = 0
  waiting.clear()
})

describe.each(MODES)('%s', (mode) => {
  const ask = (conversation: string, ...contents: readonly string[]): Promise<Response> =>
    fetch(`${proxies.get(mode)?.url ?? ''}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': `${mode} ${conversation}` },
      body: JSON.stringify({
        model: 'm',
        messages: contents.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
      }),
    })
  /** A question is upstream, and recorded. */
  async function untilRecorded(conversation: string, question: string): Promise<void> {
    // Bounded, so that a question that is never recorded is told by what is.
    for (let tries = 0; tries < 300; tries += 1) {
      if (waiting.has(question) && (await contentsOf(conversation)).includes(question)) return
      await new Promise((resolve) => {
        setTimeout(resolve, 10)
      })
    }
    expect([question, await contentsOf(conversation)]).toEqual([question, expect.arrayContaining([question])])
  }
  const contentsOf = async (conversation: string): Promise<unknown[]> => {
    try {
      return (await ledger.messages(`${mode} ${conversation}`)).messages.map(({ content }) => content)
    } catch {
      return []
    }
  }
  async function answered(asking: Promise<Response>, question: string): Promise<void> {
    waiting.get(question)?.()
    expect(await (await asking).json()).toMatchObject({ choices: [{ message: { content: `to ${question}` } }] })
    await proxies.get(mode)?.settled()
  }

  it.each([
    ['behind the same beginning', ['hi', 'to hi', 'left'], ['hi', 'to hi', 'right']],
    ['of nothing that is the same', ['left'], ['right']],
  ])('of two questions asked at once, %s, the later stands with its own answer', async (name, left, right) => {
    for (const order of [
      ['left', 'right'],
      ['right', 'left'],
    ]) {
      const conversation = `${name}, ${order.join(' then ')}`
      waiting.clear()
      const first = ask(conversation, ...left)
      await untilRecorded(conversation, 'left')
      const second = ask(conversation, ...right)
      await untilRecorded(conversation, 'right')
      for (const question of order) {
        waiting.get(question)?.()
        const response = await (question === 'left' ? first : second)
        expect(await response.json()).toMatchObject({ choices: [{ message: { content: `to ${question}` } }] })
      }
      await proxies.get(mode)?.settled()
      expect(await contentsOf(conversation)).toEqual([...right, 'to right'])
    }
    expect(problems).toEqual([])
  })

  it('a list whose first message was edited goes on in its conversation', async () => {
    const first = ask('edited', 'which berth?')
    await untilRecorded('edited', 'which berth?')
    await answered(first, 'which berth?')
    const second = ask('edited', 'which crane?')
    await untilRecorded('edited', 'which crane?')
    await answered(second, 'which crane?')
    const third = ask('edited', 'which crane?', 'to which crane?', 'and then?')
    await untilRecorded('edited', 'and then?')
    await answered(third, 'and then?')
    expect(await contentsOf('edited')).toEqual(['which crane?', 'to which crane?', 'and then?', 'to and then?'])
    expect((await ledger.admin.verify(`${mode} edited`)).problems).toEqual([])
    expect(problems).toEqual([])
  })
})
