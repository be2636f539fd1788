/**
 * A world of clients that talk through one proxy with few words, without a header that names their conversations. Every
 * message and every answer carries a mark of its client in a field that the proxy records and does not compare.
 */
import type { Ledger, RecordedEvent } from '../../src/index.js'
import { createProxy, type Proxy } from '../../src/interfaces/proxy/create-proxy.js'
import { CONVERSATION_HEADER, type Caller } from '../../src/interfaces/proxy/identify-request.js'
import { chat, messages, responses, type ScriptedAnswer } from './upstream-answers.js'
import type { UpstreamAnswer, UpstreamStub } from './upstream-stub.js'

type ApiName = 'chat' | 'messages' | 'responses'

/** A message of a client's list. */
export type Turn =
  /** `joined`: two questions in the parts of one message. */
  | { readonly kind: 'user'; readonly text: string; readonly joined?: readonly string[] }
  | { readonly kind: 'answer'; readonly text: string; readonly calls: readonly string[] }
  | { readonly kind: 'result'; readonly call: string; readonly text: string }

/** How an answer is lost. */
export const LOSSES = ['status', 'page', 'gzip', 'reset', 'cut', 'short', 'error', 'nothing', 'abort'] as const
type Loss = (typeof LOSSES)[number]

/** What a client does next. `at` and `of` choose among what there is. */
export type Action =
  | { readonly kind: 'say'; readonly text: string; readonly answer: string; readonly calls: number }
  /** The client gets no answer that it can use. */
  | {
      readonly kind: 'fail'
      readonly text: string
      readonly calls: number
      readonly answer: string
      readonly loss: Loss
      /** Its next list has the question, has it in one message with the next one, or does not have it. */
      readonly next: 'retries' | 'keeps' | 'joins' | 'drops'
    }
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
  /** Each client names its conversation in a header. */
  readonly isNamed?: boolean
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
  /** What the next list does with the question of which the answer was lost. */
  lost: 'joins' | 'drops' | undefined
  /** The ids of its conversations. */
  readonly ids: Set<string>
  /** Compactions that it made. */
  compactions: number
}

/** The text of a result is not compared: a context of the ledger keeps what a client cleared. */
const keyOf = (said: Turn): string =>
  JSON.stringify(
    said.kind === 'result'
      ? { kind: said.kind, call: said.call }
      : said.kind === 'user'
        ? { kind: said.kind, text: said.text }
        : said,
  )
/** The texts of a user's message. */
const partsOf = ({ text, joined }: Turn & { readonly kind: 'user' }): readonly string[] => joined ?? [text]
const SUMMARY = 'Summary of the conversation so far: the berths were listed, the cranes were assigned, the pilots know.'

/** Messages that a context has so that its API takes it. */
const PLACEHOLDERS = ['[no result of this call', '[The conversation begins with the assistant.']

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
            ? {
                role: 'user',
                content: said.joined === undefined ? said.text : said.joined.map((text) => ({ type: 'text', text })),
                mark,
              }
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
          ? { role: 'user', content: partsOf(said).map((text) => ({ type: 'text', text, mark })) }
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
          ? [
              {
                type: 'message',
                role: 'user',
                content: partsOf(said).map((text) => ({ type: 'input_text', text, mark })),
              },
            ]
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
  /** The answer was lost; a part of it may be recorded. */
  readonly isLost: boolean
  /** Empty if the response does not name the conversation. */
  readonly id: string
  /** Status and state of the response, for messages. */
  readonly response: string
}

export interface WorldReport {
  readonly requests: number
  readonly conversations: number
  /** The number of conversations of each client. */
  readonly conversationsOfClients: readonly number[]
  /** Compactions that the clients made, and those that are recorded. */
  readonly compactions: { readonly made: number; readonly recorded: number }
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
  private recordedCompactions = 0
  /** Each world has a key of its own, so its conversations are no others. */
  private readonly keyId = crypto.randomUUID()
  private proxy: Proxy
  private readonly clients: Client[]
  /** Conversations that their program compacted. */
  private readonly compacted = new Set<string>()
  /** Conversations that end with a part of an answer. */
  private readonly hasPart = new Set<string>()
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
      lost: undefined,
      ids: new Set(),
      compactions: 0,
    }))
  }

  /** Runs a world in a ledger that may have others. */
  static async run(world: World, upstream: UpstreamStub, ledger: Ledger): Promise<WorldReport> {
    const run = new WorldRun(world, ledger, upstream)
    try {
      await run.play()
      await run.checkMarks()
      return {
        requests: run.requests,
        conversations: run.known.size,
        conversationsOfClients: run.clients.map(({ ids }) => ids.size),
        compactions: {
          made: run.clients.reduce((sum, { compactions }) => sum + compactions, 0),
          recorded: run.recordedCompactions,
        },
        problems: run.problems,
      }
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
      onProblem: (problem) => {
        const text = String(problem)
        // Some answers are lost because they cannot be read.
        if (!/answer .* cannot be read/u.test(text)) this.problems.push(`problem of the ledger: ${text}`)
      },
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
    const { list, lost } = client
    client.lost = undefined
    // Only a question is left out: results are kept.
    const question = list.at(-1)
    if (lost === 'drops' && question?.kind === 'user') list.pop()
    if (lost === 'joins' && question?.kind === 'user' && 'text' in action) {
      list.pop()
      list.push({
        kind: 'user',
        text: `${question.text}${action.text}`,
        joined: [...partsOf(question), action.text],
      })
      return await this.turn(client, action.answer, 0)
    }
    const users = list.flatMap((said, index) => (said.kind === 'user' ? [index] : []))
    const user = users[('at' in action ? action.at : 0) % Math.max(1, users.length)] ?? 0
    const say = (text: string): Turn => ({ kind: 'user', text })
    switch (action.kind) {
      case 'say':
        list.push(say(action.text))
        return await this.turn(client, action.answer, client.hasTools ? action.calls : 0)
      case 'fail':
        list.push(say(action.text))
        return await this.lose(client, action)
      case 'retry':
        if (list.at(-1)?.kind === 'answer') list.pop()
        if (list.length === 0) return []
        return [
          await this.ask(client, { kind: 'answer', text: action.answer, calls: [] }, { isRetry: action.isMarked }),
        ]
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
        client.compactions += 1
        // No two summaries of a client are equal.
        const summary = `${SUMMARY}${client.compactions === 1 ? '' : ` (${String(client.compactions)})`}`
        list.push(say('Summarize the conversation so far.'))
        const answered = await this.ask(client, { kind: 'answer', text: summary, calls: [] })
        await this.proxy.settled()
        await this.check([answered])
        // Responses and Messages join adjacent answers.
        if (action.isAnswer && client.api === 'chat') {
          client.list = [{ kind: 'answer', text: summary, calls: [] }]
          const first = await this.turn(client, action.answer, 0)
          await this.proxy.settled()
          await this.check(first)
          client.list.push(say(action.text))
          return await this.turn(client, action.answer, 0)
        }
        // A compaction leaves out something.
        const from = Math.max(1, client.list.length - 2 - 2 * action.kept)
        const previous = client.list
          .slice(from, -2)
          .filter((said) => said.kind === 'user' || (said.kind === 'answer' && said.calls.length === 0))
        client.list = [say(`We go on from here. ${summary}`), ...previous, say(action.text)]
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

  /** Asks, and gets no answer; with calls, none to the results. */
  private async lose(client: Client, action: Action & { readonly kind: 'fail' }): Promise<Sent[]> {
    const { answer, loss, next } = action
    const checkNow = async (sent: Sent): Promise<void> => {
      await this.proxy.settled()
      await this.check([sent])
    }
    if (client.hasTools && action.calls > 0) {
      const call = `call_${String(client.list.length)}`
      await checkNow(await this.ask(client, { kind: 'answer', text: answer, calls: [call] }))
      client.list.push({ kind: 'result', call, text: 'nothing there' })
    }
    const lost = await this.ask(client, { kind: 'answer', text: answer, calls: [] }, { loss })
    if (next !== 'retries') {
      client.lost = next === 'keeps' ? undefined : next
      return [lost]
    }
    await checkNow(lost)
    return [await this.ask(client, { kind: 'answer', text: answer, calls: [] })]
  }

  private async ask(
    client: Client,
    answer: Turn & { readonly kind: 'answer' },
    { isRetry = false, loss }: { readonly isRetry?: boolean; readonly loss?: Loss } = {},
  ): Promise<Sent> {
    this.requests += 1
    this.calls += 1
    const scripted: ScriptedAnswer = {
      id: `answer_of_${client.mark}_${String(this.calls)}`,
      text: answer.text,
      calls: answer.calls.map((id) => ({ id, name: 'look', input: {} })),
    }
    const [path, body] = BODIES[client.api](client)
    const init = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-scripted': JSON.stringify({ api: client.api, scripted, loss }),
        ...(this.world.isNamed === true ? { [CONVERSATION_HEADER]: `${client.mark} of ${this.keyId}` } : {}),
        ...(isRetry ? { 'x-stainless-retry-count': '1' } : {}),
      },
      body: JSON.stringify(body),
    }
    const caller: Caller = { keyId: this.keyId, mayUse: () => Promise.resolve(true) }
    const response = await this.proxy.fetch(new Request(`http://127.0.0.1${path}`, init), { caller })
    const text = await readAnswer(response, loss)
    const status = `${String(response.status)} ${response.headers.get('x-context-ledger') ?? ''} ${response.ok ? '' : text}`
    const list = client.list.map(keyOf)
    const { state } = client
    if (loss === undefined) client.list.push(answer)
    client.state = client.list.map(keyOf)
    for (let length = 1; length <= client.state.length; length += 1)
      client.beginnings.add([client.api, client.system, ...client.state.slice(0, length)].join('\n'))
    const id = response.headers.get('x-context-ledger-conversation') ?? ''
    const isLost = loss !== undefined
    if (id !== '') client.ids.add(id)
    return { client, list, state, answer: isLost ? undefined : answer, isLost, id, response: status }
  }

  /** The live contents of a conversation, and its events. */
  private async read(id: string): Promise<{ contents: string[]; events: RecordedEvent[] }> {
    const events: RecordedEvent[] = []
    for await (const event of this.ledger.log(id)) events.push(event)
    const { messages: live } = await this.ledger.context(id)
    const isShown = ({ role, content }: (typeof live)[number]): boolean =>
      role !== 'system' && !(typeof content === 'string' && PLACEHOLDERS.some((each) => content.startsWith(each)))
    return { contents: live.filter(isShown).map(recordedKey), events }
  }

  private async check(sent: readonly Sent[]): Promise<void> {
    const ids = sent.map(({ id }) => id).filter((id) => id !== '')
    if (new Set(ids).size < ids.length) this.problems.push(`two requests at once went into ${ids.join(' and ')}`)
    for (const each of sent) {
      const { id, client, isLost, response } = each
      if (id !== '') this.checkOne(each, this.known.get(id)?.contents ?? [], ...(await this.readNext(id)))
      // An error of the proxy itself does not name the conversation.
      else if (isLost) for (const known of client.ids) await this.readNext(known)
      else this.problems.push(`a request of ${client.mark} is in no conversation: ${response}`)
    }
  }

  /** The contents of a conversation, and its events since it was read. */
  private async readNext(id: string): Promise<[contents: string[], events: RecordedEvent[]]> {
    const { contents, events } = await this.read(id)
    const eventCount = this.known.get(id)?.events ?? 0
    this.known.set(id, { contents, events: events.length })
    return [contents, events.slice(eventCount)]
  }

  private checkOne(
    { client, list, state, answer, isLost, id }: Sent,
    before: readonly string[],
    after: readonly string[],
    events: readonly RecordedEvent[],
  ): void {
    const recordings = events.filter(({ type }) =>
      ['MessagesWithdrawn', 'CompactionObserved', 'MessagesPruned', 'ContributionEdited'].includes(type),
    )
    // A program's own compaction removes nothing from a context that the ledger makes.
    const isLedgers = this.world.mode === 'compact' && this.compacted.has(id)
    const compactions = recordings.filter(({ type }) => type === 'CompactionObserved').length
    this.recordedCompactions += compactions
    if (compactions > 0) this.compacted.add(id)
    // A part of an answer is withdrawn with the next list, since the client does not have it.
    const hasPart = this.hasPart.delete(id)
    const shared = hasPart ? before.slice(0, -1) : before
    const isContinued = isPrefix(shared, list)
    const isOwn = isLedgers || isSame(shared, state) || isContinued || isPrefix(list, shared)
    const describe = `${client.mark} with ${JSON.stringify(list)} in ${id}`
    const isKnown = isLedgers || isSame(shared, state) || (hasPart && isContinued) || isPrefix(list, shared)
    if (recordings.length > 0 && !isKnown)
      this.problems.push(`${describe}: ${recordings.map(({ type }) => type).join(', ')} of ${JSON.stringify(before)}`)
    else if (!isOwn) this.problems.push(`${describe}: was ${JSON.stringify(before)}`)
    const expected = [...list, ...(answer === undefined ? [] : [keyOf(answer)])]
    const isPartial = this.world.mode === 'compact' && this.compacted.has(id)
    const isPartOfAnswer = isLost && isPrefix(expected, after) && after.length === expected.length + 1
    if (isPartOfAnswer) this.hasPart.add(id)
    const isComplete =
      isPartOfAnswer || isPartial ? expected.every((each) => after.includes(each)) : isSame(after, expected)
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

/** The text of an answer as far as it is lost or not. */
async function readAnswer(response: Response, loss: Loss | undefined): Promise<string> {
  if (loss !== 'abort') return await response.text().catch(() => '')
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  return ''
}

/** Answers each request as its header says. */
export function answerAsScripted(upstream: UpstreamStub): void {
  upstream.answerWith((call) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the header is the one that `ask` writes
    const { loss, api, scripted } = JSON.parse(String(call.headers['x-scripted'])) as {
      loss?: Loss
      api: ApiName
      scripted: ScriptedAnswer
    }
    const whole = ANSWERS[api].whole(scripted)
    if (loss === undefined || typeof whole === 'string' || !('json' in whole)) return whole
    const firstEvents = ANSWERS[api].events(scripted).slice(0, 4)
    const lost: Readonly<Record<Loss, UpstreamAnswer>> = {
      status: { status: 500, json: { error: { message: 'down' } } },
      page: { json: '<html>', headers: { 'content-type': 'text/html' } },
      gzip: { ...whole, gzip: true, headers: { 'content-encoding': '' } },
      reset: 'reset',
      cut: { chunks: firstEvents, ending: 'cut' },
      short: { chunks: firstEvents },
      error: { json: { type: 'error', error: { message: 'down' } } },
      nothing: { json: {} },
      abort: { chunks: firstEvents, ending: 'hang' },
    }
    return lost[loss]
  })
}
