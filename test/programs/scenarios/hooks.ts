/**
 * Hooks: `context-ledger install`, then turns with automatic compactions. After each compaction, the requests that the
 * model received contain the note once, with the rule of the first message. At the end, the settings are as before.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { agentPrograms } from '../../../src/interfaces/cli/install/index.js'
import { hookFolder } from '../hook-files.js'
import { describeArrivals, notedCompactions, type NotedCompaction } from '../notes.js'
import type { Scenario } from '../scenario.js'
import { TROUBLES, withShell, type Surroundings } from '../surroundings.js'
import type { Trial, Turn } from '../trial.js'

const RULE = 'Rule: never touch harbour_prod.'
/** The time that the model takes for each answer. */
const ANSWER_MS = 1_000
/** Compactions of the longest session. */
const COMPACTIONS = 20
/** How long a user waits for a note before the next prompt, on a loaded machine. */
const MOST_NOTE_MS = 60_000
const POLL_MS = 50
const MOST_NOTE_SHOWN = 600
/** What a user would see of a hook that failed. */
const COMPLAINT =
  /\bhooks?\b[^\n]{0,200}\b(?:failed|error|timed out|exited)\b|\b(?:failed|error|timed out)\b[^\n]{0,40}\b(?:in|of|running|executing) [^\n]{0,40}\bhook/iu

/** Texts by path. */
type Files = ReadonlyMap<string, string>

async function filesBelow(folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = await Promise.all(
    paths.map(async (path) => {
      // A process that still ends may remove a file of its own.
      const text = await readFile(path, 'latin1').catch(() => undefined)
      return text === undefined ? [] : [[path, text] as const]
    }),
  )
  return new Map(files.flat())
}

class HookScenario {
  constructor(private readonly trial: Trial) {}

  /** A turn. The user sees no error of a hook. */
  async turn(name: string, steps: string, session: string | undefined, text = 'Go on.'): Promise<Turn> {
    const turn = await this.trial.turn(`${text} [[${name}: ${steps}]]`, session)
    const { status, stdout, stderr } = turn.result
    const complaint = COMPLAINT.exec(`${stdout}\n${stderr}`)?.[0]
    this.trial.check(
      'the program goes on',
      status === 0 && complaint === undefined,
      `${name}: status ${String(status)}; ${complaint ?? (stderr.slice(-300) || stdout.slice(-300))}`,
    )
    return turn
  }

  /** Waits as a user does before the next prompt: until no note is being made. */
  async awaitNotes(): Promise<void> {
    const until = Date.now() + MOST_NOTE_MS
    const isMaking = async (): Promise<boolean> => {
      const names = await readdir(join(hookFolder(this.trial), 'notes')).catch(() => [])
      return names.some((name) => name.endsWith('.pending'))
    }
    while (Date.now() < until && (await isMaking())) await delay(POLL_MS)
  }

  /** A session with compactions in some surroundings, each with its note. */
  async session({ name, compactions, answerMs = ANSWER_MS, trouble, isWithoutNote }: Surroundings): Promise<void> {
    const { trial } = this
    const mark = name.replaceAll(/\W+/gu, '-')
    const from = trial.model.requests.length
    trial.model.delayMs = answerMs
    const tokens = `@${String(trial.agent.tokensToCompact)}`
    let { session } = await this.turn(`${mark}-0`, 'read notes.txt', undefined, RULE)
    for (let at = 1; at <= compactions; at += 1) {
      // The hooks that will be missing must give the notes before.
      if (isWithoutNote === true && at === compactions) await this.turn(`${mark}-noted`, 'ls', session)
      const end = at === compactions ? await trouble?.(trial) : undefined
      const steps = `ls | read notes.txt ${tokens} | ls | read plan.txt | ls`
      session = (await this.turn(`${mark}-${String(at)}`, steps, session)).session
      await end?.()
      await this.awaitNotes()
    }
    await this.turn(`${mark}-end`, 'ls', session)
    const found = notedCompactions(trial.model.requests.slice(from), answerMs)
    trial.check(
      `${name}: compactions`,
      found.length === compactions,
      `${String(found.length)} of ${String(compactions)}`,
    )
    this.checkNotes(name, found, isWithoutNote === true ? compactions - 1 : compactions)
  }

  /** The first compactions have one note each, with the rule; the others have none. */
  private checkNotes(name: string, compactions: readonly NotedCompaction[], noted: number): void {
    const { trial } = this
    const numbered = compactions.map(({ notes, requests, context }, at) => ({
      notes,
      // After a compaction that keeps the rule, nothing is missing, and there is no note.
      isRight: notes.length === (at < noted && !(notes.length === 0 && context.includes(RULE)) ? 1 : 0),
      // A note has only what the context lacks, and some programs keep every message of the user.
      hasRule: notes.every((note) => note.text.includes(RULE) !== note.context.includes(RULE)),
      words: `compaction ${String(at + 1)}: ${String(notes.length)} notes in ${String(requests)} requests`,
      texts: notes.map(({ text }) => text.slice(0, MOST_NOTE_SHOWN)).join(' | '),
    }))
    const wrong = numbered.filter(({ isRight }) => !isRight)
    trial.check(`${name}: the note once`, wrong.length === 0, wrong.map(({ words }) => words).join(', '))
    const ruleless = numbered.filter(({ hasRule }) => !hasRule)
    trial.check(
      `${name}: the rule in each note, or kept by the program`,
      ruleless.length === 0,
      ruleless.map(({ words, texts }) => `${words}: ${texts}`).join(', '),
    )
    trial.figures.push(`${name}: ${describeArrivals(compactions)}`)
  }

  /** Runs a session in surroundings, if this machine can have them. */
  async sessionIn(surroundings: Surroundings): Promise<void> {
    const obstacle = surroundings.obstacle?.()
    if (obstacle !== undefined) {
      this.trial.impossible(surroundings.name, obstacle)
      return
    }
    const end = await surroundings.prepare?.(this.trial)
    try {
      await this.session(surroundings)
    } finally {
      await end?.()
    }
  }
}

/** The settings after a removal are as before the installation. */
async function checkRemoval(trial: Trial): Promise<void> {
  const { home } = trial.site
  const before = await filesBelow(home)
  const words = ['--agent', trial.agent.name, '--yes']
  await trial.ledger('install', ...words)
  const installed = await filesBelow(home)
  const { status, stdout } = await trial.ledger('install', '--remove', '--yes')
  const after = await filesBelow(home)
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  )
  trial.check(
    'removal byte for byte',
    status === 0 && installed.size > before.size && changed.length === 0,
    `${stdout}; ${changed.join(', ')}`,
  )
}

/** The settings after all sessions have nothing of this package, and those that the program did not write are as before. */
async function checkLastRemoval(trial: Trial, before: Files, installed: Files): Promise<void> {
  const { home } = trial.site
  const used = await filesBelow(home)
  const { status, stdout } = await trial.ledger('install', '--remove', '--yes')
  const after = await filesBelow(home)
  const changedPaths = [...installed.keys()].filter((path) => installed.get(path) !== before.get(path))
  const wrong = changedPaths.filter((path) =>
    used.get(path) === installed.get(path)
      ? after.get(path) !== before.get(path)
      : /src\/interfaces\/cli\/(?:hook|main\.js)/u.test(after.get(path) ?? ''),
  )
  trial.check('removal after the sessions', status === 0 && wrong.length === 0, `${stdout}; ${wrong.join(', ')}`)
}

async function run(trial: Trial): Promise<void> {
  const { agent, site } = trial
  if (!agentPrograms.some(({ name }) => name === agent.name)) {
    trial.impossible('hooks', '`context-ledger install` does not know the program')
    return
  }
  await checkRemoval(trial)
  const before = await filesBelow(site.home)
  const { status, stdout, stderr } = await trial.ledger('install', '--agent', agent.name, '--yes')
  trial.check('install', status === 0, `${stdout}${stderr}`)
  const installed = await filesBelow(site.home)
  const scenario = new HookScenario(trial)
  const compactions = trial.isShort ? 2 : COMPACTIONS
  const dash = withShell('dash', compactions)
  await scenario.sessionIn(dash)
  if (dash.obstacle?.() !== undefined) await scenario.sessionIn({ name: 'the shell of this machine', compactions })
  if (!trial.isShort) for (const each of TROUBLES) await scenario.sessionIn(each)
  await checkLastRemoval(trial, before, installed)
}

export const hooksScenario: Scenario = { name: 'hooks', run }
