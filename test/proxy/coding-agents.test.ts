/**
 * The requests that Claude Code and Codex send, as they were seen of Claude Code 2.1.197 and 2.1.330 and of Codex 0.169:
 * directives in the middle of the list, calls beside the conversation, and compactions of their own.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { connect } from 'node:net'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { strictMessages } from '../support/strict-messages.js'
import { strictResponses } from '../support/strict-responses.js'
import { messages, responses, type ScriptedAnswer } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

let upstream: UpstreamStub
let ledger: Ledger
let observe: ProxyServer
let compact: ProxyServer
const problems: unknown[] = []

const common = () => ({
  ledger,
  headWaitMs: 5_000,
  upstream: upstream.url,
  port: 0,
  policy: { modelMaxTokens: 16_000 },
  onProblem: (problem: unknown) => problems.push(problem),
})

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
  observe = await startProxy(common())
  compact = await startProxy({ ...common(), mode: 'compact' })
})
afterAll(async () => {
  await observe.close(100)
  await compact.close(100)
  await upstream.close()
  await ledger.close()
})
beforeEach(() => {
  problems.length = 0
  upstream.calls.length = 0
})

type Fields = Readonly<Record<string, unknown>>

const SUMMARY = 'The harbour master wants the berths listed by length; two of the three boats are listed by now.'
const TOOLS = [{ name: 'Bash', description: 'runs', input_schema: { type: 'object' } }]

/** What the ledger has of a conversation, a line a fact. */
async function facts(id: string): Promise<string[]> {
  const lines: string[] = []
  for await (const { type, data } of ledger.log(id))
    if (type === 'MessageAppended') lines.push(`${data.role}: ${textOf(data.content)}`)
    else if (type === 'MessagesWithdrawn') lines.push(`withdrawn ${String(data.messages.length)}`)
    else if (type === 'CompactionObserved')
      lines.push(`compacted ${String(data.covered?.messageCount)} (${data.summary.kind})`)
    else if (type === 'ContributionEdited') lines.push('edited')
  return lines
}

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : (Array.isArray(content) ? content : [])
        .map((part: Fields) => (typeof part['text'] === 'string' ? part['text'] : `[${String(part['type'])}]`))
        .join(' ')

async function live(id: string): Promise<string[]> {
  return (await ledger.context(id)).messages.map(({ role, content }) => `${role}: ${textOf(content)}`)
}

async function isSound(id: string): Promise<void> {
  expect((await ledger.admin.verify(id)).problems).toEqual([])
  expect(problems).toEqual([])
}

describe('Claude Code', () => {
  const call = (id: string, command: string) => ({ id, name: 'Bash', input: { command } })
  const result = (id: string, content: string) => ({ type: 'tool_result', tool_use_id: id, content, is_error: false })
  const text = (said: string) => ({ type: 'text', text: said })
  const user = (...content: object[]) => ({ role: 'user', content })
  const assistant = (answer: ScriptedAnswer) => ({ role: 'assistant', content: messages.blocks(answer) })
  const directive = (content: string | readonly object[]) => ({
    role: 'system',
    content,
    output_config: { effort: 'medium' },
  })

  /** A session: each run of the program writes another header into its instructions. */
  function session(proxy: ProxyServer | 'begun anew', sessionId: string) {
    let run = 0
    let instructions = 'You help at the harbour.'
    return {
      id: `proxy/claude-code/${sessionId}`,
      begin: (told = instructions): void => {
        run += 1
        instructions = told
      },
      ask: async (list: readonly object[], answer: ScriptedAnswer, more: object = {}): Promise<string | null> => {
        upstream.answerWith({ chunks: messages.events(answer) })
        const system = [
          text(`x-anthropic-billing-header: cc_version=2.1.330.${String(run)};`),
          text('You are an agent.'),
          text(instructions),
        ]
        const restartedProxy = proxy === 'begun anew' ? await startProxy(common()) : proxy
        const response = await fetch(`${restartedProxy.url}/v1/messages?beta=true`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'user-agent': 'claude-cli/2.1.330 (external, sdk-cli)',
            'x-claude-code-session-id': sessionId,
          },
          body: JSON.stringify({
            model: 'claude-stub-1',
            max_tokens: 100,
            stream: true,
            system,
            tools: TOOLS,
            messages: list,
            ...more,
          }),
        })
        await response.text()
        await restartedProxy.settled()
        if (restartedProxy !== proxy) await restartedProxy.close()
        return response.headers.get('x-context-ledger')
      },
    }
  }

  it.each([
    ['one proxy', 'one'],
    ['a proxy that starts anew before each request', 'begun anew'],
  ] as const)(
    'a compaction asked for behind the last result is one, and the answer stays (%s)',
    async (_name, which) => {
      const { id, begin, ask } = session(which === 'one' ? observe : which, `own-compaction-${which.slice(0, 3)}`)
      const first = user(text('List the boats.'))
      const list: object[] = [first, directive('Agents that there are: none.')]
      expect(await ask([first], { text: '{"title": "Boats"}' }, { tools: [] })).toBe('side call; not recorded')
      await ask(list, { thinking: 'a shell will do', calls: [call('c1', 'ls')] })
      list.push(assistant({ thinking: 'a shell will do', calls: [call('c1', 'ls')] }), user(result('c1', 'Ida, Olga')))
      await ask(list, { text: 'Ida and Olga.' })
      begin()
      // The last answer is left out, and the question stands behind the result.
      await ask([...list.slice(0, -1), user(result('c1', 'Ida, Olga'), text('Reply with a summary, call nothing.'))], {
        text: `<analysis>all of it</analysis>\n<summary>\n${SUMMARY}\n</summary>`,
      })
      // Neither the question nor the summary is a turn, before the summary is used too.
      expect((await live(id)).slice(-2)).toEqual(['tool: Ida, Olga', 'assistant: Ida and Olga.'])
      begin()
      const compactedList = [
        user(text(`This session goes on from an earlier one.\n\nSummary:\n${SUMMARY}`)),
        directive([]),
        assistant({ text: 'Ida and Olga.' }),
        user(text('And the third one?')),
        directive('Agents that there are: none.'),
      ]
      await ask(compactedList, { text: 'Vera.' })
      expect(await facts(id)).toEqual([
        'system: x-anthropic-billing-header: cc_version=2.1.330.0; You are an agent. You help at the harbour.',
        'user: List the boats.',
        'system: Agents that there are: none.',
        'assistant: [thinking]',
        'tool: Ida, Olga',
        'assistant: Ida and Olga.',
        'user: Reply with a summary, call nothing.',
        `assistant: <analysis>all of it</analysis>\n<summary>\n${SUMMARY}\n</summary>`,
        'withdrawn 2',
        'compacted 4 (text)',
        'user: And the third one?',
        'system: Agents that there are: none.',
        'assistant: Vera.',
      ])
      expect((await live(id)).slice(1)).toEqual([
        `user: This session goes on from an earlier one.\n\nSummary:\n${SUMMARY}`,
        'system: ',
        'assistant: Ida and Olga.',
        'user: And the third one?',
        'system: Agents that there are: none.',
        'assistant: Vera.',
      ])
      expect((await ledger.forgotten(id)).conversations).toBe(1)
      await isSound(id)
    },
  )

  it.each(['observe', 'compact'] as const)(
    'what is asked and answered like a summary is none where the list goes on from it, and is not lost (%s)',
    async (mode) => {
      const { id, ask } = session(mode === 'observe' ? observe : compact, `a-turn-${mode}`)
      const wrapped = { text: `<summary>${SUMMARY}</summary>` }
      const list: object[] = [user(text('List the boats.'))]
      await ask(list, { text: 'Ida and Olga.' })
      list.push(assistant({ text: 'Ida and Olga.' }), user(text('Put it between <summary> and </summary>.')))
      await ask(list, wrapped)
      expect(await live(id)).toHaveLength(3)
      expect((await facts(id)).at(-2)).toBe(`assistant: ${wrapped.text}`)
      list.push(assistant(wrapped), user(text('Thanks.')))
      await ask(list, { text: 'Bye.' })
      expect((await live(id)).slice(1)).toEqual([
        'user: List the boats.',
        'assistant: Ida and Olga.',
        'user: Put it between <summary> and </summary>.',
        `assistant: ${wrapped.text}`,
        'user: Thanks.',
        'assistant: Bye.',
      ])
      await isSound(id)
    },
  )

  const QUESTION = text('Reply with a summary in <summary>, and call nothing.')
  const summed = (more = '') => ({ text: `<analysis>all of it</analysis>\n<summary>\n${SUMMARY}${more}\n</summary>` })

  it.each(['observe', 'compact'] as const)(
    'a compaction asked for while the last calls run takes none of them back (%s)',
    async (mode) => {
      const { id, ask } = session(mode === 'observe' ? observe : compact, `while-calls-run-${mode}`)
      const second = { text: 'I look further.', calls: [call('c2', 'ls -l')] }
      const list: object[] = [user(text('List the boats.'))]
      await ask(list, { calls: [call('c1', 'ls')] })
      list.push(assistant({ calls: [call('c1', 'ls')] }))
      await ask([...list, user(result('c1', 'Ida'))], second)
      await ask([...list, user(result('c1', 'Ida'), QUESTION)], summed())
      expect(strictMessages(upstream.calls.at(-1)?.body ?? {}, new Map())).toEqual([])
      const compactedList = [user(text(`Before: ${SUMMARY}`)), assistant(second), user(result('c2', 'Ida, Olga'))]
      await ask(compactedList, { text: 'Ida and Olga.' })
      expect(strictMessages(upstream.calls.at(-1)?.body ?? {}, new Map())).toEqual([])
      const all = await facts(id)
      expect(all.filter((fact) => /^(?:withdrawn|compacted|tool)|further/u.test(fact))).toEqual([
        'tool: Ida',
        'assistant: I look further.',
        'withdrawn 2',
        expect.stringMatching(/^compacted .* \(text\)$/u),
        'tool: Ida, Olga',
      ])
      await isSound(id)
    },
  )

  it.each(['observe', 'compact'] as const)(
    'the question for a summary is no turn in one message with what was answered, and none behind another compaction (%s)',
    async (mode) => {
      const { id, ask } = session(mode === 'observe' ? observe : compact, `question-${mode}`)
      await ask([user(text('List the boats.'))], { text: 'Ida and Olga.' })
      await ask([user(text('List the boats.'), QUESTION)], summed())
      expect((await live(id)).slice(1)).toEqual(['user: List the boats.', 'assistant: Ida and Olga.'])
      const answered = assistant({ text: 'Ida and Olga.' })
      await ask([user(text(`Before: ${SUMMARY}`)), answered, user(QUESTION)], summed(' Again.'))
      expect((await live(id)).at(-1)).not.toContain('Again.')
      const compactedList = [user(text(`Before: ${SUMMARY} Again.`)), user(text('And the third?'))]
      await ask(compactedList, { text: 'Vera.' })
      const all = await facts(id)
      expect(all.filter((fact) => /^(?:withdrawn|compacted)/u.test(fact))).toEqual([
        'withdrawn 2',
        expect.stringMatching(/^compacted/u),
        'withdrawn 2',
        expect.stringMatching(/^compacted/u),
      ])
      expect(all.filter((fact) => fact === 'assistant: Ida and Olga.')).toHaveLength(1)
      expect((await live(id)).slice(-2)).toEqual(['user: And the third?', 'assistant: Vera.'])
      await isSound(id)
    },
  )

  it('a list that is taken back behind a compaction is no second one', async () => {
    const { id, ask } = session(observe, 'taken-back')
    const list: object[] = [user(text('List the boats.'))]
    await ask(list, { text: 'Ida and Olga.' })
    await ask([...list, assistant({ text: 'Ida and Olga.' }), user(QUESTION)], summed())
    const compactedList = [user(text(`Before: ${SUMMARY}`)), assistant({ text: 'Ida and Olga.' })]
    await ask([...compactedList, user(text('And the third?'))], { text: 'Vera.' })
    await ask([...compactedList, user(text('And the last?'))], { text: 'Zoe.' })
    expect((await facts(id)).filter((fact) => fact.startsWith('compacted'))).toHaveLength(1)
    expect((await live(id)).slice(-2)).toEqual(['user: And the last?', 'assistant: Zoe.'])
    await isSound(id)
  })

  it('compact: marks of the cache on what left the list do not go upstream', async () => {
    const { id, ask } = session(compact, 'marks')
    const marked = (said: string) => user({ ...text(said), cache_control: { type: 'ephemeral' } })
    const list: object[] = []
    for (let turn = 1; turn <= 5; turn += 1) {
      await ask([...list, marked(`question ${String(turn)}`)], { text: `answer ${String(turn)}` })
      list.push(user(text(`question ${String(turn)}`)), assistant({ text: `answer ${String(turn)}` }))
    }
    await ask([...list, user(QUESTION)], summed())
    await ask([user(text(`Before: ${SUMMARY}`)), marked('question 6')], { text: 'answer 6' })
    const body = upstream.calls.at(-1)?.body ?? {}
    expect(strictMessages(body, new Map())).toEqual([])
    expect(JSON.stringify(body).split('cache_control').length - 1).toBe(1)
    expect(JSON.stringify(body)).toContain('question 1')
    await isSound(id)
  })

  it('of what was said twice the later one stays behind a compaction', async () => {
    const { id, ask } = session(observe, 'said-twice')
    const list: object[] = []
    for (const question of ['first', 'go on', 'second', 'go on']) {
      list.push(user(text(question)))
      const answer = { text: `answered ${question} ${String(list.length)}` }
      await ask(list, answer)
      list.push(assistant(answer))
    }
    await ask([...list, user(text('Summarize.'))], { text: SUMMARY })
    await ask([user(text(`Before: ${SUMMARY}`)), ...list.slice(-2), user(text('go on'))], { text: 'went on' })
    const [ids, kept]: [string[], unknown[]] = [[], []]
    for await (const { type, data } of ledger.log(id))
      if (type === 'MessageAppended' && data.content === 'go on') ids.push(data.messageId)
      else if (type === 'CompactionObserved')
        for (const each of data.context) if (each.kind === 'message') kept.push(each.messageId)
    expect(ids).toHaveLength(3)
    expect(kept).toContain(ids[1])
    expect(kept).not.toContain(ids[0])
    await isSound(id)
  })

  it('compact: directives keep their role and place, whatever becomes of the instructions and of the list', async () => {
    const claude = session(compact, 'compact')
    const signed = new Map<string, string>()
    let list: object[] = []
    let longest = 0
    const say = async (question: string, answer: string): Promise<void> => {
      list.push(user(text(question)), directive('Say what you do.'))
      await claude.ask(list, { calls: [call(`c-${question}`, 'cat')] })
      list.push(assistant({ calls: [call(`c-${question}`, 'cat')] }))
      list.push(user(result(`c-${question}`, `${question} `.repeat(600))))
      const state = await claude.ask(list, { text: answer })
      expect(state).toBe('recorded')
      list.push(assistant({ text: answer }))
      const body = upstream.calls.at(-1)?.body ?? {}
      expect(strictMessages(body, signed)).toEqual([])
      longest = Math.max(longest, JSON.stringify(body['messages']).length)
    }
    for (let round = 1; round <= 14; round += 1) {
      claude.begin(round % 5 === 0 ? `You help at the harbour, on day ${String(round)}.` : undefined)
      await say(`round ${String(round)}`, `done ${String(round)}`)
    }
    const directives = upstream.calls.map(({ body }) => JSON.stringify(body['messages']).split('"system"').length - 1)
    expect(Math.min(...directives)).toBeGreaterThan(0)
    expect(JSON.stringify(list).length).toBeGreaterThan(longest * 1.4)

    // The program compacts by itself, and goes on. What it left out of its list was said all the same.
    await claude.ask([...list.slice(0, -1), user(text('Summarize.'))], { text: `<summary>${SUMMARY}</summary>` })
    list = [user(text(`Before: ${SUMMARY}`)), directive([]), ...list.slice(-1)]
    await say('behind it', 'went on')
    const before = (await facts(claude.id)).length
    await say('and on', 'still there')
    const all = await facts(claude.id)
    expect(all.length - before).toBe(5)
    expect(all.filter((fact) => fact.startsWith('compacted'))).toHaveLength(1)
    expect(all.filter((fact) => fact === 'assistant: done 14')).toHaveLength(1)
    await isSound(claude.id)
  })
})

describe('Codex', () => {
  const user = (said: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text: said }] })
  const developer = (said: string) => ({ ...user(said), role: 'developer' })
  const output = (id: string, said: string) => ({ type: 'function_call_output', call_id: id, output: said })
  const SHELL = [{ type: 'function', name: 'exec_command', parameters: { type: 'object' }, strict: false }]
  const opaque = { type: 'compaction', id: 'cmp_1', encrypted_content: 'only-the-provider-reads-it' }

  const ask = async (
    thread: string,
    input: readonly object[],
    answer: ScriptedAnswer,
    kind = 'turn',
    proxy = observe,
  ) => {
    upstream.answerWith({ chunks: responses.events(answer) })
    const response = await fetch(`${proxy.url}/v1/responses`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'codex_exec/0.169.0 (Debian 12.0.0; x86_64)',
        originator: 'codex_exec',
        'session-id': thread,
        'thread-id': thread,
        'x-codex-turn-metadata': JSON.stringify({ thread_id: thread, request_kind: kind }),
      },
      body: JSON.stringify({
        model: 'gpt-stub-1',
        stream: true,
        store: false,
        tools: kind === 'turn' || input.at(-1) === TRIGGER ? SHELL : [],
        input,
      }),
    })
    await response.text()
    await proxy.settled()
    return response.headers.get('x-context-ledger')
  }
  const TRIGGER = { type: 'compaction_trigger' }

  it.each([
    ['a summary in words', user('Write a handoff.'), user(`It began with:\n${SUMMARY}`), 'text'],
    ['one that only its provider reads', TRIGGER, opaque, 'opaque'],
  ] as const)(
    'a compaction by %s is one, and the result that came with it is kept',
    async (_name, question, sum, kind) => {
      const thread = `thread-${kind}`
      const id = `proxy/codex/${thread}`
      const call = { id: 'r1', thinking: 'a shell', calls: [{ id: 'c1', name: 'exec_command', input: { cmd: 'ls' } }] }
      const list: object[] = [
        developer('You code.'),
        developer('Skills: none.'),
        user('Where am I?'),
        user('List them.'),
      ]
      await ask(thread, list, call)
      list.push(...responses.items(call), output('c1', 'Ida, Olga'))
      expect(await ask(thread, [...list, question], { id: 'r2', text: SUMMARY }, 'compaction')).toBe(
        'side call; not recorded',
      )
      const compactedList = [
        developer('You code.'),
        user('List them.'),
        developer('Skills: none.'),
        user('Where am I?'),
        sum,
      ]
      const last = { id: 'r3', text: 'Ida and Olga.' }
      await ask(thread, compactedList, last)
      await ask(thread, [...compactedList, ...responses.items(last), user('And Vera?')], {
        id: 'r4',
        text: 'Vera too.',
      })
      expect(await facts(id)).toEqual([
        'developer: You code.',
        'developer: Skills: none.',
        'user: Where am I?',
        'user: List them.',
        'assistant: [reasoning]',
        'tool: Ida, Olga',
        'withdrawn 1',
        expect.stringMatching(new RegExp(`^compacted \\d \\(${kind}\\)$`, 'u')),
        'assistant: Ida and Olga.',
        'user: And Vera?',
        'assistant: Vera too.',
      ])
      expect((await live(id)).slice(-3)).toEqual([
        'assistant: Ida and Olga.',
        'user: And Vera?',
        'assistant: Vera too.',
      ])
      await isSound(id)
    },
  )

  it('a question without tools is one for a summary, though no header says so', async () => {
    const thread = 'thread-before-0.169'
    const list: object[] = [developer('You code.'), user('Where am I?')]
    await ask(thread, list, { id: 'r1', text: 'At the harbour.' })
    list.push(...responses.items({ id: 'r1', text: 'At the harbour.' }), user('Write a handoff.'))
    expect(await ask(thread, list, { id: 'r2', text: SUMMARY }, 'unsaid')).toBe('side call; not recorded')
    expect(await live(`proxy/codex/${thread}`)).toEqual([
      'developer: You code.',
      'user: Where am I?',
      'assistant: At the harbour.',
    ])
    await isSound(`proxy/codex/${thread}`)
  })

  it('compact: a summary is asked of what the ledger shows, which fits where the list does not', async () => {
    const thread = 'thread-compact'
    const list: object[] = [developer('You code.')]
    for (let turn = 0; turn < 12; turn += 1) {
      list.push(user(`${String(turn)}: ${'berth '.repeat(1_500)}`))
      const answer = { id: `r${String(turn)}`, text: `Noted ${String(turn)}.` }
      await ask(thread, list, answer, 'turn', compact)
      list.push(...responses.items(answer))
    }
    const question = user('Write a handoff.')
    expect(await ask(thread, [...list, question], { id: 's', text: SUMMARY }, 'compaction', compact)).toBe(
      'side call; not recorded',
    )
    const body = upstream.calls.at(-1)?.body ?? {}
    expect(strictResponses(body, new Map())).toEqual([])
    expect(defaultEstimator.text(JSON.stringify(body))).toBeLessThan(16_000)
    expect(defaultEstimator.text(JSON.stringify(list))).toBeGreaterThan(16_000)
    expect(JSON.stringify(body['input'])).toMatch(/Noted 11\..*Write a handoff\./u)
  })

  it('is told at once that a WebSocket is none, and upstream hears nothing of it', async () => {
    const { port } = new URL(observe.url)
    const head = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          `GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
            'sec-websocket-version: 13\r\nsec-websocket-key: u/HDBnGafcyPM+FB3t0pLA==\r\n\r\n',
        )
      })
      socket.once('error', reject)
      socket.once('data', (chunk) => {
        resolve(chunk.toString('utf8'))
        socket.destroy()
      })
    })
    expect(head).toMatch(/^HTTP\/1\.1 426 /u)
    expect(head).toContain('over HTTP')
    expect(upstream.calls).toEqual([])
  })
})
