/**
 * Handoff: a session of the program is imported and handed over to others with `context-ledger handoff`. Each resumes it
 * with the printed commands; the model accepts its first request, which has the messages of the session. Then the file is
 * damaged in the middle of a call, and the program itself resumes the session that `--repair` writes.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLedger } from '../../../src/index.js'
import { sessionWriters } from '../../../src/application/handoff/writers/index.js'
import type { AgentProgram } from '../agent.js'
import { AGENTS } from '../agents/index.js'
import { installProgram } from '../installation.js'
import { fieldsOf, jsonOf, listOf } from '../model/request.js'
import type { ReceivedRequest } from '../model/server.js'
import type { Scenario } from '../scenario.js'
import { failureOf, Trial } from '../trial.js'

const RULE = 'Rule: never touch harbour_prod.'

/** Targets of one source in a full run. */
const MOST_TARGETS = 2

/** The programs with a writer. */
const TARGETS = sessionWriters.flatMap(({ program }) => AGENTS.filter(({ name }) => name === program))

/** Some of the targets, so that all sources together have all of them. In a short run one source has one target. */
function targetsOf({ agent, isShort }: Trial): readonly AgentProgram[] {
  if (isShort) return TARGETS.filter(({ name }) => agent.name === 'codex' && name === 'claude-code')
  const otherTargets = TARGETS.filter(({ name }) => name !== agent.name)
  const from = AGENTS.indexOf(agent)
  return Array.from({ length: MOST_TARGETS }, (_none, at) => otherTargets[(from + at) % otherTargets.length]).filter(
    (each) => each !== undefined,
  )
}

/** The words of a shell command after `cd FOLDER &&`. A word may be in single quotes. */
const wordsOf = (command: string): readonly string[] =>
  [...command.replace(/^cd .*? && /u, '').matchAll(/'([^']*)'|(\S+)/gu)].map(([, quoted, bare]) => quoted ?? bare ?? '')

/** A session that was handed over, and the one that it was made of. */
interface HandedSession {
  /** Prompts, answers and results of the newest turn, which travel verbatim. */
  readonly texts: readonly string[]
  readonly results: readonly string[]
  readonly resume: readonly string[]
}

/** The program has a session with tools and, in a full run, a compaction. Returns the prompts. */
async function makeSession(trial: Trial): Promise<readonly string[] | undefined> {
  const tokens = `@${String(trial.agent.tokensToCompact)}`
  const newest = 'read plan.txt | write out.txt'
  const prompts =
    trial.agent.resume === undefined
      ? [
          `${RULE} [[tools: read notes.txt | ls]]`,
          ...(trial.isShort ? [] : [`Go on. [[fill: say ${tokens}]]`]),
          `Go on. [[newest: ${newest}]]`,
        ]
      : [`${RULE} [[newest: ${newest}]]`]
  let session: string | undefined
  for (const prompt of prompts) {
    const turn = await trial.turn(prompt, session)
    if (turn.result.status !== 0) {
      trial.check('a session to hand over', false, failureOf(turn))
      return undefined
    }
    session = turn.session
  }
  const paths = trial.agent.transcripts.map((path) => `${trial.site.home}/${path}`)
  const imported = await trial.ledger('import', ...paths, '--from', trial.agent.name)
  trial.check('context-ledger import', imported.status === 0, imported.stderr)
  return prompts
}

/** The id of the conversation with the session. */
async function conversationOf({ store }: Trial): Promise<string | undefined> {
  const ledger = await openLedger({ store })
  try {
    const { conversations } = await ledger.list({ grep: '[[newest:' })
    return conversations[0]?.conversationId
  } finally {
    await ledger.close()
  }
}

/** Texts and results of the newest turn, as the model of the program gave and received them. */
function newestTurn(requests: readonly ReceivedRequest[], prompt: string): Omit<HandedSession, 'resume'> {
  const ofTurn = requests.filter(
    ({ request, purpose }) =>
      purpose === 'turn' && request.messages.some(({ texts }) => texts.some((text) => text.includes('[[newest:'))),
  )
  const calls = new Set(ofTurn.flatMap(({ answer }) => answer?.calls ?? []).map(({ id }) => id))
  const last = ofTurn.at(-1)?.request.messages ?? []
  return {
    texts: [prompt, ...ofTurn.map(({ answer }) => answer?.text ?? '')],
    results: last
      .filter(({ role, resultOf }) => role === 'tool' && calls.has(resultOf ?? ''))
      .map(({ texts }) => texts.join('\n').trim())
      .filter((text) => text !== ''),
  }
}

/** Writes the session for a target, and lets the target resume it. */
async function handOver(source: Trial, target: Trial, conversationId: string, prompt: string): Promise<void> {
  const to = target.agent.name
  target.store = source.store
  const handed = await target.ledger('handoff', conversationId, '--to', to, '--cwd', target.site.project, '--json')
  const resume = listOf(fieldsOf(jsonOf(handed.stdout))['resume']).map(String)
  source.check(`to ${to}: handoff`, handed.status === 0 && resume.length > 0, handed.stderr)
  const last = wordsOf(resume.at(-1) ?? '')
  const session = last[last.findIndex((word) => /^(?:--)?(?:resume|session)$/u.test(word)) + 1]
  if (session === undefined) return
  source.check(`to ${to}: the model is one that the user has`, !last.includes('PROVIDER/MODEL'), resume.join('; '))
  for (const command of resume.slice(0, -1)) {
    const prepared = await target.run({ words: wordsOf(command).slice(1) })
    source.check(
      `to ${to}: ${wordsOf(command).slice(1, 2).join(' ')}`,
      prepared.status === 0,
      prepared.stderr.slice(-300),
    )
  }
  const turn = await target.turn('Go on. [[resumed: ls]]', session)
  source.check(`to ${to}: resumed`, turn.result.status === 0, failureOf(turn))
  const first = turn.requests.find(({ purpose }) => purpose === 'turn')
  source.check(
    `to ${to}: accepted by the model`,
    first?.answer !== undefined,
    first?.problems.join('; ') ?? 'the model received no request',
  )
  checkContent(source, to, first, newestTurn(source.model.requests, prompt))
}

/** The first request has the newest turn verbatim, and the rule. */
function checkContent(
  source: Trial,
  to: string,
  received: ReceivedRequest | undefined,
  { texts, results }: Omit<HandedSession, 'resume'>,
): void {
  const messages = received?.request.messages ?? []
  const all = messages.flatMap((message) => message.texts).join('\n')
  const missing = texts.filter((text) => !all.includes(text))
  source.check(`to ${to}: prompts and answers`, missing.length === 0, `missing: ${missing.join(' / ')}`)
  const lost = results.filter((text) => !all.includes(text))
  source.check(
    `to ${to}: results of calls`,
    lost.length === 0 && results.length > 0,
    `${String(lost.length)} of ${String(results.length)} missing: ${lost.join(' / ')}`,
  )
  source.check(`to ${to}: the rule`, all.includes(RULE), 'the request does not have it')
}

/** The mark of a line with the result of a call, in the files of programs that write lines. */
const RESULT_LINES: Readonly<Record<string, RegExp>> = {
  'claude-code': /"type":"tool_result"/u,
  codex: /"type":"(?:function|custom_tool)_call_output"/u,
  pi: /"role":"toolResult"/u,
}

/** Cuts the session off before the result of its last call, and adds a line that is no JSON. Returns its file. */
async function damageSession({ agent, site }: Trial, result: RegExp): Promise<string | undefined> {
  for (const transcripts of agent.transcripts) {
    const directory = join(site.home, transcripts)
    const names = await readdir(directory, { recursive: true })
    for (const name of names.filter((each) => each.endsWith('.jsonl'))) {
      const lines = (await readFile(join(directory, name), 'utf8')).trimEnd().split('\n')
      const last = lines.findLastIndex((line) => result.test(line))
      if (last === -1 || !lines.some((line) => line.includes('[[newest:'))) continue
      await writeFile(join(directory, name), `${lines.slice(0, last).join('\n')}\n{"type":"mess\n`)
      return join(directory, name)
    }
  }
  return undefined
}

/** Repairs the damaged session, and lets the program resume it. */
async function repair(trial: Trial, result: RegExp, prompt: string): Promise<void> {
  const file = await damageSession(trial, result)
  trial.check('repair: a session to damage', file !== undefined, 'no file has the newest prompt and a result')
  if (file === undefined) return
  const damaged = await readFile(file, 'utf8')
  trial.store = join(trial.root, 'ledger-of-repair')
  const imported = await trial.ledger('import', file, '--from', trial.agent.name)
  trial.check('repair: context-ledger import', imported.status === 0, imported.stderr)
  const id = await conversationOf(trial)
  if (id === undefined) return
  const words = ['--to', 'same', '--repair', '--cwd', trial.site.project, '--json']
  const handed = await trial.ledger('handoff', id, ...words)
  const report = fieldsOf(jsonOf(handed.stdout))
  const found = fieldsOf(report['repaired'])
  trial.check(
    'repair: the open call and the unreadable line are reported',
    found['openCalls'] === 1 && found['unreadableRecords'] === 1,
    handed.stderr === '' ? JSON.stringify(found) : handed.stderr,
  )
  trial.check('repair: the damaged file is as it was', (await readFile(file, 'utf8')) === damaged, 'it changed')
  const command = wordsOf(listOf(report['resume']).map(String).at(-1) ?? '')
  const session = command[command.findIndex((word) => /^(?:--)?(?:resume|session)$/u.test(word)) + 1]
  if (session === undefined) return
  const turn = await trial.turn('Go on. [[repaired: ls]]', session)
  trial.check('repair: resumed', turn.result.status === 0, failureOf(turn))
  const first = turn.requests.find(({ purpose }) => purpose === 'turn')
  const problems = first?.problems.join('; ') ?? 'the model received no request'
  trial.check('repair: accepted by the model', first?.answer !== undefined, problems)
  const all = (first?.request.messages ?? []).flatMap(({ texts }) => texts).join('\n')
  const missing = [prompt, '[Interrupted: the session ended before'].filter((text) => !all.includes(text))
  trial.check(
    'repair: the prompt, and the call as interrupted',
    missing.length === 0,
    `missing: ${missing.join(' / ')}`,
  )
}

async function run(trial: Trial): Promise<void> {
  const targets = targetsOf(trial)
  const result = RESULT_LINES[trial.agent.name]
  if (targets.length === 0 && result === undefined) return
  const prompts = await makeSession(trial)
  const newest = prompts?.at(-1)
  const conversationId = newest === undefined ? undefined : await conversationOf(trial)
  if (newest === undefined || conversationId === undefined) {
    trial.check('a session to hand over', false, 'no conversation has the newest prompt')
    return
  }
  for (const agent of targets) {
    const installed = await installProgram(agent)
    if ('reason' in installed) {
      trial.impossible(`to ${agent.name}`, installed.reason)
      continue
    }
    const target = await Trial.start(agent, installed)
    try {
      // Some programs create what a session needs when they run for the first time.
      const started = await target.turn('Begin. [[own: say Ready.]]')
      trial.check(`to ${agent.name}: a turn before`, started.result.status === 0, failureOf(started))
      await handOver(trial, target, conversationId, newest)
    } finally {
      await target.end()
    }
  }
  if (result !== undefined) await repair(trial, result, newest)
}

export const handoffScenario: Scenario = { name: 'handoff', run }
