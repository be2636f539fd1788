/**
 * Import: after every turn, the transcripts are imported, and the context of the conversation is compared with the
 * last request that the model received, and its answer. At the end, each prompt, answer, result and compaction is counted.
 */
import { isOfType } from '../../../src/application/recording/read-event.js'
import { isImpossible } from '../agent.js'
import { firstDifference, normalContext } from '../compare-contexts.js'
import { countNew, Imported, messagesIn, type RecordedLog } from '../imported.js'
import type { ContextMessage } from '../model/request.js'
import { SUMMARY, type ReceivedRequest } from '../model/server.js'
import type { Scenario } from '../scenario.js'
import { failureOf, type Trial, type Turn } from '../trial.js'

/** The rule that the summary omits. */
const RULE = 'Rule: never touch harbour_prod.'

/** The context right after an answer: the request, and the answer. */
const contextAfter = ({ request, answer }: ReceivedRequest): readonly ContextMessage[] => [
  ...request.messages,
  {
    role: 'assistant',
    texts: answer?.text === undefined ? [] : [answer.text],
    calls: (answer?.calls ?? []).map(({ id, name, input }) => ({ id, name, input })),
  },
]

/** Requests of the conversation itself: a sub-agent's prompt has a mark of its own. */
const ofConversation = ({ purpose, request }: ReceivedRequest): boolean =>
  purpose === 'turn' &&
  !request.messages.some(({ role, texts }) => role === 'user' && texts.some((text) => text.includes('-sub:')))

class ImportScenario {
  /** Marks of the prompts, in order. */
  private readonly prompts: string[] = []
  private hasCompacted = false
  /** Requests with answers that the program does not keep. */
  private readonly dropped: ReceivedRequest[] = []
  /** The conversation of the newest turn. */
  private conversationId = ''

  constructor(
    private readonly trial: Trial,
    private readonly imported: Imported,
  ) {}

  /** A turn in a session; the context after it is compared. */
  async turn(name: string, steps: string, session: string | undefined, text = 'Go on.'): Promise<Turn> {
    const { trial } = this
    const mark = `[[${name}: ${steps}]]`
    const turn = await trial.turn(`${text} ${mark}`, session)
    trial.check(`turn ${name}`, turn.result.status === 0, failureOf(turn))
    const isCompacted = turn.requests.some(({ purpose }) => purpose === 'compaction')
    if (isCompacted) this.hasCompacted = true
    if (isCompacted && !(await this.imported.isStored(mark))) await this.noteDropped(name, turn)
    else this.prompts.push(mark)
    await this.imported.update()
    await this.compare(name, turn)
    return turn
  }

  /** The program replaced the beginning of the turn by a summary before the turn ended, so that no import can read it. */
  private async noteDropped(name: string, { requests }: Turn): Promise<void> {
    for (const request of requests)
      if (!(await this.imported.isStored(request.answer?.text ?? ''))) this.dropped.push(request)
    this.trial.impossible(
      `prompt of ${name}`,
      'the program itself drops it: after a compaction in the middle of a turn its files have only the summary',
    )
  }

  /** Compares the imported context with the model's last request. */
  async compare(name: string, { requests }: Turn): Promise<void> {
    const { trial, imported } = this
    const last = requests.findLast((request) => ofConversation(request) && request.answer !== undefined)
    if (last === undefined) {
      trial.check(`context after ${name}`, false, 'the model received no request')
      return
    }
    // A program that compacts after its last answer shows the context in its next request.
    if (requests.slice(requests.indexOf(last)).some(({ purpose }) => purpose === 'compaction')) return
    const log = await imported.conversationWith(`[[${name}:`)
    if (log === undefined && (await imported.isStored(`[[${name}:`))) {
      trial.check(`context after ${name}`, false, 'no conversation has the prompt')
      return
    }
    this.conversationId = log?.conversationId ?? this.conversationId
    const received = normalContext(contextAfter(last), trial.agent.additions)
    const context = normalContext(await imported.context(this.conversationId), trial.agent.additions)
    const difference = firstDifference(received, context)
    if (this.hasCompacted) {
      trial.contexts.compared += 1
      if (difference === undefined) trial.contexts.equal += 1
    }
    for (const [kind, count] of received.leftOut)
      trial.contexts.leftOut[kind] = (trial.contexts.leftOut[kind] ?? 0) + count
    trial.check(`context after ${name}`, difference === undefined, difference)
  }

  /** A sub-agent's conversation names its parent. */
  async subAgent(): Promise<void> {
    const logs = await this.imported.logs()
    const children = logs.filter(({ events }) =>
      events.some((event) => isOfType(event, 'ConversationObserved') && event.data.parent?.how === 'sub-agent'),
    )
    this.trial.check('sub-agent', children.length === 1, `${String(children.length)} conversations of sub-agents`)
  }

  /** The user stops a turn, and continues the session. */
  async interrupt(session: string | undefined): Promise<void> {
    const { trial } = this
    const mark = '[[stopped: read notes.txt | hang]]'
    const stopped = await trial.interruptedTurn(`Go on. ${mark}`, session ?? '')
    await this.imported.update()
    const continued = await this.turn('continued', 'ls', session)
    const isKept = continued.requests.some(({ request: { messages } }) =>
      messages.some(({ texts }) => texts.some((text) => text.includes(mark))),
    )
    if (isKept) this.prompts.push(mark)
    else {
      this.dropped.push(...stopped.requests)
      trial.impossible('interrupted turn', 'the program itself drops it: its next request does not have it')
    }
  }

  /** Two sessions in one project at the same time. */
  async twoAtOnce(): Promise<void> {
    const names = ['left', 'right']
    const marks = names.map((name) => `[[${name}: read notes.txt | ls]]`)
    this.prompts.push(...marks)
    await Promise.all(marks.map(async (mark) => await this.trial.turn(`Begin. ${mark}`)))
    await this.imported.update()
    const logs = await Promise.all(names.map(async (name) => await this.imported.conversationWith(`[[${name}:`)))
    const ids = new Set(logs.flatMap((log) => (log === undefined ? [] : [log.conversationId])))
    const answers = names.map((name, at) =>
      messagesIn(logs[at]?.events ?? [], 'assistant').every((text) => !text.includes(names[1 - at] ?? name)),
    )
    this.trial.check(
      'two sessions',
      ids.size === 2 && answers.every(Boolean),
      `${String(ids.size)} conversations, answers apart: ${answers.join(', ')}`,
    )
  }

  /** Each prompt, answer, result and compaction is recorded once. */
  async count(): Promise<void> {
    const { trial, imported } = this
    const logs = await imported.logs()
    const all = logs.flatMap(({ events }) => events)
    const users = messagesIn(all, 'user')
    const wrongPrompts = this.prompts.filter((mark) => users.filter((text) => text.includes(mark)).length !== 1)
    trial.check('each prompt once', wrongPrompts.length === 0, wrongPrompts.join(', '))
    const answered = trial.model.requests.filter(
      (each) => each.purpose === 'turn' && each.answer !== undefined && !this.dropped.includes(each),
    )
    const assistants = messagesIn(all, 'assistant')
    const wrongAnswers = answered
      .filter(({ answer }) => answer?.hangs !== true)
      .map(({ answer }) => answer?.text ?? '')
      .filter((text) => assistants.filter((each) => each.includes(text)).length !== 1)
    trial.check('each answer once', wrongAnswers.length === 0, wrongAnswers.join(', '))
    const compactions = all.filter((event) => isOfType(event, 'CompactionObserved'))
    // A program may ask for the summary of one compaction in several requests.
    const summaries = trial.model.requests.filter(
      ({ purpose, answer }, at) =>
        purpose === 'compaction' && answer !== undefined && trial.model.requests[at - 1]?.purpose !== 'compaction',
    )
    trial.check(
      'each compaction once',
      compactions.length === summaries.length,
      `${String(compactions.length)} recorded, ${String(summaries.length)} made`,
    )
    const withSummary = compactions.filter(
      ({ data }) => data.summary.kind === 'text' && data.summary.text.includes(SUMMARY),
    )
    trial.check(
      'each summary',
      withSummary.length === compactions.length,
      `${String(withSummary.length)} have the text`,
    )
    this.countResults(logs)
  }

  private countResults(logs: readonly RecordedLog[]): void {
    const remaining = this.trial.model.requests.filter((each) => !this.dropped.includes(each))
    const answers = remaining.flatMap(({ answer }) => answer?.calls ?? [])
    const results = logs
      .flatMap(({ events }) => events)
      .filter((event) => isOfType(event, 'MessageAppended'))
      .filter(({ data }) => data.role === 'tool')
    this.trial.check(
      'each result once',
      results.length === answers.length,
      `${String(results.length)} results of ${String(answers.length)} calls`,
    )
  }

  /** The import by the command line. */
  async commandLine(): Promise<void> {
    const { trial, imported } = this
    trial.check('second import records nothing', countNew(await imported.update()) === 0)
    const paths = trial.agent.transcripts.map((path) => `${trial.site.home}/${path}`)
    const first = await trial.ledger('import', ...paths, '--from', trial.agent.name)
    trial.check('context-ledger import', first.status === 0, first.stderr)
    const verified = await trial.ledger('verify')
    trial.check('verify', verified.status === 0, `${verified.stdout}${verified.stderr}`)
  }
}

/** The user compacts, and continues. */
async function manualCompaction(
  trial: Trial,
  session: string,
  next: (name: string, steps: string) => Promise<void>,
): Promise<void> {
  const manual = await trial.compact(session)
  if (isImpossible(manual)) {
    trial.impossible('manual compaction', manual.impossible)
    return
  }
  trial.check(
    'manual compaction',
    manual.requests.some(({ purpose }) => purpose === 'compaction'),
    'the model received no request for a summary',
  )
  await next('manual', 'read plan.txt')
}

async function run(trial: Trial): Promise<void> {
  const imported = await Imported.open(trial)
  try {
    const scenario = new ImportScenario(trial, imported)
    const tokens = `@${String(trial.agent.tokensToCompact)}`
    let { session } = await scenario.turn('tools', 'read notes.txt | ls', undefined, RULE)
    if (session === undefined) {
      trial.check('resume', false, 'the program’s output has no session')
      return
    }
    const next = async (name: string, steps: string): Promise<void> => {
      session = (await scenario.turn(name, steps, session)).session
    }
    if (!trial.isShort) await next('resume', 'write out.txt | read notes.txt & ls')
    if (trial.agent.resume === undefined) {
      await next('fill', `say ${tokens}`)
      await next('automatic', 'ls')
    } else trial.impossible('resume', trial.agent.resume.impossible)
    await next('middle', `ls ${tokens} | read notes.txt`)
    if (!trial.isShort) {
      await next('later', 'read plan.txt')
      await manualCompaction(trial, session, next)
      if (trial.agent.tools.delegate !== undefined) {
        await next('delegate', 'task read notes.txt')
        await scenario.subAgent()
      }
      if (trial.agent.resume === undefined) await scenario.interrupt(session)
      await scenario.twoAtOnce()
    }
    await scenario.count()
    await scenario.commandLine()
  } finally {
    await imported.close()
  }
}

export const importScenario: Scenario = { name: 'import', run }
