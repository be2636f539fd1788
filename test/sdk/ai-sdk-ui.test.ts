/** Messages of the user interface of the real package `ai`, saved in a ledger and loaded again. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { convertToModelMessages, validateUIMessages, type UIMessage } from 'ai'
import fc from 'fast-check'
import { openLedger, type Ledger } from '../../src/index.js'
import { loadUIMessages, saveUIMessages } from '../../src/interfaces/sdk/ai-sdk/index.js'
import { repeated } from '../support/length.js'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
})
afterAll(() => ledger.close())

/** A question, and an answer in two steps with a tool, sources and data. */
const TALK: UIMessage[] = [
  {
    id: 'question',
    role: 'user',
    parts: [
      { type: 'text', text: 'Where is the Alma?' },
      { type: 'file', mediaType: 'image/png', filename: 'quay.png', url: 'data:image/png;base64,AAEC' },
    ],
  },
  {
    id: 'answer',
    role: 'assistant',
    metadata: { model: 'm-1', seconds: 2.5 },
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'I ask.', state: 'done', providerMetadata: { anthropic: { signature: 's' } } },
      { type: 'text', text: 'I look it up.', state: 'done' },
      {
        type: 'tool-berth',
        toolCallId: 'c1',
        state: 'output-available',
        input: { ship: 'Alma' },
        output: { berth: 4 },
        callProviderMetadata: { google: { thought: 't' } },
      },
      {
        type: 'dynamic-tool',
        toolName: 'weather',
        toolCallId: 'c2',
        state: 'output-error',
        input: {},
        errorText: 'No.',
      },
      { type: 'step-start' },
      { type: 'source-url', sourceId: 's1', url: 'https://example.org/berths', title: 'Berths' },
      { type: 'data-map', id: 'd1', data: { at: [1, 2] } },
      { type: 'text', text: 'At berth 4.', state: 'done' },
    ],
  },
]

it('a model receives the steps, calls and results of saved messages, and a page gets them back', async () => {
  await saveUIMessages(ledger, 'talk', TALK)
  expect(await loadUIMessages(ledger, 'talk')).toEqual(TALK)
  await validateUIMessages({ messages: await loadUIMessages(ledger, 'talk') })
  const { messages } = await ledger.conversation('talk').context({ api: 'aiSdk' })
  const expected = await convertToModelMessages(TALK.map((message) => message))
  const facts = (list: readonly { readonly role: string; readonly content: unknown }[]): unknown =>
    list.map(({ role, content }) => [
      role,
      Array.isArray(content)
        ? content.map((part: { type: string; toolCallId?: string }) => [part.type, part.toolCallId])
        : content,
    ])
  expect(facts(messages)).toEqual(facts(expected))
  expect((await ledger.admin.verify('talk')).problems).toEqual([])
})

it('loads conversations that were recorded otherwise, and none as no messages', async () => {
  expect(await loadUIMessages(ledger, 'nobody')).toEqual([])
  await ledger.append('other', [
    { role: 'user', content: 'Where?', id: 'u' },
    {
      role: 'assistant',
      content: 'I ask.',
      id: 'a',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'berth', arguments: '{"n":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'four' },
    { role: 'assistant', content: 'Four.' },
  ])
  const loaded = await loadUIMessages(ledger, 'other')
  await validateUIMessages({ messages: loaded })
  expect(loaded).toEqual([
    { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Where?' }] },
    {
      id: 'a',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'text', text: 'I ask.' },
        {
          type: 'dynamic-tool',
          toolName: 'berth',
          toolCallId: 'c',
          state: 'output-available',
          input: { n: 1 },
          output: 'four',
        },
        { type: 'step-start' },
        { type: 'text', text: 'Four.' },
      ],
    },
  ])
})

it('an answer that grows is appended, a changed one replaced; a saved list without ids is an error', async () => {
  const [question, answer] = TALK
  if (question === undefined || answer === undefined) throw new Error('the talk is empty')
  const types = async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {}
    for await (const { type } of ledger.log('grows')) counts[type] = (counts[type] ?? 0) + 1
    return counts
  }
  const call = { type: 'tool-berth', toolCallId: 'c1', state: 'input-available', input: {} } as const
  await saveUIMessages(ledger, 'grows', [question, { ...answer, parts: [call] }])
  await saveUIMessages(ledger, 'grows', [
    question,
    { ...answer, parts: [{ ...call, state: 'output-available', output: 1 }] },
  ])
  expect(await types()).not.toHaveProperty('MessagesWithdrawn')
  const regenerated = [question, { ...answer, id: 'answer-2' }]
  await saveUIMessages(ledger, 'grows', regenerated)
  expect(await loadUIMessages(ledger, 'grows')).toEqual(regenerated)
  expect(await types()).toMatchObject({ MessagesWithdrawn: 1 })
  // @ts-expect-error no id
  await expect(saveUIMessages(ledger, 'bad', [{ role: 'user', parts: [] }])).rejects.toThrow('messages.0.id')
  await expect(saveUIMessages(ledger, 'bad', [question, question])).rejects.toThrow('use the id "question" twice')
})

const json = fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)))
const words = fc.constantFrom('', 'Where?', 'At berth 4.', '5', 'null', ' ', '{"a":1}')
const metadata = fc.constantFrom(undefined, { provider: { signature: 'x' } })
const withMetadata = <T extends object>(part: T, value: object | undefined): T =>
  value === undefined ? part : { ...part, providerMetadata: value }
const text = fc
  .tuple(
    fc.constantFrom('text' as const, 'reasoning' as const),
    words,
    fc.constantFrom('done' as const, 'streaming' as const),
    metadata,
  )
  .map(([type, value, state, provider]) => withMetadata({ type, text: value, state }, provider))
const file = fc
  .tuple(
    fc.constantFrom('image/png', 'image', 'audio/wav', 'application/pdf', 'text/plain'),
    fc.constantFrom(
      'data:image/png;base64,AAEC',
      'data:text/plain,hi',
      'https://example.org',
      'https://example.org/a b',
      'no address',
    ),
    fc.constantFrom(undefined, 'a.png'),
    metadata,
  )
  .map(([mediaType, url, filename, provider]) =>
    withMetadata({ type: 'file' as const, mediaType, url, ...(filename === undefined ? {} : { filename }) }, provider),
  )
const tool = fc
  .tuple(
    fc.constantFrom({ type: 'tool-berth' }, { type: 'dynamic-tool', toolName: 'weather' }),
    fc.constantFrom('c1', 'c2', 'c3'),
    json,
    json,
    fc.constantFrom(
      'input-streaming',
      'input-available',
      'approval-requested',
      'output-available',
      'output-error',
      'output-denied',
      'preliminary',
      'by the provider',
    ),
  )
  .map(([name, toolCallId, input, output, state]) => {
    const part = { ...name, toolCallId, input }
    if (state === 'output-available') return { ...part, state, output }
    if (state === 'preliminary')
      return { ...part, state: 'output-available', output, preliminary: true, resultProviderMetadata: { p: { a: 1 } } }
    if (state === 'by the provider') return { ...part, state: 'output-available', output, providerExecuted: true }
    if (state === 'output-error') return { ...part, state, errorText: 'No.' }
    if (state === 'output-denied') return { ...part, state, approval: { id: 'p', approved: false, reason: 'no' } }
    if (state === 'approval-requested') return { ...part, state, approval: { id: 'p' } }
    return { ...part, state }
  })
const otherPart = fc.constantFrom(
  { type: 'step-start' },
  { type: 'data-map', data: { at: [1, 2] } },
  { type: 'source-document', sourceId: 's', mediaType: 'text/plain', title: 'T' },
)
const message = fc.oneof(
  fc.record({ role: fc.constant('user'), parts: fc.array(fc.oneof(text, file, otherPart), { maxLength: 3 }) }),
  fc.record({ role: fc.constant('system'), parts: fc.array(text, { maxLength: 2 }) }),
  fc.record({
    role: fc.constant('assistant'),
    metadata: json,
    parts: fc.array(fc.oneof(text, file, tool, otherPart), { maxLength: 6 }),
  }),
)
const list = fc
  .array(message, { minLength: 1, maxLength: 4 })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- lists as a browser sends them
  .map((all) => all.map((each, at) => ({ ...each, id: `m${String(at)}` })) as unknown as UIMessage[])

it('law: what is loaded is what was saved last, whatever its parts; saving it again records nothing', async () => {
  let number = 0
  await fc.assert(
    fc.asyncProperty(list, list, async (first, second) => {
      number += 1
      const id = `law-${String(number)}`
      for (const messages of [first, second, first.slice(0, 1), first]) {
        await saveUIMessages(ledger, id, messages)
        expect(await loadUIMessages(ledger, id)).toEqual(messages)
        const { revision } = await ledger.messages(id)
        await saveUIMessages(ledger, id, messages)
        expect((await ledger.messages(id)).revision).toBe(revision)
      }
      await ledger.conversation(id).context({ api: 'aiSdk' })
    }),
    { numRuns: repeated(12, 4) },
  )
})

it('law: a save reads the events since the last one and what changed, however long the conversation is', async () => {
  /** A process with its own state of the saved list. It counts the events that it reads. */
  const openProcess = () => {
    const process = {
      read: 0,
      append: ledger.append.bind(ledger),
      amend: ledger.amend.bind(ledger),
      async *log(...given: Parameters<Ledger['log']>) {
        for await (const event of ledger.log(...given)) {
          process.read += 1
          yield event
        }
      },
    }
    return process
  }
  const step = fc.record({
    process: fc.constantFrom(0, 0, 1),
    change: fc.constantFrom('longer', 'longer', 'same', 'keys', 'edited', 'shorter', 'recorded otherwise'),
    at: fc.nat(30),
  })
  let number = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      number += 1
      const id = `bounded-${String(number)}`
      const processes = [openProcess(), openProcess()]
      const savedAt = [-1, -1]
      let messages: UIMessage[] = TALK
      for (const [index, { process, change, at }] of steps.entries()) {
        const from = at % (messages.length + 1)
        let changed = 0
        if (change === 'longer')
          messages = [...messages, ...TALK.map((each) => ({ ...each, id: `${each.id}-${String(index)}` }))]
        if (change === 'keys')
          messages = messages.map(({ id: each, parts, ...fields }) => ({ parts, ...fields, id: each }))
        if (change === 'shorter') messages = messages.slice(0, from)
        if (change === 'edited' && messages[from] !== undefined) {
          messages = messages.with(from, { ...messages[from], parts: [{ type: 'text', text: String(index) }] })
          changed = 1
        }
        if (change === 'recorded otherwise')
          await ledger.append(id, { role: 'user', content: `By hand ${String(index)}` })
        const reader = processes[process]
        if (reader === undefined) throw new Error('no such process')
        const before = await ledger.messages(id).then(
          ({ revision }) => revision,
          () => -1,
        )
        reader.read = 0
        await saveUIMessages(reader, id, messages)
        const since = before - (savedAt[process] ?? 0)
        expect(reader.read).toBeLessThanOrEqual(since + 1 + changed)
        savedAt[process] = before
        const loaded = await loadUIMessages(ledger, id)
        expect(loaded.filter(({ parts }) => !JSON.stringify(parts).includes('By hand'))).toEqual(messages)
      }
    }),
    { numRuns: repeated(10, 3) },
  )
})
