/** With `fail: 'closed'`, nothing passes unrecorded, and a failure of the ledger breaks one answer, not the process. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { openLedger, type Ledger } from '../../src/index.js'
import { AnswerDelivery } from '../../src/interfaces/proxy/deliver-answer.js'
import { ProxyState } from '../../src/interfaces/proxy/proxy-state.js'
import { BYPASSED } from '../../src/interfaces/proxy/recorder.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { chat } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

const CHAT = '/v1/chat/completions'
const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Which berth?' }], stream: true })

let upstream: UpstreamStub
let ledger: Ledger
let proxy: ProxyServer
let problems: unknown[]
let rejections: unknown[]
const onProblem = (problem: unknown): void => {
  problems.push(problem)
}
const onRejection = (reason: unknown): void => {
  rejections.push(reason)
}

beforeEach(async () => {
  ;[problems, rejections] = [[], []]
  process.on('unhandledRejection', onRejection)
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
  proxy = await startProxy({ ledger, upstream: upstream.url, port: 0, fail: 'closed', onProblem })
})
afterEach(async () => {
  process.off('unhandledRejection', onRejection)
  await proxy.close(100)
  await upstream.close()
  await ledger.close()
})

const post = async (path: string, init: RequestInit = {}): Promise<Response> =>
  await fetch(`${proxy.url}${path}`, { method: 'POST', body: BODY, ...init })

it.each(['client', 'upstream'] as const)(
  'an answer that the %s breaks off while the ledger is down ends no process',
  async (breaker) => {
    upstream.answerWith({ chunks: chat.events({ text: 'Berth 7.' }).slice(0, -1), ending: 'hang' })
    const leaving = new AbortController()
    const response = await post(CHAT, { signal: leaving.signal })
    const reader = response.body?.getReader()
    const read = async (): Promise<never> => {
      for (;;) await reader?.read()
    }
    await reader?.read()
    await ledger.close()
    if (breaker === 'client') leaving.abort()
    else await upstream.close()
    await expect(read()).rejects.toBeDefined()
    await upstream.calls[0]?.closed
    await proxy.settled()
    // Node reports an unhandled rejection after the microtasks of a turn.
    for (let turn = 0; turn < 3; turn += 1)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
    expect([problems.length, rejections]).toEqual([1, []])
  },
)

it.each([`${CHAT}/`, '/v1//chat/completions', '/v1/Chat/Completions', '/v1/chat/complet%69ons'])(
  'a model request to %s is recorded',
  async (path) => {
    upstream.answerWith({ chunks: chat.events({ text: 'Berth 7.' }) })
    const response = await post(path)
    await response.text()
    expect(response.headers.get('x-context-ledger')).toBe('recorded')
  },
)

it.each([
  ['an unknown content encoding', { headers: { 'content-encoding': 'x-unknown' } }],
  ['a broken content encoding', { headers: { 'content-encoding': 'gzip' } }],
  ['a body that is not JSON', { body: '{"model":' }],
  ['a body without messages', { body: '{"model":"m"}' }],
])('a model request with %s is not sent', async (_what, init) => {
  const response = await post(CHAT, init)
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'RequestUnreadable' } }])
  expect(upstream.calls).toEqual([])
})

it('settled() waits until a buffered answer is recorded', async () => {
  const state = new ProxyState({ ledger, upstream: upstream.url })
  let settled = false
  let finish: (isRecorded: boolean) => void = () => undefined
  const recorded = new Promise<boolean>((resolve) => {
    finish = resolve
  })
  const incoming = new IncomingMessage(new Socket())
  incoming.statusCode = 200
  const sent = new AnswerDelivery(state).sendBuffered(
    { incoming, bytes: Buffer.from('{}'), answer: undefined, unreadable: undefined, isCut: false, reads: [] },
    { ...BYPASSED, recordAnswer: async () => await recorded },
    undefined,
  )
  const settling = (async (): Promise<void> => {
    await state.settled()
    settled = true
  })()
  await new Promise(setImmediate)
  expect(settled).toBe(false)
  finish(true)
  await Promise.all([sent, settling])
})
