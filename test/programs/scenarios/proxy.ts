/**
 * The proxy between the program and its model, as shipped: first in the mode `observe`, then in the mode `compact`, each
 * with a ledger of its own. After each mode the ledger is read: each message once, in its own conversation, and
 * questions of the program known as what they are.
 */
import { openLedger, type ConversationSummary, type Ledger } from '../../../src/index.js'
import { contentText } from '../../../src/domain/values/message.js'
import { isOfType } from '../../../src/application/recording/read-event.js'
import { logsOf, messagesIn, type RecordedLog } from '../imported.js'
import { MODEL_APIS } from '../model/apis.js'
import { fieldsOf, jsonOf, type ContextMessage } from '../model/request.js'
import { SUMMARY, type ReceivedRequest } from '../model/server.js'
import { startProxyOf, type RelayedRequest, type RunningProxy } from '../proxied.js'
import type { Scenario } from '../scenario.js'
import { failureOf, type Trial, type Turn } from '../trial.js'

const RULE = 'Rule: never touch harbour_prod.'

/** The prompt and the answer that two sessions have in common. */
const EQUAL = 'Go on. [[both: say OK, done. | say OK, done.]]'

/** Settings with which the ledger compacts every few messages. */
const SMALL = [
  '--model-max-tokens',
  '200000',
  '--context-budget',
  '0.01',
  '--chunk-size',
  '2',
  '--chunk-min-tokens',
  '0',
  '--keep-recent',
  '2',
]

/** Headers that a proxy must not change. */
const UNCHANGED = (headers: RelayedRequest['headers']): readonly (readonly [string, unknown])[] =>
  Object.entries(headers)
    .filter(([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))

const pathOf = (path: string): string => path.split('?', 1)[0] ?? path

/** A text without white space and quotation marks, which programs and titles change. */
const plainWords = (text: string): string => text.replaceAll(/[\s"“”…]+/gu, ' ').trim()

/**
 * The log without the messages that were withdrawn, and without the summaries of the program in its list: they may quote
 * prompts.
 */
function withoutSummaries({ conversationId, events }: RecordedLog): RecordedLog {
  const withdrawn = new Set(
    events
      .filter((event) => isOfType(event, 'MessagesWithdrawn'))
      .flatMap(({ data }) => data.messages.map(({ messageId }) => messageId)),
  )
  const summaries = new Set(
    events
      .filter((event) => isOfType(event, 'CompactionObserved'))
      .flatMap(({ data: { summary } }) => (summary.kind === 'text' ? [summary.text] : [])),
  )
  const remaining = events.filter((event) => {
    if (!isOfType(event, 'MessageAppended')) return true
    const { messageId, role, content } = event.data
    return !withdrawn.has(messageId) && !(role === 'user' && summaries.has(contentText(content)))
  })
  return { conversationId, events: remaining }
}

/** The mark of the prompt that a request answers. */
const markOf = ({ request }: ReceivedRequest): string | undefined =>
  request.messages
    .filter(({ role }) => role === 'user')
    .map(({ texts }) => [...texts.join('\n').matchAll(/\[\[[\w-]+:/gu)].at(-1)?.[0])
    .findLast((mark) => mark !== undefined)

/** The turns of one mode. */
class ProxiedTurns {
  /** Prompts of the user, in order. */
  readonly prompts: string[] = []
  readonly names: string[] = []
  /** Number of sessions, with those of sub-agents. */
  sessions = 0

  constructor(
    private readonly trial: Trial,
    private readonly mode: string,
  ) {}

  async turn(name: string, steps: string, session?: string, text = 'Go on.', trial = this.trial): Promise<Turn> {
    // On a line of its own, the mark is no part of the user's sentence.
    const prompt = `${text}\n[[${this.mode}-${name}: ${steps}]]`
    this.prompts.push(prompt)
    this.names.push(`[[${this.mode}-${name}:`)
    const turn = await trial.turn(prompt, session)
    this.trial.check(`${this.mode}: turn ${name}`, turn.result.status === 0, failureOf(turn))
    if (name === 'delegate') this.sessions += 1
    return turn
  }

  /** One session with tools and compactions. */
  async session(): Promise<void> {
    const { trial } = this
    const tokens = `@${String(trial.agent.tokensToCompact)}`
    let { session } = await this.turn('tools', 'read notes.txt | ls', undefined, RULE)
    this.sessions += 1
    const next = async (name: string, steps: string): Promise<void> => {
      session = (await this.turn(name, steps, session)).session
      if (trial.agent.resume !== undefined) this.sessions += 1
    }
    if (!trial.isShort) await next('resume', 'write out.txt | read notes.txt & ls')
    if (trial.agent.resume === undefined) {
      await next('fill', `say ${tokens}`)
      await next('automatic', 'ls')
    }
    if (trial.isShort) return
    await next('middle', `ls ${tokens} | read notes.txt`)
    await next('later', 'read plan.txt')
    if (trial.agent.tools.delegate !== undefined) await next('delegate', 'task read notes.txt')
    if (this.mode === 'compact') return
    if (trial.model.requests.at(-1)?.api === 'Responses') {
      await next('provider', 'compacted')
      await next('after-provider', 'ls')
    }
    for (const how of ['html', 'gzip']) await this.unreadable(how, session)
  }

  /** A turn with an answer that cannot be read. Programs retry, or end with an error. */
  private async unreadable(how: string, session: string | undefined): Promise<void> {
    const prompt = `Go on. [[${this.mode}-${how}: garbled ${how}]]`
    this.prompts.push(prompt)
    await this.trial.turn(prompt, session)
    if (this.trial.agent.resume !== undefined) this.sessions += 1
  }

  /** Two sessions at the same time, with the same question and the same answer. */
  async twoAtOnce(): Promise<void> {
    const sides = [
      { trial: this.trial, name: 'left', steps: 'ls' },
      { trial: await this.trial.sibling(), name: 'right', steps: 'read notes.txt' },
    ]
    await Promise.all(
      sides.map(async ({ trial, name, steps }) => {
        const { session } = await trial.turn(EQUAL)
        await this.turn(name, steps, session, 'Go on.', trial)
        this.sessions += trial.agent.resume === undefined ? 1 : 2
      }),
    )
  }
}

/** Reads the ledger of one mode. */
class ProxiedLedger {
  private constructor(
    private readonly trial: Trial,
    private readonly mode: string,
    private readonly turns: ProxiedTurns,
    private readonly ledger: Ledger,
    private readonly listed: readonly ConversationSummary[],
    /** Without withdrawn messages and summaries. */
    private readonly logs: readonly RecordedLog[],
    /** Model requests of the mode. */
    private readonly received: readonly ReceivedRequest[],
  ) {}

  static async check(
    trial: Trial,
    mode: string,
    turns: ProxiedTurns,
    received: readonly ReceivedRequest[],
  ): Promise<void> {
    const ledger = await openLedger({ store: trial.store })
    try {
      const { conversations: listed } = await ledger.list({ sort: 'id' })
      const logs = await logsOf(
        ledger,
        listed.map(({ conversationId }) => conversationId),
      )
      const checks = new ProxiedLedger(trial, mode, turns, ledger, listed, logs.map(withoutSummaries), received)
      checks.conversations()
      checks.unreadable()
      checks.messages()
      checks.compactions()
      checks.questions()
      await checks.texts()
    } finally {
      await ledger.close()
    }
  }

  private check(name: string, holds: boolean, detail: string): void {
    this.trial.check(`${this.mode}: ${name}`, holds, detail)
  }

  /** Ids of the conversations that have a text in a message of a role. */
  private conversationsWith(role: string, text: string): string[] {
    return this.logs.flatMap(({ conversationId, events }) =>
      messagesIn(events, role)
        .filter((each) => each.includes(text))
        .map(() => conversationId),
    )
  }

  /** Each session is one conversation, and each sub-agent. */
  private conversations(): void {
    const expected = this.turns.sessions
    const found = this.listed.map(({ conversationId, messages }) => `${conversationId} (${String(messages)} messages)`)
    this.check(
      'one conversation a session',
      found.length === expected,
      `${String(expected)} expected: ${found.join(', ')}`,
    )
    const [left, right] = ['left', 'right'].map((name) => this.conversationsWith('user', `[[${this.mode}-${name}:`))
    this.check('two sessions', left?.[0] !== right?.[0], 'both are in one conversation')
  }

  /** Each prompt, answer and result once, in the conversation of its prompt. */
  private messages(): void {
    const wrong = this.turns.names.filter((name) => this.conversationsWith('user', name).length !== 1)
    this.check('each prompt once', wrong.length === 0, wrong.join(', '))
    const answered = this.received.filter(({ purpose, answer }) => purpose === 'turn' && answer !== undefined)
    const misplaced = answered.flatMap((each): string[] => {
      const text = each.answer?.text ?? ''
      const mark = markOf(each)
      if (each.answer?.garbled !== undefined) return []
      if (mark === undefined || mark.includes('[[both:') || mark.includes('-sub:')) return []
      const [home] = this.conversationsWith('user', mark)
      const places = this.conversationsWith('assistant', text)
      return places.length === 1 && places[0] === home ? [] : [`${text} ${String(places.length)} times`]
    })
    this.check('each answer once, in its conversation', misplaced.length === 0, misplaced.join(', '))
    // A program that compacts in the middle of a turn may never send a result: upstream has a placeholder.
    const isSent = ({ texts }: ContextMessage): boolean => !texts.join('').startsWith('[no result of this call')
    const sent = new Set(
      this.received.flatMap(({ request }) => request.messages.filter(isSent).map(({ resultOf }) => resultOf)),
    )
    const calls = answered.flatMap(({ answer }) => answer?.calls ?? []).filter(({ id }) => sent.has(id))
    const results = this.logs.flatMap(({ events }) =>
      events.filter((event) => isOfType(event, 'MessageAppended')).filter(({ data }) => data.role === 'tool'),
    )
    // The context of the ledger keeps a call that the program copies into its list after a compaction: each has a result.
    const answeredCalls = results.map(({ data }) => data.toolCallId)
    const count = this.mode === 'compact' ? new Set(answeredCalls).size : answeredCalls.length
    this.check('each result once', count === calls.length, `${String(count)} results of ${String(calls.length)} calls`)
  }

  private compactions(): void {
    const { received } = this
    const recorded = this.logs.flatMap(({ events }) => events).filter((event) => isOfType(event, 'CompactionObserved'))
    const made = received.filter(
      ({ purpose, answer }, at) =>
        purpose === 'compaction' && answer !== undefined && received[at - 1]?.purpose !== 'compaction',
    )
    // Some programs drop items that they do not know.
    const byProvider = received.filter(
      ({ answer }) =>
        answer?.compaction !== undefined &&
        received.some(({ bytes }) => Buffer.from(bytes, 'base64').includes(answer.compaction ?? '')),
    )
    const unknown = recorded.filter(({ data }) => data.summary.kind === 'opaque')
    this.check(
      'each compaction of the program once',
      recorded.length - unknown.length === made.length,
      `${String(recorded.length - unknown.length)} recorded, ${String(made.length)} made`,
    )
    if (byProvider.length > 0)
      this.check(
        'each compaction of the provider once, unknown',
        unknown.length === byProvider.length,
        `${String(unknown.length)} recorded, ${String(byProvider.length)} made`,
      )
    const withSummary = recorded.filter(
      ({ data }) => data.summary.kind === 'text' && data.summary.text.includes(SUMMARY),
    )
    this.check(
      'each summary',
      withSummary.length === made.length,
      `${String(withSummary.length)} of ${String(made.length)}`,
    )
  }

  /** The log has the reason why an answer is missing. */
  private unreadable(): void {
    const garbled = this.received.filter(({ answer }) => answer?.garbled !== undefined)
    const noted = this.logs.flatMap(({ events }) => events.filter((event) => isOfType(event, 'TranscriptDamaged')))
    if (garbled.length > 0)
      this.check(
        'unreadable answers in the log',
        noted.length === garbled.length,
        `${String(noted.length)} of ${String(garbled.length)}`,
      )
  }

  /** Questions for a title or a summary are no messages. */
  private questions(): void {
    const receivedBefore = this.received
      .filter(({ purpose }) => purpose !== 'turn')
      .map(({ request }) => request.messages.findLast(({ role }) => role === 'user')?.texts.at(-1) ?? '')
      .filter((text) => text !== '' && ![EQUAL, ...this.turns.prompts].some((prompt) => text.includes(prompt)))
    const recorded = receivedBefore.filter((text) => this.conversationsWith('user', text).length > 0)
    this.check(
      'questions of the program are no messages',
      recorded.length === 0,
      recorded.map((text) => text.slice(-120)).join(' / '),
    )
    // Some programs write the summary into their list as an answer.
    const isInLists = this.received.some(({ request }) =>
      request.messages.some(({ role, texts }) => role === 'assistant' && texts.join('\n').includes(SUMMARY)),
    )
    const summaries = isInLists ? [] : this.conversationsWith('assistant', SUMMARY)
    this.check('answers to them are no messages', summaries.length === 0, `${String(summaries.length)} summaries`)
  }

  /** Rules, titles and requests are words of the user. */
  private async texts(): Promise<void> {
    const { ledger, listed, turns } = this
    const words = plainWords([...turns.prompts, EQUAL, 'Look at the files.'].join('\n'))
    const isOfUser = (text: string): boolean => words.includes(plainWords(text))
    const titles = listed.flatMap(({ title }) => title ?? [])
    const otherTitles = titles.filter((title) => !isOfUser(title.replace(/\[\[.*$/u, '')))
    this.check('titles are words of the user', otherTitles.length === 0, otherTitles.join(' / '))
    const rules: string[] = []
    for (const { conversationId } of listed) {
      const { statedRules } = await ledger.recall(conversationId)
      rules.push(...statedRules.map(({ text }) => text))
    }
    this.check(
      'the rule is known',
      rules.some((text) => plainWords(text).includes(plainWords(RULE))),
      rules.join(' / '),
    )
    const foreign = rules.filter((text) => !isOfUser(text))
    this.check('rules are words of the user', foreign.length === 0, foreign.join(' / '))
  }
}

/** Requests of the program that the proxy passed on unchanged: all, byte for byte. */
function checkUnchanged(trial: Trial, proxy: RunningProxy, received: readonly ReceivedRequest[]): void {
  const key = ({ path, headers, bytes }: Pick<RelayedRequest, 'path' | 'headers' | 'bytes'>): string =>
    JSON.stringify([pathOf(path), UNCHANGED(headers), bytes])
  const sent = proxy.requests
    .filter(({ method, path }) => method === 'POST' && MODEL_APIS.some((api) => api.matches(pathOf(path))))
    .map(key)
  const arrived = new Set(received.map(key))
  const changed = sent.filter((each) => !arrived.has(each))
  trial.check(
    `observe: requests byte for byte`,
    sent.length === received.length && changed.length === 0,
    `${String(changed.length)} changed, ${String(sent.length)} sent, ${String(received.length)} arrived`,
  )
}

/** The model accepted every request. */
function checkAccepted(trial: Trial, mode: string, received: readonly ReceivedRequest[]): void {
  const refused = received.filter(({ answer }) => answer === undefined).flatMap(({ problems }) => problems)
  trial.check(
    `${mode}: accepted by the model`,
    refused.length === 0 && received.length > 0,
    `${String(received.length)} requests; ${refused.join('; ')}`,
  )
}

/**
 * The state and the conversation of each request in the header of its answer. A question for a summary that nothing marks
 * is recorded until its answer shows what it was.
 */
function checkStates(trial: Trial, { requests }: RunningProxy): void {
  const states = requests.flatMap(({ method, path, bytes, answerHeaders }) => {
    const api = method === 'POST' ? MODEL_APIS.find((each) => each.matches(pathOf(path))) : undefined
    if (api === undefined) return []
    const body = fieldsOf(jsonOf(Buffer.from(bytes, 'base64').toString('utf8')))
    return [
      {
        purpose: trial.agent.purposeOf(api.read(body, path)),
        state: String(answerHeaders['x-context-ledger']),
        conversation: answerHeaders['x-context-ledger-conversation'],
      },
    ]
  })
  const ofTurns = new Set(states.flatMap(({ purpose, conversation }) => (purpose === 'turn' ? [conversation] : [])))
  const wrong = states.filter(({ purpose, state, conversation }) => {
    const isSide = state.startsWith('side call')
    if (purpose === 'turn') return !state.startsWith('recorded')
    return (purpose === 'other' && !isSide) || state === 'bypassed' || !ofTurns.has(conversation)
  })
  trial.check(
    'compact: each request is known as what it is, in its conversation',
    wrong.length === 0,
    [...new Set(wrong.map(({ purpose, state }) => `${purpose}: ${state}`))].join(', '),
  )
}

/** An answer that cannot be read is told on the output, in the header, in `log` and in `stats`. */
async function checkUnreadable(
  trial: Trial,
  mode: string,
  proxy: RunningProxy,
  received: readonly ReceivedRequest[],
): Promise<void> {
  const garbled = received.filter(({ answer }) => answer?.garbled !== undefined)
  const warnings = proxy
    .output()
    .split('\n')
    .filter((line) => line.includes('warning'))
  const isExpected = (line: string): boolean => garbled.length > 0 && line.includes('cannot be read')
  trial.check(`${mode}: no other warning`, warnings.every(isExpected), warnings.join(' / '))
  if (garbled.length === 0) return
  const kinds = new Set(garbled.map(({ answer }) => answer?.garbled))
  trial.check(`${mode}: unreadable answers on the output`, warnings.length === kinds.size, proxy.output())
  const named = proxy.requests.filter(({ answerHeaders }) =>
    String(answerHeaders['x-context-ledger']).includes('answer not recorded'),
  )
  const pages = garbled.filter(({ answer }) => answer?.garbled === 'html')
  trial.check(
    `${mode}: unreadable answers in the header`,
    named.length === pages.length,
    `${String(named.length)} of ${String(pages.length)}`,
  )
  const stats = await trial.ledger('stats', '--json')
  const { unreadable } = fieldsOf(fieldsOf(jsonOf(stats.stdout))['total'])
  trial.check(
    `${mode}: unreadable answers in stats`,
    unreadable === garbled.length,
    `${String(unreadable)} of ${String(garbled.length)}; ${stats.stderr}`,
  )
}

async function runMode(trial: Trial, mode: 'observe' | 'compact', ...words: readonly string[]): Promise<void> {
  trial.store = `${trial.root}/ledger-${mode}`
  const from = trial.model.requests.length
  const turns = new ProxiedTurns(trial, mode)
  const proxy = await startProxyOf(trial, '--mode', mode, ...words)
  try {
    await turns.session()
    await turns.twoAtOnce()
  } finally {
    await proxy.end()
  }
  const received = trial.model.requests.slice(from)
  checkAccepted(trial, mode, received)
  if (mode === 'observe') checkUnchanged(trial, proxy, received)
  else checkStates(trial, proxy)
  await checkUnreadable(trial, mode, proxy, received)
  await ProxiedLedger.check(trial, mode, turns, received)
}

async function run(trial: Trial): Promise<void> {
  const { proxy } = trial.agent
  if (proxy !== undefined) {
    trial.impossible('requests and answers', proxy.impossible)
    return
  }
  await runMode(trial, 'observe')
  if (!trial.isShort) await runMode(trial, 'compact', ...SMALL)
}

export const proxyScenario: Scenario = { name: 'proxy', run }
