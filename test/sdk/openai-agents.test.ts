/** `context-ledger/openai-agents` under the real package, with a model that plays a script. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Agent,
  isOpenAIResponsesCompactionOwnershipAwareSession,
  isSessionHistoryTransactionAwareSession,
  MemorySession,
  Runner,
  tool,
  Usage,
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
} from '@openai/agents'
import { z } from 'zod'
import { openLedger, type Ledger } from '../../src/index.js'
import { ledgerSession } from '../../src/interfaces/sdk/openai-agents/index.js'

/** Answers by a function of what it is given, and remembers it. */
class ScriptedModel implements Model {
  readonly requests: (string | AgentInputItem[])[] = []
  constructor(private readonly answer: (input: readonly AgentInputItem[]) => ModelResponse['output']) {}
  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.requests.push(structuredClone(input))
    const usage = new Usage({ inputTokens: 12, outputTokens: 5, totalTokens: 17, requests: 1 })
    return {
      usage,
      output: this.answer(typeof input === 'string' ? [] : input),
      responseId: `r${String(this.requests.length)}`,
    }
  }
  // oxlint-disable-next-line eslint/require-yield -- nobody streams here
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('not streamed here')
  }
}
const outputOf = (text: string): ModelResponse['output'] => [
  { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] },
]
const calls = (...ships: string[]): ModelResponse['output'] => [
  { type: 'reasoning', id: 'rs_1', content: [], providerData: { encrypted_content: 'b3BhcXVl' } },
  ...ships.map((ship) => ({
    type: 'function_call' as const,
    id: `fc_${ship}`,
    callId: `call_${ship}`,
    name: 'berth',
    arguments: JSON.stringify({ ship }),
    status: 'completed' as const,
  })),
]
const berth = tool({
  name: 'berth',
  description: 'Where a ship lies',
  parameters: z.object({ ship: z.string() }),
  execute: async ({ ship }) => `${ship} lies at berth ${String(ship.length)}`,
})
const user = (content: string): AgentInputItem => ({ role: 'user', content })

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
})
afterAll(() => ledger.close())
const runner = new Runner({ tracingDisabled: true })

const facts = async (id: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for await (const { type } of ledger.log(id)) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

describe('ledgerSession', () => {
  it('gives the model what a session in memory gives it, parallel calls and reasoning in it', async () => {
    const script = (): ScriptedModel =>
      new ScriptedModel((input) =>
        input.at(-1)?.type === 'function_call_result' ? outputOf('Berths 4 and 9.') : calls('Alma', 'Nordstern'),
      )
    const play = async (session: MemorySession | ReturnType<typeof ledgerSession>): Promise<ScriptedModel> => {
      const model = script()
      const agent = new Agent({ name: 'Harbour', model, tools: [berth] })
      for (const question of ['Where are they?', 'And now?']) await runner.run(agent, question, { session })
      return model
    }
    const session = ledgerSession({ ledger, sessionId: 'a' })
    const memory = new MemorySession()
    const [kept, alone] = [await play(session), await play(memory)]
    expect(kept.requests).toEqual(alone.requests)
    expect(await session.getItems()).toEqual(JSON.parse(JSON.stringify(await memory.getItems())))
    expect(await session.getItems(2)).toEqual(JSON.parse(JSON.stringify(await memory.getItems(2))))
  })

  it('gives the model what fits, and keeps everything', async () => {
    const model = new ScriptedModel(() => outputOf('Noted, and thank you for the note.'))
    const agent = new Agent({ name: 'Harbour', model })
    const session = ledgerSession({ ledger, sessionId: 'b' })
    for (let turn = 1; turn <= 30; turn += 1)
      await runner.run(agent, `Note ${String(turn)}: ${'the crane at the west quay is out. '.repeat(8)}`, { session })
    await ledger.admin.waitForCompaction('b')
    const items = await session.getItems()
    expect(items[0]).toMatchObject({ role: 'user', content: expect.stringMatching(/^\[Context Summary/u) })
    expect(JSON.stringify(model.requests.at(-1)).length).toBeLessThan(12_000)
    const counts = await facts('b')
    expect([counts['MessageAppended'], counts['MessagesWithdrawn']]).toEqual([60, undefined])
  })

  it('applies a transaction once, whole, and only to what it expects', async () => {
    const session = ledgerSession({ ledger, sessionId: 'c' })
    expect(isSessionHistoryTransactionAwareSession(session)).toBe(true)
    const append = { type: 'append_items' as const, items: [user('One.'), ...outputOf('Two.'), user('Three.')] }
    await session.applyHistoryTransaction({ operationId: 'o1', transaction: append })
    await session.applyHistoryTransaction({ operationId: 'o1', transaction: append })
    const items = await session.getItems()
    expect(items).toEqual(append.items)
    const repeatedAppend = { ...append, items: [...append.items, user('Four.')] }
    await expect(session.applyHistoryTransaction({ operationId: 'o1', transaction: repeatedAppend })).rejects.toThrow(
      /operationId/u,
    )
    const replace = {
      type: 'replace_suffix' as const,
      expectedSuffix: [...outputOf('Two.'), user('Three.')],
      replacement: [...outputOf('Another two.')],
    }
    await session.applyHistoryTransaction({ operationId: 'o2', transaction: replace })
    await session.applyHistoryTransaction({ operationId: 'o2', transaction: replace })
    expect(await session.getItems()).toEqual([user('One.'), ...outputOf('Another two.')])
    await expect(session.applyHistoryTransaction({ operationId: 'o3', transaction: replace })).rejects.toThrow(
      /expectedSuffix/u,
    )
    const remove = { type: 'replace_suffix' as const, expectedSuffix: outputOf('Another two.'), replacement: [] }
    await session.applyHistoryTransaction({ operationId: 'o4', transaction: remove })
    await session.addItems(outputOf('Another two.'))
    await session.applyHistoryTransaction({ operationId: 'o4', transaction: remove })
    expect(await session.getItems()).toEqual([user('One.'), ...outputOf('Another two.')])
  })

  it('of two transactions at once both are applied, one after the other', async () => {
    const session = ledgerSession({ ledger, sessionId: 'd' })
    await Promise.all(
      Array.from({ length: 8 }, (_none, at) =>
        session.applyHistoryTransaction({
          operationId: `o${String(at)}`,
          transaction: { type: 'append_items', items: [user(`Item ${String(at)}`)] },
        }),
      ),
    )
    expect((await session.getItems()).length).toBe(8)
  })

  it('takes the last item back, also of an answer of several, and clears; the log keeps it', async () => {
    const session = ledgerSession({ ledger, sessionId: 'e' })
    expect(await session.popItem()).toBeUndefined()
    await session.clearSession()
    const answer = calls('Alma', 'Nordstern')
    await session.addItems([user('Where?'), ...answer])
    expect(await session.popItem()).toEqual(answer.at(-1))
    expect(await session.getItems()).toEqual([user('Where?'), ...answer.slice(0, -1)])
    await session.clearSession()
    expect(await session.getItems()).toEqual([])
    expect(await facts('e')).toMatchObject({ MessagesWithdrawn: 2 })
    await session.addItems([user('Anew.')])
    expect(await session.getItems()).toEqual([user('Anew.')])
  })

  it('keeps a compaction of the provider as it is, and what it replaced in the log', async () => {
    const session = ledgerSession({ ledger, sessionId: 'f' })
    await session.addItems([user('One.'), ...outputOf('Two.'), user('Three.')])
    const compacted: AgentInputItem[] = [
      { type: 'compaction', id: 'cmp_1', encrypted_content: 'b3BhcXVl' },
      user('Three.'),
    ]
    await session.replaceHistoryWithCompaction(compacted)
    expect(await session.getItems()).toEqual(compacted)
    expect(await facts('f')).toMatchObject({ MessageAppended: 5, MessagesWithdrawn: 1, CompactionObserved: 1 })
    expect((await ledger.admin.verify('f')).problems).toEqual([])
    await expect(session.replaceHistoryWithCompaction([user('One.')])).rejects.toThrow(/items\.0/u)
  })

  const LONG = 'The berth is booked twice, and the tide does not wait. '.repeat(12)
  const afterRuns = async (compaction: 'behind' | 'awaited', id: string): Promise<ReturnType<typeof ledgerSession>> => {
    const session = ledgerSession({ ledger, sessionId: id, compaction })
    const agent = new Agent({ name: 'Harbour', model: new ScriptedModel(() => outputOf(LONG)) })
    for (let turn = 0; turn < 8; turn += 1) await runner.run(agent, `${String(turn)}: ${LONG}`, { session })
    return session
  }

  it('lets the end of a run wait for what is due, where that is asked for', async () => {
    const session = await afterRuns('awaited', 'h')
    expect(isOpenAIResponsesCompactionOwnershipAwareSession(session)).toBe(true)
    // Nothing is due any more when the run has ended.
    const { revision } = await ledger.messages('h')
    expect((await facts('h'))['MessagesPruned']).toBeGreaterThan(0)
    expect(await ledger.compact('h')).toMatchObject({ batchesCreated: 0 })
    expect((await ledger.messages('h')).revision).toBe(revision)
    expect(await facts('h')).toMatchObject({ MessageAppended: 16 })
  })

  it('compacts by hand, and by a receipt only where nobody else added meanwhile', async () => {
    const session = ledgerSession({ ledger, sessionId: 'i', compaction: 'awaited' })
    expect(await session.runCompaction({ force: true })).toBeNull()
    const { items, ownership } = await session.getItemsWithCompactionOwnership()
    expect(items).toEqual([])
    await session.addItemsWithCompactionOwnership([user(LONG), ...outputOf(LONG)], ownership)
    await session.addItemsWithCompactionOwnership([user('And?'), ...outputOf('Nothing.'), user('Well?')], ownership)
    const batches = async (): Promise<number> => (await facts('i'))['BatchArchived'] ?? 0
    await session.addItems([user('Somebody else.')])
    await session.runCompaction({ force: true }, undefined, ownership)
    await session.runCompaction({ force: true }, undefined, null)
    expect(await batches()).toBe(0)
    const reloaded = await session.getItemsWithCompactionOwnership()
    await session.addItemsWithCompactionOwnership(outputOf('Mine.'), reloaded.ownership)
    await session.runCompaction({ force: true }, undefined, reloaded.ownership)
    expect(await batches()).toBe(1)
    expect((await ledger.admin.verify('i')).problems).toEqual([])
  })

  it('names what is wrong, and records nothing of it', async () => {
    const session = ledgerSession({ ledger, sessionId: 'g' })
    // @ts-expect-error no item
    await expect(session.addItems([user('One.'), 'two'])).rejects.toThrow(/items\.1/u)
    const cycle = { ...user('One.'), providerData: {} }
    cycle.providerData = { cycle }
    for (const item of [cycle, { ...user('One.'), providerData: { big: 1n } }])
      await expect(session.addItems([item])).rejects.toThrow(/^items contains a value that JSON cannot represent/u)
    // @ts-expect-error no items
    await expect(session.addItems('one')).rejects.toThrow(/items/u)
    await expect(session.getItems(Number.NaN)).rejects.toThrow(/limit/u)
    expect(await session.getItems()).toEqual([])
    expect(() => ledgerSession({ ledger, sessionId: '' })).toThrow(/conversationId/u)
    // @ts-expect-error no way to compact
    expect(() => ledgerSession({ ledger, sessionId: 'g', compaction: 'never' })).toThrow(/compaction/u)
  })
})
