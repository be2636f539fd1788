/** One scenario on one program: its directories, its model, its ledger, and the results of the checks. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isImpossible, type AgentCommand, type AgentProgram, type AgentSite, type Impossible } from './agent.js'
import { installProgram, type Installed } from './installation.js'
import { startScriptedModel, type ReceivedRequest, type ScriptedModel } from './model/server.js'
import { endProcessesOf, hasTerminal, runProcess, type ProcessResult } from './processes.js'

/** The command line as shipped. */
export const CONTEXT_LEDGER = fileURLToPath(new URL('../../dist/src/interfaces/cli/main.js', import.meta.url))

/** What a check found. */
export interface CheckResult {
  readonly name: string
  readonly outcome: 'works' | 'fails' | 'impossible'
  /** What failed, or why it is impossible. */
  readonly detail?: string | undefined
}

/** The result of one turn. */
export interface Turn {
  readonly result: ProcessResult
  /** The session of the turn, for the next one. */
  readonly session: string | undefined
  /** Requests that the model received meanwhile. */
  readonly requests: readonly ReceivedRequest[]
}

/** Files of every project. The prompts' scripts name them. */
const PROJECT_FILES = { 'notes.txt': 'The quay is 40 m long.\n', 'plan.txt': 'Plan: dredge in May.\n' }

export class Trial {
  readonly checks: CheckResult[] = []
  /** The file of `context-ledger`. */
  commandLine = CONTEXT_LEDGER
  /** Words before the command of the program: what starts it in other surroundings. */
  prefix: readonly string[] = []
  /** Measured values, for the page. */
  readonly figures: string[] = []
  /** The directory of the ledger. */
  store: string
  /** HOMEs whose processes end with the trial. */
  private readonly homes: string[]
  /** How many contexts were compared with requests of the program, and how many were equal. */
  readonly contexts = { compared: 0, equal: 0, leftOut: {} as Record<string, number> }

  private constructor(
    readonly agent: AgentProgram,
    private readonly installed: Installed,
    readonly root: string,
    /** Where the program runs, and its model. */
    public site: AgentSite,
    readonly model: ScriptedModel,
    /** For CI: only the checks that find most. */
    readonly isShort: boolean,
  ) {
    this.store = join(root, 'ledger')
    this.homes = [site.home]
  }

  /** Creates HOME and project of a program, and its model. */
  static async start(agent: AgentProgram, installed: Installed, isShort = false): Promise<Trial> {
    const root = await mkdtemp(join(tmpdir(), `context-ledger-${agent.name}-`))
    const model = await startScriptedModel(agent)
    const site = { home: join(root, 'home'), project: join(root, 'project'), modelUrl: model.url }
    await mkdir(site.home)
    await mkdir(site.project)
    for (const [name, text] of Object.entries(PROJECT_FILES)) await writeFile(join(site.project, name), text)
    await agent.configure(site)
    return new Trial(agent, installed, root, site, model, isShort)
  }

  /** Configures the program for a model at another address. */
  async pointAt(modelUrl: string): Promise<void> {
    this.site = { ...this.site, modelUrl }
    await this.agent.configure(this.site)
  }

  /** The same program with the same model and project, and a HOME of its own. */
  async sibling(): Promise<Trial> {
    const site = { ...this.site, home: join(this.root, 'home-of-sibling') }
    this.homes.push(site.home)
    await mkdir(site.home, { recursive: true })
    await this.agent.configure(site)
    return new Trial(this.agent, this.installed, this.root, site, this.model, this.isShort)
  }

  /** The program, or its adapter, as an editor runs it; the reason if the adapter cannot be had. */
  async acpCommand(): Promise<readonly string[] | { readonly reason: string } | undefined> {
    const { acp } = this.agent
    if (acp === undefined) return undefined
    const installed = acp.adapter === undefined ? this.installed : await installProgram({ installation: acp.adapter })
    return 'reason' in installed ? installed : [...installed.command, ...acp.words]
  }

  /** Runs the program with these arguments. */
  async run({ words, input, keys }: AgentCommand, interrupt?: AbortSignal): Promise<ProcessResult> {
    return await runProcess([...this.prefix, ...this.installed.command, ...words], {
      cwd: this.site.project,
      env: {
        ...this.environment(),
        ...(keys === undefined ? {} : { TERM: 'xterm-256color' }),
        ...this.agent.environment(this.site),
      },
      input,
      keys,
      ...(interrupt === undefined ? {} : { interrupt }),
    })
  }

  /** The environment of every process of the trial: of this machine it has only the PATH. */
  environment(): Record<string, string> {
    const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(':')
    return { PATH: path, HOME: this.site.home, LANG: 'C.UTF-8', TMPDIR: this.root }
  }

  /** One turn, in a new session or in an earlier one. */
  async turn(prompt: string, session?: string, interrupt?: AbortSignal): Promise<Turn> {
    return await this.command(this.agent.turn(prompt, session), session, interrupt)
  }

  /** The compaction that a user starts. */
  async compact(session: string): Promise<Turn | Impossible> {
    const { compact } = this.agent
    if (isImpossible(compact)) return compact
    const command = compact(session)
    if (command.keys !== undefined && !hasTerminal())
      return { impossible: 'this machine has no `script` of util-linux' }
    return await this.command(command, session)
  }

  /** A turn that the user interrupts as soon as the model has begun the answer of the step `hang`. */
  async interruptedTurn(prompt: string, session: string): Promise<Turn> {
    const interrupt = new AbortController()
    void this.model.hung().then(() => {
      interrupt.abort()
      return undefined
    })
    return await this.turn(prompt, session, interrupt.signal)
  }

  private async command(command: AgentCommand, session?: string, interrupt?: AbortSignal): Promise<Turn> {
    const from = this.model.requests.length
    const result = await this.run(command, interrupt)
    return {
      result,
      session: (await this.agent.sessionOf(result, this.site)) ?? session,
      requests: this.model.requests.slice(from),
    }
  }

  /** Runs `context-ledger WORDS` in the project, with the HOME of the program and the ledger of the trial. */
  async ledger(...words: readonly string[]): Promise<ProcessResult> {
    return await runProcess(this.ledgerCommand(words), { cwd: this.site.project, env: this.ledgerEnvironment() })
  }

  /** The command line as shipped, with these arguments. */
  ledgerCommand(words: readonly string[]): readonly string[] {
    return [process.execPath, this.commandLine, ...words]
  }

  ledgerEnvironment(): Record<string, string> {
    return { ...this.environment(), CONTEXT_LEDGER_STORE: this.store }
  }

  check(name: string, holds: boolean, detail?: string): void {
    const result: CheckResult = holds ? { name, outcome: 'works' } : { name, outcome: 'fails', detail }
    // A cause that persists is reported once.
    if (!this.checks.some((each) => each.name === name && each.detail === result.detail)) this.checks.push(result)
  }

  impossible(name: string, reason: string): void {
    this.checks.push({ name, outcome: 'impossible', detail: reason })
  }

  /** Ends the model and removes the directories, except if `CONTEXT_LEDGER_PROGRAMS_KEEP` is set. */
  async end(): Promise<void> {
    await this.model.close()
    for (const home of this.homes) await endProcessesOf(home)
    if (process.env['CONTEXT_LEDGER_PROGRAMS_KEEP'] !== undefined) {
      await writeFile(join(this.root, 'requests.json'), JSON.stringify(this.model.requests, null, 1))
      process.stderr.write(`kept ${this.root}\n`)
    } else await rm(this.root, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Why a turn failed. */
export const failureOf = ({ result: { status, stdout, stderr, isTimedOut }, requests }: Turn): string =>
  [
    isTimedOut ? 'did not end in time' : `status ${String(status)}`,
    ...requests.flatMap(({ problems }) => problems),
    stderr.trim().slice(-300) || stdout.trim().slice(-300),
  ].join('; ')
