/**
 * The law of questions: whatever program asks for a summary of its conversation, and however it marks that, its question
 * and the answer are no messages, and its compaction is recorded once, in its own conversation.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { ownContent } from '../../src/domain/text/authorship.js'
import { contentText } from '../../src/domain/values/message.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { isOfType } from '../../src/application/recording/read-event.js'
import { combinations, isLong } from '../support/length.js'
import { chat } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

interface Message {
  readonly role: string
  readonly content: string
  readonly tool_calls?: readonly object[]
}
const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: string): Message => ({ role: 'assistant', content })

/** A question for a summary: its headers, its list, and whether it offers the tools of a turn. */
interface Question {
  readonly headers?: Readonly<Record<string, string>>
  readonly messages: readonly Message[]
  readonly hasTools?: true
}

interface Program {
  readonly name: string
  /** Headers of every request of a session. */
  readonly headers?: (session: string) => Record<string, string>
  readonly ask: (instructions: Message, list: readonly Message[]) => Question
  /** The answer as the program asks for it; its next list has the summary alone. */
  readonly form?: (summary: string) => string
  /** The program writes the summary as an answer, keeps nothing else, and lets the model go on. */
  readonly goesOn?: true
  /** It adds reminders to the messages of the user, and others to the same message in its next request. */
  readonly reminds?: true
  /** Only the answer identifies the question. */
  readonly isUnmarked?: true
}

const TAIL = 'It has a goal, a state and next steps. You must not leave out a path.'
const quoted = (list: readonly Message[], names: { readonly user: string; readonly assistant: string }): string =>
  list
    .flatMap(({ role, content, tool_calls: calls }) => [
      `[${role === 'tool' ? 'Tool result' : role === 'user' ? names.user : names.assistant}]: ${content}`,
      ...(calls === undefined ? [] : ['[Assistant tool calls]: f()']),
    ])
    .join('\n\n')
const PI = { user: 'User', assistant: 'Assistant' }
const system = (content: string): Message => ({ role: 'system', content })
const PI_SYSTEM = system(`You are a context summarization assistant. ${TAIL}`)

const CONTINUE =
  'Please provide a concise summary of our conversation so far, capturing the key context, decisions made, and current state. Format this as one message'

const PROGRAMS: readonly Program[] = [
  {
    name: 'pi',
    ask: (_instructions, list) => ({
      messages: [PI_SYSTEM, user(`<conversation>\n${quoted(list, PI)}\n</conversation>\n\nCreate a summary. ${TAIL}`)],
    }),
  },
  {
    name: 'pi, a part of a turn',
    ask: (_instructions, list) => ({
      messages: [PI_SYSTEM, user(`# Conversation\n${quoted(list, PI)}\n\n# Instructions\nSummarize. ${TAIL}`)],
    }),
  },
  {
    name: 'cline',
    ask: (_instructions, list) => ({
      messages: [
        system(`Summarize the provided coding session into a concise continuation note. ${TAIL}`),
        user(`Be concise. ${TAIL}\n\nConversation:\n${quoted(list, { user: 'User', assistant: 'Bot' })}`),
      ],
    }),
  },
  {
    name: 'continue',
    ask: (instructions, list) => ({
      messages: [instructions, ...list, user(`${CONTINUE}. ${TAIL}`)],
      hasTools: true,
    }),
    goesOn: true,
  },
  {
    name: 'qwen',
    ask: (_instructions, list) => ({
      messages: [
        system(
          `You are the component that summarizes a conversation when its context window is about to overflow. ${TAIL}`,
        ),
        ...list,
        user('First, reason in your <analysis> block. Then, produce the <state_snapshot> XML.'),
      ],
    }),
    reminds: true,
    form: (summary) => `<analysis>All of it.</analysis>\n<state_snapshot>${summary}</state_snapshot>`,
  },
  {
    name: 'qwen, with the instructions of its turns',
    ask: (instructions, list) => ({
      messages: [
        instructions,
        ...list,
        user(
          `You are the component that summarizes a conversation when its context window is about to overflow. ${TAIL}`,
        ),
      ],
      hasTools: true,
    }),
    form: (summary) => `<analysis>All of it.</analysis>\n<state_snapshot>${summary}</state_snapshot>`,
  },
  {
    name: 'copilot-cli',
    ask: (instructions, list) => ({
      headers: { 'x-interaction-type': 'conversation-compaction' },
      messages: [instructions, ...list, user(`Create a detailed summary. ${TAIL}`)],
      hasTools: true,
    }),
  },
  {
    name: 'codex',
    headers: (session) => ({ 'user-agent': 'codex_exec/0.171.0', 'session-id': session }),
    ask: (instructions, list) => ({
      headers: { 'x-codex-turn-metadata': JSON.stringify({ request_kind: 'compaction' }) },
      messages: [instructions, ...list, user(`You perform a checkpoint compaction. ${TAIL}`)],
      hasTools: true,
    }),
  },
  {
    name: 'opencode',
    headers: (session) => ({ 'user-agent': 'opencode/1.18.33', 'x-session-id': session }),
    ask: (_instructions, list) => ({
      messages: [system('You summarize.'), ...list, user(`Create a new summary. ${TAIL}`)],
    }),
  },
  {
    name: 'claude-code',
    headers: (session) => ({ 'x-claude-code-session-id': session }),
    ask: (instructions, list) => ({
      messages: [instructions, ...list, user(`Create a detailed summary in <summary> tags. ${TAIL}`)],
      hasTools: true,
    }),
    form: (summary) => `<analysis>All of it.</analysis>\n<summary>${summary}</summary>`,
    isUnmarked: true,
  },
]

const MODES = ['observe', 'compact'] as const
const TOOLS = [{ type: 'function', function: { name: 'bash', parameters: {} } }]

let upstream: UpstreamStub
let ledger: Ledger
const proxies = new Map<string, ProxyServer>()
const problems: unknown[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
  const options = { ledger, upstream: upstream.url, port: 0, headWaitMs: 60_000 }
  for (const mode of MODES)
    proxies.set(mode, await startProxy({ ...options, mode, onProblem: (problem: unknown) => problems.push(problem) }))
})
afterAll(async () => {
  for (const proxy of proxies.values()) await proxy.close(100)
  await upstream.close()
  await ledger.close()
})
/** Throws an error unless the condition holds, because helpers outside of a test must not use `expect`. */
function demand(condition: boolean, message: string): void {
  if (!condition) throw new Error(message)
}

/** A session of a program. Its words have a mark. */
class Session {
  readonly ids = new Set<string>()
  private readonly instructions: Message
  private list: Message[] = []
  private requests = 0

  constructor(
    private readonly program: Program,
    private readonly mode: string,
    readonly mark: string,
    /** The same for both sessions. */
    private readonly words: string,
  ) {
    this.instructions = system(`You are ${program.name}, ${words}.`)
  }

  private async send(messages: readonly Message[], answer: string, more: Partial<Question> = {}): Promise<string> {
    const proxy = proxies.get(this.mode)
    upstream.answerWith(chat.whole({ text: answer }))
    this.requests += 1
    const reminder = {
      type: 'text',
      text: `<system-reminder>\nMust not: ${String(this.requests)}.\n</system-reminder>`,
    }
    const sent = messages.map(({ role, content }) =>
      this.program.reminds === true && role === 'user'
        ? { role, content: [reminder, { type: 'text', text: content }] }
        : { role, content },
    )
    const headers = { ...this.program.headers?.(`${this.mode} ${this.mark}`.replaceAll(' ', '-')), ...more.headers }
    const response = await fetch(`${proxy?.url ?? ''}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', messages: sent, ...(more.hasTools === true ? { tools: TOOLS } : {}) }),
    })
    await response.text()
    await proxy?.settled()
    this.ids.add(response.headers.get('x-context-ledger-conversation') ?? '')
    return response.headers.get('x-context-ledger') ?? ''
  }

  async turn(prompt: string | undefined, answer: string): Promise<void> {
    if (prompt !== undefined) this.list.push(user(prompt))
    const state = await this.send([this.instructions, ...this.list], answer, { hasTools: true })
    demand(state.startsWith('recorded'), `the turn was not recorded: ${state}`)
    this.list.push(assistant(answer))
  }

  /** The program compacts: its next list has the summary, and the last messages. */
  async compact(): Promise<string> {
    const { program } = this
    const summary = `What the ${this.mark} session has: all hulls are counted, and the cranes of quay 7 come next, on Monday.`
    const { messages, ...more } = program.ask(this.instructions, this.list)
    const state = await this.send(messages, program.form?.(summary) ?? summary, more)
    demand(program.isUnmarked === true || state === 'side call; not recorded', `the question was recorded: ${state}`)
    demand(problems.length === 0, `the proxy had problems: ${problems.map(String).join('; ')}`)
    this.list =
      program.goesOn === true ? [assistant(summary)] : [user(`Before this point:\n${summary}`), ...this.list.slice(-2)]
    return this.list[0]?.content ?? ''
  }

  /** Asks about a list of which no turn was sent. */
  async askOnly(list: readonly Message[]): Promise<void> {
    const { messages, ...more } = this.program.ask(this.instructions, list)
    await this.send(messages, 'A summary of a conversation that nobody has recorded here, in some words.', more)
  }

  async run(): Promise<string> {
    await this.turn(`Count the hulls, ${this.words}.`, `Which ones, ${this.words}?`)
    await this.turn(`All of them. Never touch quay ${this.mark}.`, `Nine, says ${this.mark}.`)
    const summary = await this.compact()
    if (this.program.goesOn === true) await this.turn(undefined, `It goes on, says ${this.mark}.`)
    await this.turn(`And the cranes, ${this.mark}?`, `Four, says ${this.mark}.`)
    return summary
  }
}

/** Each mode tries every second case. `npm run test:all` tries every case in both modes. */
const tried =
  (mode: (typeof MODES)[number]) =>
  (_case: unknown, at: number): boolean =>
    isLong || at % MODES.length === MODES.indexOf(mode)

describe.each(MODES)('in the mode %s', (mode) => {
  it.each([
    'Please provide a concise summary of our conversation so far.',
    'Create a detailed summary of the conversation so far, please.',
    'Summarize what we decided, for my notes.',
    'You are the component that summarizes a conversation: say it in three lines.',
  ])('a question of a user is a message: %s', async (question) => {
    const session = new Session({ name: 'chat', ask: () => ({ messages: [] }) }, mode, 'plain', `${mode} ${question}`)
    await session.turn('Count the hulls.', 'Nine hulls lie at the quay.')
    await session.turn(question, 'Nine hulls were counted, and nothing else was said.')
    expect([...session.ids]).toHaveLength(1)
  })

  it.each(PROGRAMS.filter(({ headers }) => headers === undefined).filter(tried(mode)))(
    'a question of $name about a conversation that is not recorded is in no other one, however equal its first words',
    async ({ name, ask }) => {
      const greeting = [user('Hello.'), assistant('OK, done.')]
      const recorded = new Session({ name, ask }, mode, 'short', `in a short session, ${mode}`)
      await recorded.turn('Hello.', 'OK, done.')
      const stranger = new Session({ name, ask }, mode, 'stranger', `elsewhere, ${mode}`)
      await stranger.askOnly([...greeting, user('A secret of a stranger.'), assistant('It is kept.')])
      for (const id of stranger.ids) expect(recorded.ids.has(id)).toBe(false)
      const [id = ''] = recorded.ids
      const texts: string[] = []
      for await (const event of ledger.log(id)) texts.push(JSON.stringify(event.data))
      expect(texts.join()).not.toContain('secret of a stranger')
    },
  )

  it.each(PROGRAMS.filter(tried(mode)))(
    'a question of $name is no message, and its compaction is in its conversation',
    async (program) => {
      const words = `as ${program.name} does it, ${mode}`
      const sessions = ['left', 'right'].map((side) => new Session(program, mode, `${side} of ${program.name}`, words))
      const summaries: string[] = []
      for (const session of sessions) summaries.push(await session.run())
      for (const [at, session] of sessions.entries()) {
        // The question came with the conversation of the turns.
        expect([...session.ids]).toHaveLength(1)
        const [id = ''] = session.ids
        const appended: string[] = []
        const found: string[] = []
        const withdrawn = new Set<string>()
        for await (const event of ledger.log(id))
          if (isOfType(event, 'MessagesWithdrawn'))
            for (const { messageId } of event.data.messages) withdrawn.add(messageId)
        for await (const event of ledger.log(id)) {
          if (isOfType(event, 'MessageAppended') && !withdrawn.has(event.data.messageId))
            appended.push(`${event.data.role}: ${contentText(ownContent(event.data))}`)
          if (isOfType(event, 'CompactionObserved'))
            found.push(event.data.summary.kind === 'text' ? event.data.summary.text : event.data.summary.kind)
        }
        expect(found).toEqual([expect.stringContaining(summaries[at] ?? '')])
        expect(appended.filter((text) => !text.startsWith('system:') && !text.includes(summaries[at] ?? ''))).toEqual([
          `user: Count the hulls, ${words}.`,
          `assistant: Which ones, ${words}?`,
          `user: All of them. Never touch quay ${session.mark}.`,
          `assistant: Nine, says ${session.mark}.`,
          ...(program.goesOn === true ? [`assistant: It goes on, says ${session.mark}.`] : []),
          `user: And the cranes, ${session.mark}?`,
          `assistant: Four, says ${session.mark}.`,
        ])
        const { statedRules } = await ledger.recall(id)
        expect(statedRules.map(({ text }) => text)).toEqual([`Never touch quay ${session.mark}.`])
      }
      const { conversations } = await ledger.list({ grep: words })
      expect(conversations.map(({ conversationId }) => conversationId).toSorted()).toEqual(
        sessions.flatMap(({ ids }) => [...ids]).toSorted(),
      )
    },
  )
})

describe.each(MODES)('a quotation without the calls of the answers, in the mode %s', (mode) => {
  const cases = combinations(PROGRAMS.slice(0, 3), ['all', 'a part of the last turn'] as const)
    .map(([program, part]) => ({ name: program.name, part, program }))
    .filter(tried(mode))
  it.each(cases)('of $name, of $part, is about the conversation with these calls', async ({ name, part, program }) => {
    const words = `${name} with calls, ${part}, ${mode}`
    const instructions = system(`You are ${words}.`)
    const begin = [user(`Good morning, ${words}.`), assistant(`Good morning to you, ${words}.`)]
    const prompt = user(`Look at the hulls, ${words}.`)
    const caller = {
      ...assistant(`I look at them, ${words}.`),
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    }
    const result = { role: 'tool', tool_call_id: 'c1', content: 'Nine hulls.\n' }
    const last = assistant(`There are nine hulls, ${words}.`)
    const states: (string | null)[] = []
    const ids = new Set<string | null>()
    const send = async (messages: readonly object[], answer: Parameters<typeof chat.whole>[0], hasTools = true) => {
      upstream.answerWith(chat.whole(answer))
      const proxy = proxies.get(mode)
      const response = await fetch(`${proxy?.url ?? ''}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages, ...(hasTools ? { tools: TOOLS } : {}) }),
      })
      await response.text()
      await proxy?.settled()
      states.push(response.headers.get('x-context-ledger'))
      ids.add(response.headers.get('x-context-ledger-conversation'))
    }
    const list = [...begin, prompt, caller, result]
    await send([instructions, ...begin.slice(0, 1)], { text: begin[1]?.content ?? '' })
    await send([instructions, ...begin, prompt], { text: caller.content, calls: [{ id: 'c1', name: 'f', input: {} }] })
    await send([instructions, ...list], { text: last.content })
    const { messages } = program.ask(instructions, part === 'all' ? [...list, last] : list.slice(2))
    await send(messages, { text: 'Nine hulls were counted in this session, and nothing is open.' }, false)
    expect(states.at(-1)).toBe('side call; not recorded')
    expect([...ids]).toEqual([expect.stringContaining('proxy/')])
  })
})
