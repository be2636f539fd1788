/** The agent's own tools: bound to one conversation, usable as they are, never throwing. */
import { describe, expect, it } from '@jest/globals'
import { createAgentTools, type AgentToolUses } from '../../src/library/agent-tools.js'
import type { SearchHit } from '../../src/application/search/search.js'

const hit: SearchHit = {
  conversationId: 'c',
  batchId: 'b1',
  kind: 'message',
  messageIds: ['m1'],
  firstRevision: 1,
  lastRevision: 1,
  startTime: '2026-01-01T00:00:00.000Z',
  endTime: '2026-01-01T00:00:00.000Z',
  score: 1,
  text: 'Money is integer cents.',
}

function tools(uses: Partial<AgentToolUses> = {}) {
  const queries: unknown[] = []
  const [memoryRead, compactContext] = createAgentTools({
    memoryRead: async (query, limit) => {
      queries.push({ query, limit })
      return [hit, { ...hit, batchId: null, text: 'x'.repeat(5_000) }]
    },
    compact: async () => ({ batchesCreated: 2, messagesCompressed: 40, tokensBefore: 6_400, tokensAfter: 3_100 }),
    ...uses,
  })
  if (memoryRead === undefined || compactContext === undefined) throw new Error('a tool is missing')
  const answer = async (tool: typeof memoryRead, args?: unknown): Promise<unknown> =>
    JSON.parse(await tool.execute(args)) as unknown
  return { memoryRead, compactContext, asked: queries, answer }
}

describe('the definitions', () => {
  it('are what the chat API takes, and name no conversation', () => {
    const { memoryRead, compactContext } = tools()
    expect([memoryRead, compactContext].map(({ name }) => name)).toEqual(['memory_read', 'compact_context'])
    expect(memoryRead.definition).toEqual({
      type: 'function',
      function: { name: 'memory_read', description: memoryRead.description, parameters: memoryRead.parameters },
    })
    expect(memoryRead.parameters).toMatchObject({
      type: 'object',
      required: ['query'],
      properties: { query: { type: 'string' } },
    })
    expect(compactContext.parameters).toMatchObject({ type: 'object', properties: {} })
    expect(JSON.stringify(memoryRead.parameters)).not.toContain('conversation')
  })
})

describe('memory_read', () => {
  it.each([
    ['{"query":" cents "}', 10],
    [{ query: 'cents', limit: 3 }, 3],
  ])('takes %j', async (args, limit) => {
    const { memoryRead, asked, answer } = tools()
    expect(await answer(memoryRead, args)).toMatchObject({
      hits: [{ batchId: 'b1', messageIds: ['m1'], text: 'Money is integer cents.' }, { batchId: null }],
    })
    expect(asked).toEqual([{ query: 'cents', limit }])
  })

  it('shortens a long hit, and says by how much', async () => {
    const { memoryRead } = tools()
    expect(await memoryRead.execute({ query: 'cents' })).toContain('[... 3000 more characters]')
  })

  it('is capped as a whole, and says how many hits it left out', async () => {
    const { memoryRead } = tools({
      memoryRead: async () =>
        Array.from({ length: 50 }, () => ({
          ...hit,
          messageIds: Array.from({ length: 400 }, (_, at) => `message-${String(at)}`),
          text: '"\n'.repeat(2_500),
        })),
    })
    const answer = await memoryRead.execute({ query: 'cents', limit: 50 })
    expect(answer.length).toBeLessThan(17_000)
    expect(answer).toMatch(/"leftOut":"4\d more were found/u)
  })

  it.each([[undefined], [''], ['{}'], ['{"query":""}'], ['{"query":5}'], ['{not json'], [5]])(
    'answers %j with what is wrong',
    async (args) => {
      const { memoryRead, asked, answer } = tools()
      expect(await answer(memoryRead, args)).toEqual({ error: expect.any(String) })
      expect(asked).toEqual([])
    },
  )

  it('answers with the error where the search fails', async () => {
    const { memoryRead, answer } = tools({
      memoryRead: async () => {
        throw new Error('the store does not answer')
      },
    })
    expect(await answer(memoryRead, { query: 'x' })).toEqual({ error: 'the store does not answer' })
  })
})

describe('compact_context', () => {
  it.each([[undefined], [''], ['{}'], [{}]])('takes no arguments: %j', async (args) => {
    const { compactContext, answer } = tools()
    expect(await answer(compactContext, args)).toEqual({
      messagesCompressed: 40,
      batchesCreated: 2,
      tokensBefore: 6_400,
      tokensAfter: 3_100,
    })
  })

  it('names a failure by its kind', async () => {
    const { compactContext, answer } = tools({
      compact: async () => ({
        batchesCreated: 0,
        messagesCompressed: 0,
        tokensBefore: 1,
        tokensAfter: 1,
        failure: { kind: 'SummarizerFailed', failure: 'timeout', detail: 'no answer' },
      }),
    })
    expect(await answer(compactContext)).toMatchObject({ messagesCompressed: 0, failure: 'timeout' })
  })
})
