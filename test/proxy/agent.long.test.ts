/**
 * A coding agent whose list grows without end, through the proxy. In the mode `compact`, with a window of 16,000 tokens,
 * every request that goes upstream is one that the API takes, fits the window, and is the one before it with more at its
 * end, but where a cycle is recorded between the two or the hard limit left no choice. In the mode `observe` both sides
 * get the bytes of the other. The ledger has every turn once in both.
 */
import { afterAll, beforeAll, expect } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { causesOf, type Cause } from '../support/head-changes.js'
import { longTest } from '../support/length.js'
import { agents, answerAt, type Agent } from '../support/listed-agents.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

const turnsSetting = process.env['CONTEXT_LEDGER_TEST_PROXY_TURNS']
const TURNS = Number(turnsSetting ?? 120)
/** Each is asked twice, with the proxy and without. */
const OBSERVED_TURNS = Number(turnsSetting ?? 24)
const WINDOW = 16_000

let upstream: UpstreamStub
let ledger: Ledger
let proxy: ProxyServer
let observer: ProxyServer
const problems: unknown[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: WINDOW } })
  const options = {
    ledger,
    upstream: upstream.url,
    port: 0,
    onProblem: (problem: unknown) => problems.push(problem),
  }
  proxy = await startProxy({ ...options, mode: 'compact', policy: { modelMaxTokens: WINDOW } })
  observer = await startProxy(options)
})
afterAll(async () => {
  await proxy.close()
  await observer.close()
  await upstream.close()
  await ledger.close()
})

/** Asks with the list of the agent as it stands. */
const ask = async (url: string, agent: Agent, id: string): Promise<Response> =>
  await fetch(`${url}${agent.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': id },
    body: JSON.stringify(agent.request()),
  })

/** Milliseconds of a turn, at three places of the way. */
const paceOf = (took: readonly number[]): string =>
  [0.1, 0.5, 1]
    .map((share) => {
      const end = Math.ceil(took.length * share)
      const last = took.slice(Math.max(0, end - 50), end)
      return `${(last.reduce((sum, each) => sum + each, 0) / last.length).toFixed(1)} at ${String(end)}`
    })
    .join(', ')

const residentMb = (): string => (process.memoryUsage().rss / 1e6).toFixed(0)

/** The ledger has the instructions, the first question, each answer, and what came behind all but the last of them. */
async function expectEachOnce(id: string, turns: number): Promise<void> {
  const ids: string[] = []
  let calls = 0
  for await (const event of ledger.log(id)) {
    if (event.type === 'MessagesWithdrawn') throw new Error('a message was withdrawn')
    if (event.type !== 'MessageAppended') continue
    ids.push(event.data.messageId)
    calls += event.data.toolCalls?.length ?? 0
  }
  const script = Array.from({ length: turns }, (_none, turn) => answerAt(turn))
  const recordedLater = script.slice(0, -1).reduce((sum, { calls: made = [] }) => sum + Math.max(1, made.length), 0)
  expect([new Set(ids).size, ids.length]).toEqual([2 + turns + recordedLater, 2 + turns + recordedLater])
  expect(calls).toBe(script.reduce((sum, { calls: made = [] }) => sum + made.length, 0))
  expect((await ledger.admin.verify(id)).problems).toEqual([])
}

longTest.each(agents)(
  'an agent of %s goes on without end',
  async (name, create) => {
    const agent = create()
    const id = `agent ${name}`
    const residentBefore = residentMb()
    const took: number[] = []
    let before: readonly string[] = []
    let largest = 0
    const changed: number[] = []
    for (let turn = 0; turn < TURNS; turn += 1) {
      const answer = answerAt(turn)
      upstream.calls.length = 0
      upstream.answerWith(agent.answer(answer))
      const began = performance.now()
      const response = await ask(proxy.url, agent, id)
      expect([turn, response.status, response.headers.get('x-context-ledger')]).toEqual([turn, 200, 'recorded'])
      await response.text()
      took.push(performance.now() - began)
      const sent = upstream.calls[0]?.body ?? {}
      expect([turn, agent.check(sent)]).toEqual([turn, []])
      const tokens = defaultEstimator.text(JSON.stringify(sent))
      largest = Math.max(largest, tokens)
      expect(tokens).toBeLessThan(WINDOW)
      const now = agent.elements(sent).map((each) => JSON.stringify(each))
      if (before.some((each, at) => now[at] !== each)) changed.push(turn)
      before = now
      agent.takes(answer, turn)
    }
    await proxy.settled()
    expect(problems).toEqual([])
    await expectEachOnce(id, TURNS)
    const causes = await causesOf(ledger, id, changed)
    const count = (cause: Cause): number => causes.filter(([, each]) => each === cause).length
    process.stderr.write(
      `${name}: of ${String(TURNS)} requests ${String(count('cycle'))} begin otherwise behind a cycle, ` +
        `${String(count('hard limit'))} by the hard limit, ${String(largest)} tokens at most; ` +
        `ms a turn ${paceOf(took)}; ${residentBefore} to ${residentMb()} MB\n`,
    )
    expect(causes.filter(([, cause]) => cause === 'neither')).toEqual([])
    expect(count('cycle')).toBeGreaterThan(TURNS / 60)
  },
  Math.max(600_000, TURNS * 1_000),
)

longTest.each(agents)(
  'an agent of %s that is observed gets each answer byte for byte, and the ledger every turn once',
  async (name, create) => {
    const agent = create()
    const id = `observed ${name}`
    const residentBefore = residentMb()
    const direct: number[] = []
    const through: number[] = []
    const askTimed = async (url: string, took: number[]): Promise<Buffer> => {
      const began = performance.now()
      const response = await ask(url, agent, id)
      const bytes = Buffer.from(await response.arrayBuffer())
      took.push(performance.now() - began)
      return bytes
    }
    for (let turn = 0; turn < OBSERVED_TURNS; turn += 1) {
      const answer = answerAt(turn)
      upstream.calls.length = 0
      upstream.answerWith(agent.answer(answer))
      const without = await askTimed(upstream.url, direct)
      const observed = await askTimed(observer.url, through)
      expect([turn, observed.equals(without)]).toEqual([turn, true])
      expect([turn, upstream.calls[1]?.text === upstream.calls[0]?.text]).toEqual([turn, true])
      agent.takes(answer, turn)
    }
    await observer.settled()
    expect(problems).toEqual([])
    await expectEachOnce(id, OBSERVED_TURNS)
    process.stderr.write(
      `${name}: observed, ms a turn ${paceOf(through)}; without the proxy ${paceOf(direct)}; ` +
        `${residentBefore} to ${residentMb()} MB\n`,
    )
  },
  Math.max(600_000, OBSERVED_TURNS * 1_000),
)
