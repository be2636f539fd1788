/** The server's tools and resources, asked by the real client over HTTP as it is answered in this process. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { openLedger, type Ledger } from '../../src/index.js'
import { createMcp, type McpOptions } from '../../src/interfaces/mcp/create-mcp.js'
import { calling, answering, SMALL, talk } from '../support/conversations.js'
import { jsonAs } from '../support/json.js'
import { longTest } from '../support/length.js'
import { ask, httpClient, type Era } from '../support/mcp.js'

const ODD = 'run 7/ä%🛶'
let ledger: Ledger
const problems: unknown[] = []

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', policy: SMALL })
  await ledger.append(ODD, talk(40))
  await ledger.append('acme-1', talk(6), { scope: 'acme' })
  await ledger.append('acme-2', [{ id: 'secret', role: 'user', content: 'the lighthouse of acme' }], { scope: 'acme' })
  await ledger.append('globex-1', [{ id: 'secret', role: 'user', content: 'the lighthouse of globex' }], {
    scope: 'globex',
  })
  await ledger.admin.waitForCompaction()
})
afterAll(async () => {
  await ledger.close()
})

type Served = Partial<McpOptions> & { readonly era?: Era }

/** A client of a server of its own. */
async function served(given: Served = {}): Promise<Client> {
  const { era = 'auto', ...options } = given
  const mcp = createMcp({
    ledger,
    boundTo: { conversationId: ODD },
    version: '9.9.9',
    onProblem: (problem) => problems.push(problem),
    ...options,
  })
  return await httpClient('http://127.0.0.1/mcp', { era, fetch: (url, init) => mcp.fetch(new Request(url, init)) })
}

const uriOf = (id: string, rest = ''): string => `ledger://conversations/${encodeURIComponent(id)}${rest}`

async function read(client: Client, uri: string): Promise<Record<string, unknown>> {
  const { contents } = await client.readResource({ uri })
  const [content] = contents
  if (contents.length !== 1 || content === undefined || !('text' in content)) throw new Error('no text')
  expect(content.mimeType).toBe('application/json')
  return jsonAs<Record<string, unknown>>(content.text)
}

describe.each<Era>(['legacy', 'auto'])('a client of the protocol, %s', (era) => {
  let client: Client
  beforeAll(async () => {
    client = await served({ era })
  })
  afterAll(async () => {
    await client.close()
  })

  it('is told what there is, and how each tool behaves', async () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'context-ledger', version: '9.9.9' })
    expect(client.getInstructions()).toContain('follow no instruction')
    const { tools } = await client.listTools()
    expect(Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))).toEqual({
      memory_read: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      conversation_at: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      explain_compaction: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      what_was_forgotten: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      check_rules: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      recall: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      compact_context: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
      undo_compaction: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      pin_message: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    })
    for (const { inputSchema, outputSchema } of tools) {
      expect([inputSchema.type, outputSchema?.['type']]).toEqual(['object', 'object'])
      // A server of one conversation has no word for any other.
      expect(Object.keys(inputSchema.properties ?? {})).not.toContain('conversation')
    }
  })

  it('finds what was said, and quotes it', async () => {
    const { data, text, error } = await ask(client, 'memory_read', { query: 'Message 3 of the harbour', limit: 3 })
    expect(error).toBeUndefined()
    expect(JSON.parse(text)).toEqual(data)
    expect(String(data['quotation'])).toContain('never instructions')
    expect(data['hits']).toHaveLength(3)
    expect(data['hits']).toContainEqual(expect.objectContaining({ conversationId: ODD, messageIds: ['m3'] }))
  })

  it('is shown the context of any moment, as the ledger has it', async () => {
    const then = await ledger.context(ODD, { at: 'm20' })
    const { data } = await ask(client, 'conversation_at', { at: 'm20' })
    expect(data).toMatchObject({
      revision: then.revision.toString(),
      hash: then.hash,
      messagesInContext: then.messages.length,
      from: 0,
    })
    expect(data['messages']).toEqual(
      then.messages.map(({ role, content }, at) => ({ messageId: then.messageIds[at], role, text: content })),
    )
    expect((await ask(client, 'conversation_at', {})).data).toMatchObject({ hash: (await ledger.context(ODD)).hash })
  })

  it('is told where summaries come from, by cycle, by line, by batch and in all', async () => {
    const byCycle = (await ask(client, 'explain_compaction', { cycle: 1 })).data
    expect(byCycle).toMatchObject({ kind: 'cycle', cycle: { cycle: 1 } })
    const [batch] = z.array(z.looseObject({ batchId: z.string() })).parse(byCycle['batches'])
    expect(batch).toMatchObject({ summarizer: { strategy: 'extractive' }, covers: { messages: 3 } })
    const byBatch = (await ask(client, 'explain_compaction', { batchId: batch?.batchId })).data
    expect(byBatch).toMatchObject({ kind: 'batch', batches: [batch] })
    expect((await ask(client, 'explain_compaction', { line: 'Message 0: the berth' })).data['kind']).toMatch(
      /several|batch|message/u,
    )
    expect((await ask(client, 'explain_compaction', {})).data).toMatchObject({ kind: 'view' })
  })

  it('is told what was forgotten', async () => {
    const { totals } = await ledger.forgotten(ODD)
    const { data } = await ask(client, 'what_was_forgotten', {})
    expect(data['totals']).toMatchObject({ cycles: totals.all.compactions, verdicts: totals.all.verdicts })
    const only = (await ask(client, 'what_was_forgotten', { cycle: 1, verdicts: ['kept'] })).data
    expect(only['cycles']).toEqual([expect.objectContaining({ cycle: 1 })])
    expect(JSON.stringify(only)).not.toContain('"verdict":"gone"')
  })

  it('gets back what its context lacks', async () => {
    const { data } = await ask(client, 'recall', { tokens: 300 })
    const note = await ledger.recall(ODD, { tokens: 300 })
    expect(data).toMatchObject({ conversationId: ODD, text: note.text, tokens: note.tokens })
    expect(note.text).not.toBe('')
  })

  it('reads conversations, cycles and messages as resources', async () => {
    expect((await client.listResources()).resources).toEqual([
      expect.objectContaining({ uri: uriOf(ODD), name: ODD, mimeType: 'application/json' }),
    ])
    expect((await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'ledger://conversations/{id}{?at,from}',
      'ledger://conversations/{id}/cycles/{n}',
      'ledger://conversations/{id}/messages/{messageId}',
    ])
    expect(await read(client, uriOf(ODD))).toMatchObject({ hash: (await ledger.context(ODD)).hash })
    expect(await read(client, uriOf(ODD, '?at=m20'))).toMatchObject({
      hash: (await ledger.context(ODD, { at: 'm20' })).hash,
    })
    const whole = z
      .object({ revision: z.string(), messages: z.array(z.unknown()) })
      .parse(await read(client, uriOf(ODD)))
    expect(await read(client, uriOf(ODD, `?at=${whole.revision}&from=1`))).toMatchObject({
      revision: whole.revision,
      from: '1',
      messages: whole.messages.slice(1),
    })
    expect(await read(client, uriOf(ODD, '/cycles/1'))).toMatchObject({ kind: 'cycle', cycle: { cycle: 1 } })
    // Whatever became of it since, a message is read as it was recorded.
    expect(await read(client, uriOf(ODD, '/messages/m3'))).toMatchObject({
      quotation: expect.stringContaining('never instructions'),
      messageId: 'm3',
      message: { role: 'assistant', content: expect.stringMatching(/^Message 3: /u) },
    })
  })

  it('completes ids', async () => {
    const complete = async (rest: string, name: string, value: string, id?: string): Promise<readonly string[]> =>
      (
        await client.complete({
          ref: { type: 'ref/resource', uri: `ledger://conversations/{id}${rest}` },
          argument: { name, value },
          ...(id === undefined ? {} : { context: { arguments: { id } } }),
        })
      ).completion.values
    expect(await complete('{?at,from}', 'id', 'RUN')).toEqual([ODD])
    expect(await complete('{?at,from}', 'id', 'acme')).toEqual([])
    expect(await complete('/cycles/{n}', 'n', '1', ODD)).toContain('1')
    expect(await complete('/messages/{messageId}', 'messageId', 'm3', ODD)).toEqual(['m38', 'm39'])
    expect(await complete('/messages/{messageId}', 'messageId', 's', 'acme-2')).toEqual([])
  })
})

describe('what a call gets that cannot be answered', () => {
  const wrong: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['memory_read', {}, /query/u],
    ['memory_read', { query: ' ' }, /query/u],
    ['memory_read', { query: 'x'.repeat(1_000_000) }, /query.*4000/u],
    ['memory_read', { query: 'berth', limit: 0 }, /limit/u],
    ['memory_read', { query: 'berth', limit: 1.5 }, /limit/u],
    ['memory_read', { query: 'berth', conversation: 'acme-1' }, /conversation/u],
    ['memory_read', { query: ['berth'] }, /query/u],
    ['conversation_at', { at: '999999' }, /999999/u],
    ['conversation_at', { at: '2026-13-45' }, /2026-13-45/u],
    ['conversation_at', { at: 'no-such-message' }, /no-such-message/u],
    ['conversation_at', { at: 'a\0b' }, /./u],
    ['conversation_at', { from: -1 }, /from/u],
    ['explain_compaction', { cycle: 99 }, /99/u],
    ['explain_compaction', { cycle: 0 }, /cycle/u],
    ['explain_compaction', { cycle: 1, line: 'both' }, /cannot be combined/u],
    ['explain_compaction', { batchId: 'no-such-batch' }, /no-such-batch/u],
    ['explain_compaction', { line: 'nobody ever said this' }, /line|context/u],
    ['what_was_forgotten', { cycle: 99 }, /99/u],
    ['what_was_forgotten', { verdicts: [] }, /verdicts/u],
    ['what_was_forgotten', { verdicts: ['gone'] }, /verdicts/u],
    ['check_rules', { verdicts: ['lost'] }, /verdicts/u],
    ['compact_context', {}, /operationId/u],
    ['compact_context', { operationId: '' }, /operationId/u],
    ['compact_context', { operationId: 'a\nb' }, /operationId/u],
    ['undo_compaction', { cycle: 99, operationId: 'u' }, /99/u],
    ['undo_compaction', { operationId: 'u' }, /cycle/u],
    ['pin_message', { messageId: 'm3', operationId: 'p' }, /m3/u],
    ['pin_message', { messageId: 'lone \ud800', operationId: 'p' }, /messageId/u],
  ]
  let client: Client
  beforeAll(async () => {
    client = await served()
  })

  it.each(wrong)('%s says what is wrong: %#', async (name, args, sentence) => {
    const { error } = await ask(client, name, args)
    expect(error).toMatch(sentence)
    expect(error?.length).toBeLessThan(1_000)
    expect(error).not.toMatch(/\n\s+at |internal error/u)
  })

  it.each([
    uriOf('no-such-conversation'),
    uriOf('acme-1'),
    uriOf(ODD, '?at=999999'),
    uriOf(ODD, '?from=-1'),
    uriOf(ODD, '/cycles/99'),
    uriOf(ODD, '/cycles/one'),
    uriOf(ODD, '/messages/no-such-message'),
    uriOf(ODD, '/elsewhere/1'),
    'ledger://conversations/',
    'ledger://conversations/%ff',
    'ledger://conversations/..%2f..',
    'file:///etc/passwd',
    'no address',
  ])('there is no resource %s', async (uri) => {
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 })
  })

  it('goes on behind all of it', async () => {
    expect((await ask(client, 'memory_read', { query: 'berth' })).error).toBeUndefined()
  })

  it('is told of a mistake of ours, and so is the host', async () => {
    const broken = new Proxy(ledger, {
      get: (target, name) =>
        name === 'context' ? () => Promise.reject(new TypeError('x of undefined')) : Reflect.get(target, name),
    })
    const reported: unknown[] = []
    const otherClient = await served({ ledger: broken, onProblem: (problem) => reported.push(problem) })
    expect((await ask(otherClient, 'conversation_at')).error).toContain('internal error')
    expect(reported).toHaveLength(1)
    expect((await ask(otherClient, 'memory_read', { query: 'berth' })).error).toBeUndefined()
  })
})

describe('what a server is bound to', () => {
  it('a scope sees its own conversations and no others', async () => {
    const acme = await served({ boundTo: { scope: 'acme' } })
    const found = await ask(acme, 'memory_read', { query: 'lighthouse' })
    expect(found.text).toContain('the lighthouse of acme')
    expect(found.text).not.toContain('globex')
    const listed = await ask(acme, 'list_conversations')
    expect(listed.data['conversations']).toEqual(
      expect.arrayContaining([
        {
          conversationId: 'acme-2',
          title: 'the lighthouse of acme',
          startedAt: expect.any(String),
          lastMessageAt: expect.any(String),
          messages: 1,
          compactions: 0,
          lost: 0,
        },
      ]),
    )
    expect(listed.data).toMatchObject({ conversations: expect.any(Array) })
    expect(JSON.stringify(listed.data)).not.toMatch(/globex|"more"/u)
    expect((await ask(acme, 'list_conversations', { limit: 1 })).data).toMatchObject({ more: true })
    expect((await ask(acme, 'list_conversations', { match: 'E-2' })).data).toMatchObject({
      conversations: [{ conversationId: 'acme-2' }],
    })
    expect((await ask(acme, 'list_conversations', { conversation: 'acme-1' })).error).toContain('conversation')
    expect((await acme.listResources()).resources.map(({ name }) => name).toSorted()).toEqual(['acme-1', 'acme-2'])
    expect((await ask(acme, 'conversation_at', { conversation: 'acme-2' })).text).toContain('the lighthouse of acme')
    expect((await read(acme, uriOf('acme-2', '/messages/secret')))['messageId']).toBe('secret')
    const absent = (await ask(acme, 'conversation_at', { conversation: 'nowhere' })).error
    for (const conversation of ['globex-1', ODD, 'Acme-1'])
      for (const [tool, args] of [
        ['memory_read', { query: 'lighthouse' }],
        ['conversation_at', {}],
        ['explain_compaction', {}],
        ['what_was_forgotten', {}],
        ['check_rules', {}],
        ['recall', {}],
        ['compact_context', { operationId: 'o' }],
        ['undo_compaction', { cycle: 1, operationId: 'o' }],
        ['pin_message', { messageId: 'secret', operationId: 'o' }],
      ] as const) {
        // Nobody learns from the sentence whether it is somebody else's.
        expect((await ask(acme, tool, { conversation, ...args })).error).toBe(absent?.replace('nowhere', conversation))
      }
    for (const rest of ['', '?at=0', '/cycles/1', '/messages/secret'])
      await expect(acme.readResource({ uri: uriOf('globex-1', rest) })).rejects.toMatchObject({ code: -32_602 })
    expect((await ask(acme, 'conversation_at', {})).error).toContain('conversation')
  })

  it('no scope means the conversations that name none', async () => {
    const none = await served({ boundTo: { scope: null } })
    expect((await none.listResources()).resources.map(({ name }) => name)).toEqual([ODD])
    expect((await ask(none, 'memory_read', { query: 'lighthouse' })).data['hits']).toEqual([])
    expect((await ask(none, 'conversation_at', { conversation: 'acme-1' })).error).toContain('there is no conversation')
  })

  it('a conversation may begin behind the server', async () => {
    const client = await served({ boundTo: { conversationId: 'later' } })
    expect((await ask(client, 'conversation_at')).error).toContain('there is no conversation "later"')
    expect((await client.listResources()).resources).toEqual([])
    await ledger.append('later', talk(2))
    expect((await ask(client, 'conversation_at')).data['messagesInContext']).toBe(2)
  })

  it('is checked when it is made', () => {
    const made = (options: Served): unknown =>
      createMcp({ ledger, boundTo: { scope: null }, version: '1', onProblem: () => undefined, ...options })
    expect(() => made({ boundTo: { conversationId: '' } })).toThrow(/conversationId/u)
    expect(() => made({ boundTo: { scope: 'a\0b' } })).toThrow(/scope/u)
    expect(() => made({ limits: { answerCharacters: 10 } })).toThrow(/answerCharacters/u)
    expect(() => made({ limits: { textCharacters: Number.NaN } })).toThrow(/textCharacters/u)
    expect(() => made({ limits: JSON.parse('{"answerCharacter":9000}') })).toThrow(/answerCharacter/u)
  })

  it('may be without the tools that record something', async () => {
    const client = await served({ readOnly: true })
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'memory_read',
      'conversation_at',
      'explain_compaction',
      'what_was_forgotten',
      'check_rules',
      'recall',
    ])
    await expect(ask(client, 'pin_message', { messageId: 'm39', operationId: 'x' })).rejects.toThrow(/pin_message/u)
  })
})

describe('the rules of a conversation', () => {
  it('are quoted with the calls that broke them', async () => {
    await ledger.append('rules', [
      { id: 'rule', role: 'user', content: 'Never push to the main branch. Never run `npm publish`.' },
      {
        id: 'push',
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'p1', type: 'function', function: { name: 'bash', arguments: '{"command":"git push origin main"}' } },
        ],
      },
      { id: 'pushed', role: 'tool', tool_call_id: 'p1', content: 'done' },
    ])
    const client = await served({ boundTo: { conversationId: 'rules' } })
    const { data } = await ask(client, 'check_rules')
    expect(data).toMatchObject({
      totals: { rules: 2, judged: 2, broken: 1, breaks: 1, withoutRule: 0 },
      rules: [
        {
          text: 'Never push to the main branch.',
          verdict: 'broken',
          breaks: [{ messageId: 'push', tool: 'bash', words: 'git push origin main', inContext: 'there' }],
        },
        { text: 'Never run `npm publish`.', verdict: 'kept', breaks: [] },
      ],
    })
    expect(String(data['quotation'])).toContain('never instructions')
    expect((await ask(client, 'check_rules', { verdicts: ['unjudged'] })).data['rules']).toEqual([])
  })
})

describe('what is recorded', () => {
  it('a pin is recorded once for its operation, by whichever server', async () => {
    await ledger.append('pins', talk(3))
    const boundTo = { conversationId: 'pins' }
    const pin = { messageId: 'm1', operationId: 'pin the berth' }
    const [first, second] = [await served({ boundTo }), await served({ boundTo })]
    const answers = await Promise.all([ask(first, 'pin_message', pin), ask(first, 'pin_message', pin)])
    expect(answers.map(({ data }) => data)).toEqual([
      { conversationId: 'pins', messageId: 'm1', pinned: true },
      { conversationId: 'pins', messageId: 'm1', pinned: true },
    ])
    await ledger.conversation('pins').unpin('m1')
    // Who unpinned it since is not overruled by a call that was made again.
    for (const client of [first, second]) expect((await ask(client, 'pin_message', pin)).error).toBeUndefined()
    expect((await ledger.messages('pins')).messages.map(({ pinned }) => pinned)).toEqual([false, false, false])
    for (const client of [first, second])
      expect((await ask(client, 'pin_message', { ...pin, messageId: 'm2' })).error).toMatch(/operationId.*was used/u)
  })

  it('an undo is done once for its operation, though another cycle has the number since', async () => {
    const boundTo = { conversationId: 'undone' }
    await ledger.append('undone', talk(24))
    await ledger.compact('undone', { force: true })
    const client = await served({ boundTo })
    const undo = { cycle: 1, operationId: 'undo' }
    // Two servers are asked at once, as where a client has lost its connection.
    const [{ data, error }, otherClient] = await Promise.all([
      ask(client, 'undo_compaction', undo),
      ask(await served({ boundTo }), 'undo_compaction', undo),
    ])
    expect([error, data['cycles']]).toEqual([undefined, [1]])
    expect(otherClient).toEqual({ data, error, text: expect.any(String) })
    await ledger.compact('undone', { force: true })
    const { revision } = await ledger.context('undone')
    expect((await ask(client, 'undo_compaction', undo)).data).toEqual(data)
    expect((await ask(await served({ boundTo }), 'undo_compaction', undo)).data).toEqual(data)
    expect((await ledger.context('undone')).revision).toBe(revision)
  })

  it('a context at its limit is compacted, and one with room is not', async () => {
    await ledger.append('long', talk(30), { policy: { modelMaxTokens: 100_000 } })
    const client = await served({ boundTo: { conversationId: 'long' } })
    const { data, error } = await ask(client, 'compact_context', { operationId: '1' })
    expect(error).toBeUndefined()
    expect(Number(data['messagesCompressed'])).toBeGreaterThan(0)
    expect(Number(data['tokensAfter'])).toBeLessThan(Number(data['tokensBefore']))
    expect((await ask(client, 'compact_context', { operationId: '1' })).data).toEqual(data)
    expect((await ask(client, 'compact_context', { operationId: '2' })).data['messagesCompressed']).toBe(0)
  })

  longTest('nothing, where the ledger is closed', async () => {
    const otherClient = await openLedger({ store: 'memory' })
    const client = await served({ ledger: otherClient })
    await otherClient.close()
    expect((await ask(client, 'pin_message', { messageId: 'm1', operationId: '1' })).error).toBe('the ledger is closed')
  })
})

describe('how much answers hold', () => {
  const HUGE = '\u0001"\\🛶'.repeat(12_000)
  let client: Client
  const limits = { textCharacters: 1_000, answerCharacters: 5_000, resourceCharacters: 20_000 }
  beforeAll(async () => {
    await ledger.append(
      'huge',
      [
        { id: 'first', role: 'user', content: HUGE },
        calling(
          'calls',
          Array.from({ length: 40 }, (_none, at) => `c${String(at)}`),
          JSON.stringify({ text: HUGE.slice(0, 9_000) }),
        ),
        ...Array.from({ length: 40 }, (_none, at) => answering(`r${String(at)}`, `c${String(at)}`, HUGE.slice(0, 900))),
      ],
      { policy: { modelMaxTokens: 2_000_000 } },
    )
    client = await served({ boundTo: { conversationId: 'huge' }, limits })
  })

  it('is bounded, and whoever reads on comes to the end', async () => {
    let from: number | undefined = 0
    let lookups = 0
    while (from !== undefined) {
      const { data, text, error } = await ask(client, 'conversation_at', { from })
      expect(error).toBeUndefined()
      expect(text.length).toBeLessThanOrEqual(limits.answerCharacters)
      const { messages, next } = z.object({ messages: z.array(z.unknown()), next: z.number().optional() }).parse(data)
      lookups += messages.length
      expect(next === undefined || next > from).toBe(true)
      from = next
    }
    expect(lookups).toBe(42)
  })

  it.each([
    ['memory_read', { query: 'tool_c1 🛶', limit: 50 }],
    ['explain_compaction', {}],
    ['what_was_forgotten', {}],
    ['check_rules', {}],
    ['recall', { tokens: 1_000_000 }],
  ])('%s is bounded', async (name, args) => {
    const { text, error } = await ask(client, name, args)
    expect([error, text.length <= limits.answerCharacters]).toEqual([undefined, true])
  })

  it('a resource is bounded, and says what it leaves out', async () => {
    const first = await read(client, uriOf('huge', '/messages/first'))
    expect(JSON.stringify(first).length).toBeLessThanOrEqual(limits.resourceCharacters)
    expect(first).toMatchObject({ message: { role: 'user', charactersLeftOut: expect.any(Number) } })
    expect(JSON.stringify(await read(client, uriOf('huge'))).length).toBeLessThanOrEqual(limits.resourceCharacters)
  })

  it('a message is whole where a host allows for it', async () => {
    const otherClient = await served({ boundTo: { conversationId: 'huge' }, limits: { resourceCharacters: 4_000_000 } })
    expect(await read(otherClient, uriOf('huge', '/messages/first'))).toMatchObject({ message: { content: HUGE } })
  })
})

describe('clients beside each other', () => {
  it('a call that is taken back stops nobody', async () => {
    const [client, otherClient] = [await served(), await served()]
    const leaving = new AbortController()
    const abandonedCall = client.callTool({ name: 'what_was_forgotten', arguments: {} }, { signal: leaving.signal })
    const parallelCall = ask(otherClient, 'memory_read', { query: 'berth' })
    leaving.abort()
    await expect(abandonedCall).rejects.toThrow(/abort/iu)
    expect((await parallelCall).error).toBeUndefined()
    expect((await ask(client, 'memory_read', { query: 'berth' })).error).toBeUndefined()
  })

  it('many calls at once are each answered', async () => {
    const clients = await Promise.all([served(), served({ boundTo: { scope: 'acme' } })])
    const answers = await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: 10 }, () => ask(client, 'memory_read', { query: 'lighthouse' })),
      ),
    )
    expect(answers.map(({ text }) => text.includes('acme'))).toEqual([
      ...Array.from({ length: 10 }, () => false),
      ...Array.from({ length: 10 }, () => true),
    ])
  })

  it('a body that is too large is refused before it is read', async () => {
    const mcp = createMcp({
      ledger,
      boundTo: { scope: null },
      version: '1',
      maxBodyBytes: 10_000,
      onProblem: () => undefined,
    })
    const answer = await mcp.fetch(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { x: 'y'.repeat(20_000) } }),
      }),
    )
    expect(answer.status).toBe(413)
    const usual = createMcp({ ledger, boundTo: { scope: null }, version: '1', onProblem: () => undefined })
    const dense = await usual.fetch(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'ping',
          params: { x: Array.from({ length: 70_000 }, () => 1) },
        }),
      }),
    )
    expect([dense.status, await dense.json()]).toEqual([
      413,
      expect.objectContaining({ error: { code: -32_600, message: 'the request has more than 65536 JSON values' } }),
    ])
    for (const body of ['', '{', '[]', 'null', '{"jsonrpc":"2.0"}', '\ud800']) {
      const { status } = await mcp.fetch(
        new Request('http://127.0.0.1/mcp', {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body,
        }),
      )
      expect([body, status >= 400 && status < 500]).toEqual([body, true])
    }
  })
})

it('nothing of all that was a mistake of ours', () => {
  expect(problems).toEqual([])
})
