/** `--recall`: after a compaction by the agent's program, its requests have a note of what the context lost. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { isRecord } from '../../src/lib/is-record.js'
import { chat, messages, responses } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

let upstream: UpstreamStub
let ledger: Ledger
let recall: ProxyServer
let plain: ProxyServer
const problems: unknown[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
  const common = { ledger, upstream: upstream.url, port: 0, onProblem: (problem: unknown) => problems.push(problem) }
  recall = await startProxy({ ...common, recall: true })
  plain = await startProxy(common)
})
afterAll(async () => {
  await recall.close(100)
  await plain.close(100)
  await upstream.close()
  await ledger.close()
})
beforeEach(() => {
  problems.length = 0
  upstream.calls.length = 0
})

const RULE = 'Never touch the production database of the harbour.'
const SUMMARY =
  'The user asked about the crane at quay 7; its bolt is loose, and the next step is to write to the owner.'

/** The three APIs: a message of a role, the list of a request body, and an answer of the model. */
const APIS = {
  messages: {
    path: '/v1/messages',
    list: 'messages',
    message: (role: string, text: string) => ({ role, content: [{ type: 'text', text }] }),
    tools: [{ name: 'Bash', description: 'runs', input_schema: { type: 'object' } }],
    answer: (text: string) => messages.events({ text }),
    more: { max_tokens: 100, stream: true, system: [{ type: 'text', text: 'You help at the harbour.' }] },
    note: (text: unknown) => ({ role: 'user', content: text }),
  },
  'chat completions': {
    path: '/v1/chat/completions',
    list: 'messages',
    message: (role: string, text: string) => ({ role, content: text }),
    tools: [{ type: 'function', function: { name: 'Bash', parameters: { type: 'object' } } }],
    answer: (text: string) => chat.events({ text }),
    more: { stream: true },
    note: (text: unknown) => ({ role: 'user', content: text }),
  },
  responses: {
    path: '/v1/responses',
    list: 'input',
    message: (role: string, text: string) => ({
      type: 'message',
      role,
      content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
    }),
    tools: [{ type: 'function', name: 'Bash', parameters: { type: 'object' } }],
    answer: (text: string) => responses.events({ text }),
    more: { stream: true, store: false },
    note: (text: unknown) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
  },
} as const

function agentOf(name: keyof typeof APIS, proxy: ProxyServer, id: string) {
  const api = APIS[name]
  return {
    ...api,
    /** Sends a list. Returns the list that upstream got. */
    ask: async (list: readonly object[], answer: string, more: object = {}): Promise<unknown> => {
      upstream.answerWith({ chunks: api.answer(answer) })
      const response = await fetch(`${proxy.url}${api.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': id },
        body: JSON.stringify({ model: 'stub-1', tools: api.tools, ...api.more, [api.list]: list, ...more }),
      })
      await response.text()
      await proxy.settled()
      const body = upstream.calls.at(-1)?.body
      return isRecord(body) ? body[api.list] : undefined
    },
  }
}

const names = ['messages', 'chat completions', 'responses'] as const

describe.each(names)('%s', (name) => {
  it('gets the note at one place after a compaction, and none before', async () => {
    const id = `recall-${name.replace(' ', '-')}`
    const { ask, message, note } = agentOf(name, recall, id)
    const before = [message('user', `${RULE} Look at the crane.`)]
    expect(await ask(before, 'Its bolt is loose.')).toEqual(before)
    const question = [...before, message('assistant', 'Its bolt is loose.'), message('user', 'Summarize all of it.')]
    expect(await ask(question, SUMMARY)).toEqual(question)
    const compacted = [message('user', `Going on from a summary: ${SUMMARY}`), message('user', 'Write to the owner.')]
    const { text, tokens } = await firstNote(id, async () => await ask(compacted, 'I write.'), compacted, note)
    expect(text).toContain(RULE)
    const later = [...compacted, message('assistant', 'I write.'), message('user', 'Go on.')]
    expect(await ask(later, 'Done.')).toEqual([...compacted, note(text), ...later.slice(2)])
    // A shorter list is of an earlier point.
    expect(await ask(compacted.slice(0, 1), 'What?')).toEqual(compacted.slice(0, 1))
    // The ledger has it as a mark of answers, not as a message.
    const log = []
    for await (const event of ledger.log(id)) log.push(event)
    const appended = log.flatMap(({ type, data }) => (type === 'MessageAppended' ? [data] : []))
    expect(appended.filter(({ content }) => JSON.stringify(content).includes('Recalled from the log'))).toEqual([])
    const marked = appended.filter(({ attributes }) => attributes?.['recallNote'] !== undefined)
    expect(marked.map(({ role, content }) => [role, JSON.stringify(content)])).toEqual([
      ['assistant', expect.stringContaining('I write.')],
      ['assistant', expect.stringContaining('Done.')],
    ])
    const revision = Number(Object(marked[0]?.attributes?.['recallNote']).revision)
    expect(marked[0]?.attributes?.['recallNote']).toEqual({ revision, tokens })
    expect((await ledger.recall(id, { at: revision })).text).toBe(text)
    expect((await ledger.admin.verify(id)).problems).toEqual([])
    expect(problems).toEqual([])
  })
})

/** The note in the first list after a compaction. */
async function firstNote(
  id: string,
  ask: () => Promise<unknown>,
  list: readonly object[],
  note: (text: unknown) => object,
): Promise<{ text: string; tokens: number }> {
  expect(await ask()).toEqual([...list, note(expect.stringContaining('Recalled from the log'))])
  let revision = 0
  for await (const event of ledger.log(id)) if (event.type === 'CompactionObserved') ({ revision } = event)
  const recorded = []
  for await (const { data, type } of ledger.log(id, { from: revision }))
    if (type === 'MessageAppended') recorded.push(data)
  const mark: unknown = recorded.findLast(({ attributes }) => attributes?.['recallNote'] !== undefined)?.attributes
  const at = Number(Object(Object(mark).recallNote).revision)
  return await ledger.recall(id, { at })
}

it('is before instructions at the end of the list of Claude Code', async () => {
  const { ask, message, note } = agentOf('messages', recall, 'recall-directive')
  const before = [message('user', `${RULE} Look at the crane.`)]
  await ask(before, 'Its bolt is loose.')
  await ask([...before, message('assistant', 'Its bolt is loose.'), message('user', 'Summarize.')], SUMMARY)
  const directive = { role: 'system', content: 'Agents: none.' }
  const compacted = [message('user', `Going on from a summary: ${SUMMARY}`), message('user', 'Write.')]
  expect(await ask([...compacted, directive], 'I write.')).toEqual([
    ...compacted,
    note(expect.stringContaining(RULE)),
    directive,
  ])
})

it('is counted as a note by `stats --recovery`', async () => {
  const withNote = (await ledger.forgotten('recall-directive')).totals.all.recovery.withNote.compactions
  expect(withNote).toBe(1)
})

it('is not added without the option', async () => {
  const { ask, message } = agentOf('messages', plain, 'no-recall')
  const before = [message('user', `${RULE} Look at the crane.`)]
  await ask(before, 'Its bolt is loose.')
  await ask([...before, message('assistant', 'Its bolt is loose.'), message('user', 'Summarize.')], SUMMARY)
  const compacted = [message('user', `Going on from a summary: ${SUMMARY}`), message('user', 'Write.')]
  expect(await ask(compacted, 'I write.')).toEqual(compacted)
  expect((await ledger.recall('no-recall')).text).toContain(RULE)
})
