/**
 * Compactor: `context-ledger install --compact`, then sessions in which the ledger makes the summaries. The
 * program accepts each, the next request has the rule of the first message and the working state, and nothing is lost.
 * If the ledger cannot answer in time, the program makes its own.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { lockFolder } from '../../../src/adapters/pglite/folder-lock.js'
import { OWN_SUMMARY_BEGINNING } from '../../../src/domain/values/own-compactor.js'
import { agentPrograms } from '../../../src/interfaces/cli/install/index.js'
import type { ReceivedRequest } from '../model/server.js'
import { fieldsOf, jsonOf, listOf } from '../model/request.js'
import { processesOf } from '../processes.js'
import { importSessions } from '../recorded-session.js'
import type { Scenario } from '../scenario.js'
import type { Trial, Turn } from '../trial.js'

const RULE = 'Rule: never touch harbour_prod.'
/** The beginning of a summary of the ledger, and of the working state in it. */
const SUMMARY_BEGINNING = OWN_SUMMARY_BEGINNING
const STATE_BEGINNING = '## Working state'
const SESSIONS = 20
const COMPACTIONS = 3
/** Lines of the file that fills the context. */
const LINES = 300
/** A share of the window from which on the session is recorded while the agent works. */
const FILLED = 0.6
const POLL_MS = 20
const SLOW_MS = 3_000

/** Ends a disturbance. */
type End = () => unknown

const hasText = ({ request: { instructions, messages } }: ReceivedRequest, text: string): boolean =>
  [instructions, ...messages.flatMap((message) => message.texts)].some((each) => each.includes(text))

/** Sends signals to each process that makes a summary, as soon as it runs. */
function meetCompactors(home: string, meet: (pid: number) => void): End {
  const met = new Set<number>()
  const timer = setInterval(() => {
    void processesOf(home, 'compact-main').then((pids) => {
      for (const pid of pids) if (!met.has(pid)) meet(pid)
      for (const pid of pids) met.add(pid)
      return undefined
    })
  }, POLL_MS)
  return () => {
    clearInterval(timer)
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

/** Reasons for which the program makes its own summary. Each begins before the compaction, and ends after it. */
const FALLBACKS: Readonly<Record<string, (trial: Trial) => Promise<End>>> = {
  killed: async ({ site: { home } }) =>
    meetCompactors(home, (pid) => {
      signal(pid, 'SIGKILL')
    }),
  'slow by 3 s': async ({ site: { home } }) =>
    meetCompactors(home, (pid) => {
      signal(pid, 'SIGSTOP')
      setTimeout(() => {
        signal(pid, 'SIGCONT')
      }, SLOW_MS)
    }),
  async locked({ store, site: { home } }) {
    for (const pid of await processesOf(home, 'resident-main')) signal(pid, 'SIGTERM')
    while ((await processesOf(home, 'resident-main')).length > 0) await delay(POLL_MS)
    const lock = await lockFolder(store)
    return async () => {
      await lock.release()
    }
  },
}

class CompactorScenario {
  private accepted = 0
  private compactions = 0
  private fallbacks = 0

  constructor(private readonly trial: Trial) {}

  private async turn(name: string, steps: string, session: string | undefined, text = 'Go on.'): Promise<Turn> {
    const turn = await this.trial.turn(`${text} [[${name}: ${steps}]]`, session)
    const { status, stderr, stdout } = turn.result
    this.trial.check('the program goes on', status === 0, `${name}: ${stderr.slice(-300) || stdout.slice(-300)}`)
    return turn
  }

  /** Waits as a user does before the next prompt: until the session is recorded, and its note is made. */
  private async awaitProcesses(): Promise<void> {
    const { home } = this.trial.site
    for (const name of ['compact-main', 'worker-main'])
      while ((await processesOf(home, name)).length > 0) await delay(POLL_MS)
  }

  /** A turn after which more than half of the window is used. */
  private async fill(name: string, session: string | undefined): Promise<string | undefined> {
    await this.awaitProcesses()
    const tokens = Math.floor(this.trial.agent.tokensToCompact * FILLED)
    const turn = await this.turn(name, `say @${String(tokens)}`, session)
    await this.awaitProcesses()
    return turn.session
  }

  /** A turn in which the program compacts. Returns its requests after the compaction, and whether a model summarized. */
  private async compact(name: string, session: string | undefined) {
    const steps = `read long.txt | ls @${String(this.trial.agent.tokensToCompact)} | ls | read plan.txt`
    const turn = await this.turn(name, steps, session)
    const isByModel = turn.requests.some(({ purpose }) => purpose === 'compaction')
    return { session: turn.session, last: turn.requests.at(-1), isByModel }
  }

  /** A session that the ledger compacts. */
  async session(name: string): Promise<void> {
    const { trial } = this
    let { session } = await this.turn(`${name}-0`, 'read long.txt | ls', undefined, RULE)
    for (let at = 1; at <= COMPACTIONS; at += 1) {
      session = await this.fill(`${name}-fill-${String(at)}`, session)
      const after = await this.compact(`${name}-${String(at)}`, session)
      session = after.session
      const { last } = after
      this.compactions += 1
      const isOurs = last !== undefined && hasText(last, SUMMARY_BEGINNING)
      if (isOurs) this.accepted += 1
      trial.check(
        'each next request has the rule and the working state',
        !isOurs || (hasText(last, RULE) && hasText(last, STATE_BEGINNING)),
        `${name}, compaction ${String(at)}`,
      )
    }
    await this.turn(`${name}-end`, 'ls', session)
    await this.awaitProcesses()
  }

  /** A session that the program compacts itself. */
  async fallback(name: string, begin: (trial: Trial) => Promise<End>): Promise<void> {
    const mark = `fallback-${name.replaceAll(/\W+/gu, '-')}`
    let { session } = await this.turn(mark, 'read long.txt', undefined, RULE)
    session = await this.fill(`${mark}-fill`, session)
    const end = await begin(this.trial)
    const after = await this.compact(`${mark}-compacted`, session)
    await end()
    await this.turn(`${mark}-end`, 'ls', after.session)
    await this.awaitProcesses()
    const { last, isByModel } = after
    const isFallback = isByModel && last !== undefined && !hasText(last, SUMMARY_BEGINNING)
    if (isFallback) this.fallbacks += 1
    this.trial.check(`${name}: the program makes its own summary`, isFallback, `by the model: ${String(isByModel)}`)
  }

  /** A session with a compaction while another extension makes summaries. */
  async another(begin: () => Promise<End>): Promise<void> {
    let { session } = await this.turn('another', 'read long.txt', undefined, RULE)
    session = await this.fill('another-fill', session)
    const end = await begin()
    const { last } = await this.compact('another-compacted', session)
    await end()
    await this.awaitProcesses()
    const isTheirs = last !== undefined && hasText(last, 'Summary of another extension.')
    this.trial.check('the summary of another extension stays', isTheirs)
  }

  report(): void {
    const { trial } = this
    trial.check(
      'the program accepts each summary of the ledger',
      this.accepted === this.compactions,
      `${String(this.accepted)} of ${String(this.compactions)}`,
    )
    trial.figures.push(
      `${String(this.accepted)} of ${String(this.compactions)} compactions by the ledger; ${String(this.fallbacks)} of ${String(Object.keys(FALLBACKS).length)} fallbacks`,
    )
  }

  /** All that was said is recorded, each compaction names its author, and the log is intact. */
  async checkLog(): Promise<void> {
    const { trial } = this
    await importSessions(trial)
    const list = await trial.ledger('list', '--limit', '1000', '--json')
    const ids = listOf(fieldsOf(jsonOf(list.stdout))['conversations']).map((each) =>
      String(fieldsOf(each)['conversationId']),
    )
    const texts: string[] = []
    for (const id of ids) texts.push((await trial.ledger('log', id, '--json')).stdout)
    const promptTexts = trial.model.requests.flatMap(({ request }) =>
      request.messages.flatMap(({ role, texts: all }) => (role === 'user' ? all : [])),
    )
    const marks = new Set(
      promptTexts.flatMap((text) => [...text.matchAll(/\[\[([\w-]+):/gu)].map(([, mark]) => mark ?? '')),
    )
    const lost = [...marks].filter((mark) => !texts.some((text) => text.includes(`[[${mark}:`)))
    trial.check('nothing is lost', lost.length === 0, lost.join(', '))
    const named = texts.reduce((sum, text) => sum + text.split('"madeBy":"context-ledger"').length - 1, 0)
    trial.check('each compaction of the ledger says so in the log', named === this.accepted, String(named))
    const verified = await trial.ledger('verify')
    trial.check('verify', verified.status === 0, `${verified.stdout}${verified.stderr}`.slice(-400))
  }
}

/** How long the compactions of pi took, from its session files. */
async function durations(trial: Trial): Promise<readonly number[]> {
  const folder = join(trial.site.home, '.pi', 'agent', 'sessions')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const texts = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => await readFile(join(entry.parentPath, entry.name), 'utf8')),
  )
  return texts
    .flatMap((text) =>
      [...text.matchAll(/"madeBy":"context-ledger"[^}]*"durationMs":(\d+)/gu)].map(([, ms]) => Number(ms)),
    )
    .toSorted((a, b) => a - b)
}

/** Another extension that makes summaries keeps its own. */
async function checkOtherExtension(trial: Trial, scenario: CompactorScenario): Promise<void> {
  const file = join(trial.site.home, '.pi', 'agent', 'extensions', 'another.ts')
  await scenario.another(async () => {
    await writeFile(
      file,
      `export default (pi) => pi.on('session_before_compact', ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({ compaction: { summary: 'Summary of another extension.', firstKeptEntryId, tokensBefore } }))\n`,
    )
    return async () => {
      await rm(file)
    }
  })
}

async function run(trial: Trial): Promise<void> {
  const { agent, site } = trial
  if (agentPrograms.find(({ name }) => name === agent.name)?.compacts !== true) {
    trial.impossible('compactor', 'the program does not let a plugin make its summaries')
    return
  }
  const lines = Array.from({ length: LINES }, (_, at) => `Berth ${String(at)} is ${String(at * 7)} m from the gate.`)
  await writeFile(join(site.project, 'long.txt'), lines.join('\n'))
  const { status, stdout, stderr } = await trial.ledger('install', '--agent', agent.name, '--compact', '--yes')
  trial.check('install', status === 0, `${stdout}${stderr}`)
  const checked = await trial.ledger('install', '--check')
  trial.check('install --check', checked.status === 0, `${checked.stdout}${checked.stderr}`)
  const scenario = new CompactorScenario(trial)
  for (let at = 1; at <= (trial.isShort ? 1 : SESSIONS); at += 1) await scenario.session(`session-${String(at)}`)
  for (const [name, begin] of Object.entries(FALLBACKS)) await scenario.fallback(name, begin)
  if (agent.name === 'pi') await checkOtherExtension(trial, scenario)
  scenario.report()
  await scenario.checkLog()
  const all = await durations(trial)
  if (all.length > 0)
    trial.figures.push(
      `a compaction by the ledger without a model: median ${String(all[Math.floor(all.length / 2)])} ms, ${String(all[0])} to ${String(all.at(-1))} ms`,
    )
  const removed = await trial.ledger('install', '--remove', '--yes')
  trial.check('removal', removed.status === 0, `${removed.stdout}${removed.stderr}`)
}

export const compactorScenario: Scenario = { name: 'compactor', run }
