/**
 * An agent that compacts by itself, though the ledger makes its context: its compaction is recorded as the fact it is,
 * and what goes upstream stays one that the API takes, below the window, and the same at its beginning.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { startProxy } from '../../src/interfaces/proxy/server.js'
import { agents, answerAt } from '../support/listed-agents.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'
import { isLong } from '../support/length.js'

const WINDOW = 8_000
/** The ledger has folded by then. Before each of them the agent's last message is one of its user's. */
const OWN = [25, 30]
const TURNS = 40

let upstream: UpstreamStub
let ledger: Ledger
const problems: unknown[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
})
afterAll(async () => {
  await upstream.close()
  await ledger.close()
})

const summaryAt = (turn: number): string =>
  `Summary at ${String(turn)}: the berths of the port were listed, and cranes, hulls and pilots were assigned to them.`

it.each(isLong ? agents : agents.slice(0, 1))(
  'its compactions are recorded as such, each turn is said once, and what goes upstream is sound (%s)',
  async (name, create) => {
    const agent = create()
    const id = `own ${name}`
    const start = async () =>
      await startProxy({
        ledger,
        upstream: upstream.url,
        port: 0,
        mode: 'compact',
        policy: { modelMaxTokens: WINDOW },
        onProblem: (problem) => problems.push(problem),
      })
    let proxy = await start()
    const ask = async (answer: ReturnType<typeof answerAt>): Promise<readonly string[]> => {
      upstream.calls.length = 0
      upstream.answerWith(agent.answer(answer))
      const response = await fetch(`${proxy.url}${agent.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': id },
        body: JSON.stringify(agent.request()),
      })
      await response.text()
      await proxy.settled()
      expect([response.status, response.headers.get('x-context-ledger')]).toEqual([200, 'recorded'])
      const sent = upstream.calls[0]?.body ?? {}
      expect(agent.check(sent)).toEqual([])
      expect(defaultEstimator.text(JSON.stringify(sent))).toBeLessThan(WINDOW)
      return agent.elements(sent).map((each) => JSON.stringify(each))
    }
    const cycles = async (): Promise<number> => (await ledger.admin.stats(id)).cycles
    /** Turns whose request does not begin like the one before it, though the ledger folded nothing in between. */
    const changed: number[] = []
    let before: { readonly sent: readonly string[]; readonly cycles: number } | undefined
    for (let turn = 0; turn < TURNS; turn += 1) {
      if (OWN.includes(turn)) {
        agent.report('Summarize all of this.')
        await ask({ id: `summary_${String(turn)}`, text: summaryAt(turn) })
        agent.unsays()
        agent.compacts(`This goes on from before. ${summaryAt(turn)}`)
        // What left the list goes upstream as the ledger has it from here on.
        before = undefined
      }
      // The list is known again by a proxy that has not seen it before.
      if (OWN.includes(turn - 2)) {
        await proxy.close()
        proxy = await start()
      }
      const answer = answerAt(turn)
      const at = await cycles().catch(() => 0)
      const sent = await ask(answer)
      // A cycle may complete while the request is made.
      if (before?.cycles === (await cycles()) && before.sent.some((each, place) => sent[place] !== each))
        changed.push(turn)
      before = { sent, cycles: at }
      agent.takes(answer, turn)
    }
    await proxy.close()
    expect(changed).toEqual([])
    expect(await cycles()).toBeGreaterThan(1)
    expect(problems).toEqual([])
    expect((await ledger.admin.verify(id)).problems).toEqual([])

    const [compactions, withdrawn, said]: [string[], string[], string[]] = [[], [], []]
    for await (const { type, data } of ledger.log(id))
      if (type === 'CompactionObserved') compactions.push(data.summary.kind === 'text' ? data.summary.text : '')
      else if (type === 'MessagesWithdrawn') withdrawn.push(...data.messages.map(({ messageId }) => messageId))
      else if (type === 'MessageAppended') said.push(JSON.stringify([data.role, data.content, data.toolCalls]))
    expect(compactions).toEqual(OWN.map((turn) => `This goes on from before. ${summaryAt(turn)}`))
    // The question for the summary, and the summary as it was answered, were no turns.
    expect(withdrawn).toHaveLength(2 * OWN.length)
    const calls = Array.from({ length: TURNS - 1 }, (_none, turn) => Math.max(1, answerAt(turn).calls?.length ?? 0))
    const turns = 2 + TURNS + calls.reduce((sum, each) => sum + each, 0)
    expect(said).toHaveLength(turns + 3 * OWN.length)
    expect(new Set(said.filter((each) => !each.includes('Summarize all'))).size).toBe(turns + 2 * OWN.length)
  },
)
