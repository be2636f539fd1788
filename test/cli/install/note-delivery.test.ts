/**
 * Law: in whatever order a program compacts, asks and restarts, hooks start, and a worker makes notes, each compaction
 * gets at most one note, and only its own; and exactly one as soon as all processes have done their work.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { makeNote } from '../../../src/interfaces/cli/hook/make-note.js'
import { runHook } from '../../../src/interfaces/cli/hook/run-hook.js'
import type { AgentProgram } from '../../../src/interfaces/cli/install/agent-program.js'
import { agentPrograms } from '../../../src/interfaces/cli/install/index.js'
import { openLedger, type Ledger } from '../../../src/index.js'
import { LedgerError } from '../../../src/lib/ledger-error.js'
import { isRecord } from '../../../src/lib/is-record.js'
import { ruleOf, sessionOf } from '../../support/compacted-sessions.js'
import { isLong } from '../../support/length.js'

/** `settle`: all processes do their work, and the program then asks its model. */
type Action =
  | { readonly kind: 'compact'; readonly isAnnounced: boolean; readonly isWrittenLate: boolean; readonly ends: boolean }
  | { readonly kind: 'hook' | 'work' | 'prompt' | 'tool' | 'restart' | 'lock' | 'unlock' | 'settle' }
  | { readonly kind: 'rest'; readonly seconds: number }

/** `isMeanwhile`: if a worker runs, this happens before it goes on. */
type Happening = Action & { readonly isMeanwhile: boolean }

const compaction = { kind: 'compact', isAnnounced: false, isWrittenLate: false, ends: false } as const

const actions: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('compact' as const),
      isAnnounced: fc.boolean(),
      isWrittenLate: fc.boolean(),
      ends: fc.boolean(),
    }),
  },
  ...(['hook', 'work', 'tool'] as const).map((kind) => ({ weight: 4, arbitrary: fc.constant({ kind }) })),
  ...(['prompt', 'restart', 'lock', 'unlock', 'settle'] as const).map((kind) => ({
    weight: 1,
    arbitrary: fc.constant({ kind }),
  })),
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rest' as const), seconds: fc.integer({ min: 1, max: 60 }) }) },
)
const happenings: fc.Arbitrary<Happening> = fc
  .tuple(actions, fc.boolean())
  .map(([action, isMeanwhile]) => ({ ...action, isMeanwhile }))

const inOrder = (...all: readonly Action[]): [Happening[]] => [all.map((each) => ({ ...each, isMeanwhile: false }))]
/** Orders that lost or repeated a note. */
const EXAMPLES: [Happening[]][] = [
  // A note waits while another compaction ends.
  inOrder(compaction, { kind: 'hook' }, { kind: 'hook' }, { kind: 'work' }, compaction, { kind: 'tool' }),
  // Another compaction ends while the note is made.
  [
    [compaction, { kind: 'hook' } as const, { kind: 'hook' } as const, { kind: 'work' } as const, compaction].map(
      (each, at) => ({ ...each, isMeanwhile: at === 4 }),
    ),
  ],
  // The program ends as soon as it has compacted.
  inOrder({ ...compaction, ends: true }),
  // Two compactions end before the first is written.
  inOrder({ ...compaction, isWrittenLate: true }, { ...compaction, isWrittenLate: true }),
]

/** How long after the report of an end a program may write the compaction. */
const LATE_MS = 1_000

/** Events of the programs that call commands. `waiting`: the program waits for the hook. */
const EVENTS: Readonly<
  Record<string, { begin: string; end: readonly string[]; waiting: readonly string[]; prompt: string; tool: string }>
> = {
  'claude-code': {
    begin: 'PreCompact',
    end: [],
    waiting: ['SessionStart'],
    prompt: 'UserPromptSubmit',
    tool: 'PostToolUse',
  },
  codex: {
    begin: 'PreCompact',
    end: ['PostCompact'],
    waiting: ['SessionStart'],
    prompt: 'UserPromptSubmit',
    tool: 'PostToolUse',
  },
  gemini: { begin: 'PreCompress', end: [], waiting: [], prompt: 'BeforeAgent', tool: 'AfterTool' },
}

/** Calls a function that a plugin has exported or registered. */
async function call(value: unknown, ...words: readonly unknown[]): Promise<unknown> {
  if (typeof value !== 'function') throw new Error('the plugin has another form')
  return await value(...words)
}

/** One session of a program, with its model, its files and the processes that its hooks start. */
class SimulatedProgram {
  private readonly root: string
  private readonly sessionId: string
  private readonly transcript: string
  private readonly times: { turn: string; compaction?: string }[] = []
  private now = Date.now()
  private isLocked = false
  /** Input of processes that the program has started and does not wait for. */
  private readonly hooks: string[] = []
  /** Sessions with a started worker. */
  private readonly workers: string[] = []
  private plugin: ReadonlyMap<string, unknown> = new Map()
  private coming: readonly Happening[] = []
  /** The program writes its transcript until then, and before its next request. */
  private writesUntil: number | undefined
  compactions = 0
  /** For each note: the compaction before its request, and the one for which it was made. */
  readonly notes: { readonly after: number; readonly of: number }[] = []
  readonly unsettled: string[] = []

  constructor(
    private readonly program: AgentProgram,
    private readonly ledger: Ledger,
    folder: string,
    name: string,
  ) {
    this.root = join(folder, name)
    this.sessionId = name
    this.transcript = join(folder, sessionOf(program.name, name, []).file)
  }

  private get folder(): string {
    return join(this.root, 'hooks')
  }

  async run(all: readonly Happening[]): Promise<void> {
    await mkdir(this.folder, { recursive: true })
    await this.restart()
    this.turn()
    await this.write()
    this.coming = all
    while (this.coming.length > 0) await this.next(true)
    await this.settle()
  }

  /** Runs what happens while a worker runs. A worker gets the ledger in time. */
  private async meanwhile(): Promise<void> {
    if (this.coming[0]?.isMeanwhile === true) await this.next(false)
    else this.isLocked = false
  }

  /** Runs the next happening. Inside a worker, nothing waits for all workers. */
  private async next(mayWork: boolean): Promise<void> {
    const [each, ...rest] = this.coming
    if (each === undefined) return
    this.coming = rest
    if (each.kind === 'compact') await this.compact(each)
    else if (each.kind === 'rest') this.now += each.seconds * 1_000
    else if (each.kind === 'hook') await this.runNextHook()
    else if (each.kind === 'work' && mayWork) await this.work()
    else if (each.kind === 'prompt' || each.kind === 'tool') await this.ask(each.kind)
    else if (each.kind === 'restart') await this.restart()
    else if (each.kind === 'lock' || each.kind === 'unlock') this.isLocked = each.kind === 'lock'
    else if (each.kind === 'settle' && mayWork) await this.settle()
  }

  private dateNow(): string {
    return new Date((this.now += 1_000)).toISOString()
  }

  private turn(): void {
    this.times.push({ turn: this.dateNow() })
  }

  private textNow(): string {
    return sessionOf(this.program.name, this.sessionId, this.times).text
  }

  private async write(): Promise<void> {
    this.writesUntil = undefined
    await writeFile(this.transcript, this.textNow())
  }

  private async compact({ isAnnounced, isWrittenLate, ends }: Action & { readonly kind: 'compact' }): Promise<void> {
    const last = this.times.at(-1)
    if (last === undefined) return
    if (last.compaction !== undefined) this.turn()
    await this.write()
    // A program without reports of an end always reports the beginning.
    if (isAnnounced || EVENTS[this.program.name]?.waiting.length === 0) await this.reportBeginning()
    const compacted = this.times.pop()
    this.times.push({ turn: compacted?.turn ?? '', compaction: this.dateNow() })
    this.compactions += 1
    if (isWrittenLate) this.writesUntil = this.now + LATE_MS
    else await this.write()
    await this.reportEnd(ends)
    if (ends) await this.restart()
  }

  private async reportBeginning(): Promise<void> {
    const events = EVENTS[this.program.name]
    if (events !== undefined) this.hooks.push(this.inputOf(events.begin))
    else if (this.plugin.has('session_before_compact'))
      await call(this.plugin.get('session_before_compact'), {}, this.context())
  }

  private async reportEnd(ends: boolean): Promise<void> {
    const { end = [], waiting = [] } = EVENTS[this.program.name] ?? {}
    this.hooks.push(...end.map((event) => this.inputOf(event)))
    for (const event of waiting) this.receive(await this.runHook(this.inputOf(event)))
    if (this.plugin.has('session_compact')) await call(this.plugin.get('session_compact'), {}, this.context())
    this.isEnding = ends
    const properties = { sessionID: this.sessionId }
    if (this.plugin.has('event'))
      await call(this.plugin.get('event'), { event: { type: 'session.compacted', properties } })
    await turnOfLoop()
    this.isEnding = false
  }

  /** The process of the program ends, and answers nothing more. */
  private isEnding = false

  private context(): object {
    const sessionManager = { getSessionId: () => this.sessionId, getSessionFile: () => this.transcript }
    return { sessionManager }
  }

  private inputOf(event: string): string {
    const names = { hook_event_name: event, session_id: this.sessionId, transcript_path: this.transcript }
    return JSON.stringify({ ...names, source: 'compact' })
  }

  private async writeLate(): Promise<void> {
    if (this.writesUntil !== undefined) await this.write()
  }

  /** Asks the model: the request after a prompt or after the result of a tool. */
  private async ask(moment: 'prompt' | 'tool'): Promise<void> {
    await this.writeLate()
    const events = EVENTS[this.program.name]
    if (events === undefined) this.receive(await this.askPlugin(moment))
    else this.receive(await this.runHook(this.inputOf(events[moment])))
    // A plugin may export the session again.
    await turnOfLoop()
  }

  private async askPlugin(moment: 'prompt' | 'tool'): Promise<string> {
    const { plugin } = this
    const sessionID = this.sessionId
    if (plugin.has('tool.execute.after')) {
      const [message, result] = [{ message: { id: 'm', sessionID }, parts: [] }, { output: '' }]
      if (moment === 'prompt') await call(plugin.get('chat.message'), { sessionID }, message)
      else await call(plugin.get('tool.execute.after'), { sessionID }, result)
      return JSON.stringify([message.parts, result.output])
    }
    const handler = plugin.get(moment === 'prompt' ? 'before_agent_start' : 'tool_result')
    return JSON.stringify((await call(handler, { content: [] }, this.context())) ?? '')
  }

  private receive(text: string): void {
    if (!text.includes('Recalled from the log')) return
    const of = Array.from({ length: this.compactions }, (_, at) => at + 1).findLast((at) => text.includes(ruleOf(at)))
    this.notes.push({ after: this.compactions, of: of ?? 0 })
  }

  private async runNextHook(): Promise<void> {
    const input = this.hooks.shift()
    if (input !== undefined) await this.runHook(input)
  }

  private async runHook(input: string): Promise<string> {
    const { folder, program } = this
    const startWorker = (key: string): number => {
      this.workers.push(key)
      return process.pid
    }
    return await runHook(input, { folder, agent: program.name, remainingMs: () => 0, startWorker, now: () => this.now })
  }

  private async work(): Promise<void> {
    const key = this.workers.shift()
    if (key === undefined) return
    await makeNote(this.folder, key, {
      now: () => this.now,
      wait: async (milliseconds) => {
        this.now += milliseconds
        if (this.now >= (this.writesUntil ?? Number.POSITIVE_INFINITY)) await this.write()
        await this.meanwhile()
      },
      open: async (_needs, work) => {
        await this.meanwhile()
        if (this.isLocked) throw new LedgerError('FolderLocked', 'locked')
        const made = await work(this.ledger, [])
        await this.meanwhile()
        return made
      },
    })
  }

  /** Loads the plugin again. Its processes wait until a happening runs them. */
  private async restart(): Promise<void> {
    const { folder, program } = this
    const commands = { folder, hookWords: [process.execPath, process.execPath], mcp: ['node'], hook: () => '' } as const
    const [plugin] = program.additions(
      this.root,
      { ...commands, hookWords: [...commands.hookWords], mcp: ['node'] },
      '',
    )
    if (plugin?.kind !== 'file') return
    const started = `started${this.sessionId}`
    Object.assign(globalThis, { [started]: (input: string) => this.hooks.push(input) })
    const spawn = `const nothing = () => {}
      const spawn = () => ({ on: nothing, unref: nothing, stdin: { on: nothing, end: globalThis.${started} } })`
    const text = `${plugin.text.replace(/import \{ spawn \}.*/u, spawn)}\n// ${String(Math.random())}`
    const exports: unknown = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
    this.plugin = await this.loaded(isRecord(exports) ? exports : {})
  }

  private async loaded(exports: Readonly<Record<string, unknown>>): Promise<ReadonlyMap<string, unknown>> {
    const handlers = new Map<string, unknown>()
    const on = (event: string, handler: unknown): unknown => handlers.set(event, handler)
    if (exports['default'] !== undefined) await call(exports['default'], { on })
    else {
      const answer = async (part: 'info' | 'messages'): Promise<object> => {
        if (this.isEnding) return await new Promise(() => undefined)
        return { data: JSON.parse(this.textNow())[part] }
      }
      const session = { get: async () => await answer('info'), messages: async () => await answer('messages') }
      const hooks = await call(exports['ContextLedger'], { client: { session } })
      for (const [event, handler] of Object.entries(isRecord(hooks) ? hooks : {})) on(event, handler)
    }
    return handlers
  }

  /** All processes do their work, and the program asks: the last compaction has its note then. */
  private async settle(): Promise<void> {
    const later = this.coming
    this.coming = []
    this.isLocked = false
    // A request lets a plugin report what its earlier process could not.
    await this.ask('tool')
    while (this.hooks.length > 0) await this.runNextHook()
    while (this.workers.length > 0) await this.work()
    await this.ask('tool')
    const notes = this.notes.filter(({ after, of }) => after === this.compactions && of === after)
    if (notes.length !== Math.min(1, this.compactions))
      this.unsettled.push(`compaction ${String(this.compactions)}: ${String(notes.length)} notes`)
    this.coming = later
  }
}

let ledger: Ledger
let folder: string
let sessions = 0

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
  folder = await mkdtemp(join(tmpdir(), 'notes-'))
})
afterAll(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

it.each(agentPrograms.map((program) => [program.name, program] as const))(
  '%s gets each note once, after its own compaction',
  async (_name, program) => {
    await fc.assert(
      fc.asyncProperty(fc.array(happenings, { maxLength: 24 }), async (all) => {
        const simulated = new SimulatedProgram(program, ledger, folder, `s${String((sessions += 1))}`)
        await simulated.run(all)
        const { notes, unsettled } = simulated
        expect(unsettled).toEqual([])
        // Gemini CLI reports no end, so that a note waits until the worker has seen the next compaction.
        if (program.name === 'gemini') return
        expect(notes.filter(({ after, of }) => after !== of)).toEqual([])
        expect(notes.length).toBe(new Set(notes.map(({ after }) => after)).size)
      }),
      { numRuns: isLong ? 200 : 3, examples: EXAMPLES },
    )
  },
)
