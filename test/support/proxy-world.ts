/**
 * A world of clients that talk through one proxy with few words, without a header that names their conversations. Every
 * message and every answer carries a mark of its client in a field that the proxy records and does not compare.
 */
import type { Ledger, RecordedEvent } from '../../src/index.js'
import { createProxy, type Proxy } from '../../src/proxy/create-proxy.js'
import type { Caller } from '../../src/proxy/identify-request.js'
import { chat, messages, responses, type ScriptedAnswer } from './upstream-answers.js'
import type { UpstreamStub } from './upstream-stub.js'

type ApiName = 'chat' | 'messages' | 'responses'

/** A message of a client's list. */
export type Turn =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string; readonly calls: readonly string[] }
  | { readonly kind: 'result'; readonly call: string; readonly text: string }

/** What a client does next. `at` and `of` choose among what there is. */
export type Action =
  | { readonly kind: 'say'; readonly text: string; readonly answer: string; readonly calls: number }
  | { readonly kind: 'fail'; readonly text: string }
  | { readonly kind: 'retry'; readonly isMarked: boolean; readonly answer: string }
  | {
      readonly kind: 'edit' | 'rewind' | 'prune' | 'clear'
      readonly at: number
      readonly text: string
      readonly answer: string
    }
  | { readonly kind: 'fork'; readonly of: number; readonly text: string; readonly answer: string }
  | {
      readonly kind: 'compact'
      readonly kept: number
      readonly text: string
      readonly answer: string
      /** The summary is an answer, and the model goes on before the user's next words. */
      readonly isAnswer: boolean
    }
  | { readonly kind: 'restart' }

export interface Step {
  readonly client: number
  readonly action: Action
  /** The next step happens at the same time. */
  readonly isWithNext: boolean
}

export interface World {
  readonly mode: 'observe' | 'compact'
  readonly clients: readonly { readonly api: ApiName; readonly system: string; readonly hasTools: boolean }[]
  readonly steps: readonly Step[]
}

/** A client with the list that it sends. */
interface Client {
  readonly mark: string
  readonly api: ApiName
  readonly system: string
  readonly hasTools: boolean
  list: Turn[]
  /** The list of the last request with its answer, and the key of the sent list. */
  state: readonly string[]
  /** The keys of all beginnings of lists that this client had. */
  readonly beginnings: Set<string>
}

/** The text of a result is not compared: a context of the ledger keeps what a client cleared. */
const keyOf = (said: Turn): string =>
  JSON.stringify(said.kind === 'result' ? { kind: said.kind, call: said.call } : said)
const SUMMARY = 'Summary of the conversation so far: the berths were listed, the cranes were assigned, the pilots know.'

/** Makes the requests of the three APIs. */
const BODIES: Readonly<Record<ApiName, (client: Client) => readonly [string, object]>> = {
  chat: ({ list, system, hasTools, mark }) => [
    '/v1/chat/completions',
    {
      model: 'm',
      messages: [
        ...(system === '' ? [] : [{ role: 'system', content: system }]),
        ...list.map((said) =>
          said.kind === 'user'
            ? { role: 'user', content: said.text, mark }
            : said.kind === 'result'
              ? { role: 'tool', tool_call_id: said.call, content: said.text, mark }
              : {
                  role: 'assistant',
                  content: said.text,
                  mark,
                  ...(said.calls.length === 0
                    ? {}
                    : {
                        tool_calls: said.calls.map((id) => ({
                          id,
                          type: 'function',
                          function: { name: 'look', arguments: '{}' },
                        })),
                      }),
                },
        ),
      ],
      ...(hasTools ? { tools: [{ type: 'function', function: { name: 'look', parameters: {} } }] } : {}),
    },
  ],
  messages: ({ list, system, hasTools, mark }) => [
    '/v1/messages',
    {
      model: 'm',
      max_tokens: 100,
      ...(system === '' ? {} : { system }),
      messages: list.map((said) =>
        said.kind === 'user'
          ? { role: 'user', content: [{ type: 'text', text: said.text, mark }] }
          : said.kind === 'result'
            ? { role: 'user', content: [{ type: 'tool_result', tool_use_id: said.call, content: said.text, mark }] }
            : {
                role: 'assistant',
                content: [
                  { type: 'text', text: said.text, mark },
                  ...said.calls.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
                ],
              },
      ),
      ...(hasTools ? { tools: [{ name: 'look', input_schema: { type: 'object' } }] } : {}),
    },
  ],
  responses: ({ list, system, hasTools, mark }) => [
    '/v1/responses',
    {
      model: 'm',
      store: false,
      ...(system === '' ? {} : { instructions: system }),
      input: list.flatMap((said): object[] =>
        said.kind === 'user'
          ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: said.text, mark }] }]
          : said.kind === 'result'
            ? [{ type: 'function_call_output', call_id: said.call, output: said.text }]
            : [
                { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said.text, mark }] },
                ...said.calls.map((id) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' })),
              ],
      ),
      ...(hasTools ? { tools: [{ type: 'function', name: 'look', parameters: {}, strict: false }] } : {}),
    },
  ],
}
const ANSWERS = { chat, messages, responses } as const

/** One request of a step. */
interface Sent {
  readonly client: Client
  readonly list: readonly string[]
  /** The state of the client before the request. */
  readonly state: readonly string[]
  readonly answer: Turn | undefined
  readonly id: string
  /** Status and state of the response, for messages. */
  readonly response: string
}

export interface WorldReport {
  readonly requests: number
  readonly conversations: number
  readonly problems: readonly string[]
}

/** A message of the ledger as this world compares it. */
function recordedKey(message: {
  role: string
  content?: unknown
  tool_calls?: unknown
  tool_call_id?: unknown
}): string {
  const text =
    typeof message.content === 'string'
      ? message.content
      : (Array.isArray(message.content) ? message.content : [])
          .map((part: { text?: string }) => part.text ?? '')
          .join('')
  if (message.role === 'user') return keyOf({ kind: 'user', text })
  if (message.role === 'tool') return keyOf({ kind: 'result', call: String(message.tool_call_id), text })
  const calls = (Array.isArray(message.tool_calls) ? message.tool_calls : []).map((call: { id: string }) => call.id)
  return keyOf({ kind: 'answer', text, calls })
}

const isPrefix = (start: readonly string[], list: readonly string[]): boolean =>
  start.every((each, index) => list[index] === each)
const isSame = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && isPrefix(a, b)

/**
 * Whether a step makes one request, so that others can run at the same time. A failed request could be another client's
 * equal one: after it, that one is a retry.
 */
const isShort = (step: Step | undefined): boolean =>
  step !== undefined &&
  step.action.kind !== 'restart' &&
  step.action.kind !== 'fail' &&
  step.action.kind !== 'compact' &&
  (step.action.kind !== 'say' || step.action.calls === 0)

/** Runs a world, and reports each message that did not end in its own conversation. */
export class WorldRun {
  private readonly problems: string[] = []
  private requests = 0
  private calls = 0
  /** Each world has a key of its own, so its conversations are no others. */
  private readonly keyId = crypto.randomUUID()
  private proxy: Proxy
  private readonly clients: Client[]
  /** Conversations that their program compacted. */
  private readonly compacted = new Set<string>()
  /** The contents and the number of events of each conversation after the last step. */
  private readonly known = new Map<string, { readonly contents: readonly string[]; readonly events: number }>()

  private constructor(
    private readonly world: World,
    private readonly ledger: Ledger,
    private readonly upstream: UpstreamStub,
  ) {
    this.proxy = this.start()
    this.clients = world.clients.map((client, index) => ({
      ...client,
      mark: `client-${String(index)}`,
      list: [],
      state: [],
      beginnings: new Set(),
    }))
  }

  /** Runs a world in a ledger that may have others. */
  static async run(world: World, upstream: UpstreamStub, ledger: Ledger): Promise<WorldReport> {
    const run = new WorldRun(world, ledger, upstream)
    try {
      await run.play()
      await run.checkMarks()
      return { requests: run.requests, conversations: run.known.size, problems: run.problems }
    } finally {
      await run.proxy.close()
    }
  }

  private start(): Proxy {
    return createProxy({
      ledger: this.ledger,
      upstream: this.upstream.url,
      mode: this.world.mode,
      headWaitMs: 60_000,
      ledgerTimeoutMs: 60_000,
      onProblem: (problem) => this.problems.push(`problem of the ledger: ${String(problem)}`),
    })
  }

  private async play(): Promise<void> {
    const steps = this.world.steps.map((step) => ({ ...step, client: step.client % this.clients.length }))
    for (let from = 0; from < steps.length;) {
      let until = from
      const acting = new Set([steps[from]?.client])
      while (isShort(steps[until]) && isShort(steps[until + 1]) && !acting.has(steps[until + 1]?.client)) {
        if (steps[until]?.isWithNext !== true) break
        until += 1
        acting.add(steps[until]?.client)
      }
      await this.playTogether(steps.slice(from, until + 1))
      from = until + 1
    }
  }

  private async playTogether(steps: readonly Step[]): Promise<void> {
    if (steps.some(({ action }) => action.kind === 'restart')) {
      await this.proxy.close()
      this.proxy = this.start()
    }
    const sent = await Promise.all(steps.map(async (step) => await this.act(step)))
    await this.proxy.settled()
    await this.check(sent.flat())
  }

  private async act({ client: number, action }: Step): Promise<Sent[]> {
    const client = this.clients[number]
    if (client === undefined || action.kind === 'restart') return []
    const { list } = client
    const users = list.flatMap((said, index) => (said.kind === 'user' ? [index] : []))
    const user = users[('at' in action ? action.at : 0) % Math.max(1, users.length)] ?? 0
    const say = (text: string): Turn => ({ kind: 'user', text })
    switch (action.kind) {
      case 'say':
        list.push(say(action.text))
        return await this.turn(client, action.answer, client.hasTools ? action.calls : 0)
      case 'fail':
        list.push(say(action.text))
        return [await this.ask(client, undefined)]
      case 'retry':
        if (list.at(-1)?.kind === 'answer') list.pop()
        if (list.length === 0) return []
        return [await this.ask(client, { kind: 'answer', text: action.answer, calls: [] }, action.isMarked)]
      case 'edit':
        client.list = [...list.slice(0, user), say(`${action.text}, edited`)]
        return await this.turn(client, action.answer, 0)
      case 'rewind':
        client.list = [...list.slice(0, user), say(action.text)]
        return await this.turn(client, action.answer, 0)
      case 'prune':
        client.list = [...list.slice(user), say(action.text)]
        return await this.turn(client, action.answer, 0)
      case 'clear':
        client.list = list.map((said, index) =>
          said.kind === 'result' && index < list.length - 2 ? { ...said, text: '[cleared]' } : said,
        )
        client.list.push(say(action.text))
        return await this.turn(client, action.answer, 0)
      case 'fork': {
        const neighbour = this.clients[action.of % this.clients.length]
        if (neighbour === undefined || neighbour.api !== client.api) return []
        client.list = [...neighbour.list, say(action.text)]
        return await this.turn(client, action.answer, 0)
      }
      case 'compact': {
        list.push(say('Summarize the conversation so far.'))
        const answered = await this.ask(client, { kind: 'answer', text: SUMMARY, calls: [] })
        await this.proxy.settled()
        await this.check([answered])
        // Responses and Messages join adjacent answers.
        if (action.isAnswer && client.api === 'chat') {
          client.list = [{ kind: 'answer', text: SUMMARY, calls: [] }]
          const first = await this.turn(client, action.answer, 0)
          await this.proxy.settled()
          await this.check(first)
          client.list.push(say(action.text))
          return await this.turn(client, action.answer, 0)
        }
        const kept = client.list.slice(-2 - 2 * action.kept, -2).filter(({ kind }) => kind !== 'result')
        client.list = [say(`We go on from here. ${SUMMARY}`), ...kept, say(action.text)]
        return await this.turn(client, action.answer, 0)
      }
    }
  }

  /** Asks, and answers the calls of the model, until it calls no tool. */
  private async turn(client: Client, answer: string, calls: number): Promise<Sent[]> {
    if (calls === 0) return [await this.ask(client, { kind: 'answer', text: answer, calls: [] })]
    const ids = Array.from({ length: calls }, (_none, at) => `call_${String(at)}_${String(client.list.length)}`)
    const first = await this.ask(client, { kind: 'answer', text: answer, calls: ids })
    for (const call of ids) client.list.push({ kind: 'result', call, text: `nothing at ${call.slice(-1)}` })
    await this.proxy.settled()
    await this.check([first])
    return [await this.ask(client, { kind: 'answer', text: answer, calls: [] })]
  }

  private async ask(
    client: Client,
    answer: (Turn & { readonly kind: 'answer' }) | undefined,
    isRetry = false,
  ): Promise<Sent> {
    this.requests += 1
    this.calls += 1
    const scripted: ScriptedAnswer = {
      id: `answer_of_${client.mark}_${String(this.calls)}`,
      text: answer?.text,
      calls: (answer?.calls ?? []).map((id) => ({ id, name: 'look', input: {} })),
    }
    const [path, body] = BODIES[client.api](client)
    const init = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-scripted': JSON.stringify(answer === undefined ? { fails: true } : { api: client.api, scripted }),
        ...(isRetry ? { 'x-stainless-retry-count': '1' } : {}),
      },
      body: JSON.stringify(body),
    }
    const caller: Caller = { keyId: this.keyId, mayUse: () => Promise.resolve(true) }
    const response = await this.proxy.request(`http://127.0.0.1${path}`, init, { caller })
    const text = await response.text()
    const status = `${String(response.status)} ${response.headers.get('x-context-ledger') ?? ''} ${response.ok ? '' : text}`
    const list = client.list.map(keyOf)
    const { state } = client
    if (answer !== undefined) client.list.push(answer)
    client.state = client.list.map(keyOf)
    for (let length = 1; length <= client.state.length; length += 1)
      client.beginnings.add([client.api, client.system, ...client.state.slice(0, length)].join('\n'))
    const id = response.headers.get('x-context-ledger-conversation') ?? ''
    return { client, list, state, answer, id, response: status }
  }

  /** The live contents of a conversation, and its events. */
  private async read(id: string): Promise<{ contents: string[]; events: RecordedEvent[] }> {
    const events: RecordedEvent[] = []
    for await (const event of this.ledger.log(id)) events.push(event)
    const { messages: live } = await this.ledger.context(id)
    const isShown = ({ role, content }: (typeof live)[number]): boolean =>
      role !== 'system' &&
      !(role === 'tool' && typeof content === 'string' && content.startsWith('[no result of this call'))
    return { contents: live.filter(isShown).map(recordedKey), events }
  }

  private async check(sent: readonly Sent[]): Promise<void> {
    const ids = sent.map(({ id }) => id)
    if (new Set(ids).size < ids.length) this.problems.push(`two requests at once went into ${ids.join(' and ')}`)
    for (const each of sent) {
      if (each.id === '') {
        this.problems.push(`a request of ${each.client.mark} is in no conversation: ${each.response}`)
        continue
      }
      const before = this.known.get(each.id) ?? { contents: [], events: 0 }
      const { contents, events } = await this.read(each.id)
      this.known.set(each.id, { contents, events: events.length })
      this.checkOne(each, before.contents, contents, events.slice(before.events))
    }
  }

  private checkOne(
    { client, list, state, answer, id }: Sent,
    before: readonly string[],
    after: readonly string[],
    events: readonly RecordedEvent[],
  ): void {
    const recordings = events.filter(({ type }) =>
      ['MessagesWithdrawn', 'CompactionObserved', 'MessagesPruned', 'ContributionEdited'].includes(type),
    )
    // A program's own compaction removes nothing from a context that the ledger makes.
    const isLedgers = this.world.mode === 'compact' && this.compacted.has(id)
    if (recordings.some(({ type }) => type === 'CompactionObserved')) this.compacted.add(id)
    const isOwn = isLedgers || isSame(before, state) || isPrefix(before, list) || isPrefix(list, before)
    const describe = `${client.mark} with ${JSON.stringify(list)} in ${id}`
    if (recordings.length > 0 && !isLedgers && !isSame(before, state) && !isPrefix(list, before))
      this.problems.push(`${describe}: ${recordings.map(({ type }) => type).join(', ')} of ${JSON.stringify(before)}`)
    else if (!isOwn) this.problems.push(`${describe}: was ${JSON.stringify(before)}`)
    const expected = [...list, ...(answer === undefined ? [] : [keyOf(answer)])]
    const isPartial = this.world.mode === 'compact' && this.compacted.has(id)
    const isComplete = isPartial ? expected.every((each) => after.includes(each)) : isSame(after, expected)
    if (!isComplete) this.problems.push(`${describe}: has ${JSON.stringify(after)}`)
  }

  /** Clients that never had the same beginning of a list share no conversation, whatever they carry. */
  private async checkMarks(): Promise<void> {
    for (const id of this.known.keys()) {
      const { events } = await this.read(id)
      const text = events.map(({ data }) => JSON.stringify(data)).join('\n')
      const inside = this.clients.filter(({ mark }) => text.includes(`${mark}"`) || text.includes(`${mark}_`))
      for (const [index, a] of inside.entries())
        for (const b of inside.slice(index + 1))
          if (![...a.beginnings].some((beginning) => b.beginnings.has(beginning)))
            this.problems.push(`${a.mark} and ${b.mark} are both in ${id}`)
    }
  }
}

/** Answers each request as its header says. */
export function answerAsScripted(upstream: UpstreamStub): void {
  upstream.answerWith((call) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the header is the one that `ask` writes
    const { fails, api, scripted } = JSON.parse(String(call.headers['x-scripted'])) as {
      fails?: boolean
      api: ApiName
      scripted: ScriptedAnswer
    }
    return fails === true ? { status: 500, json: { error: { message: 'down' } } } : ANSWERS[api].whole(scripted)
  })
}
