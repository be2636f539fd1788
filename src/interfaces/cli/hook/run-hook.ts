/**
 * A hook of an agent. After a compaction it starts a worker, which makes the note, and does not wait for its end: the note
 * is given to the agent by this hook if it is ready in time, or else by the next one.
 */
import { isRecord } from '../../../lib/is-record.js'
import { textIn } from '../../../lib/text-in.js'
import { isCanary } from './canary.js'
import {
  beginPending,
  deleteOldFiles,
  forgetSession,
  logProblem,
  readPending,
  reportEnd,
  sessionKey,
  takeNote,
  writePending,
  type PendingNote,
} from './hook-folder.js'

/** The action of a hook: `begin` before a compaction, `end` after it, `prompt` and `tool` later. */
type Moment = 'begin' | 'end' | 'prompt' | 'tool'

/** The documented events of all programs, and the action of a hook. */
const MOMENTS: ReadonlyMap<string, Moment> = new Map([
  ['PreCompact', 'begin'],
  ['PreCompress', 'begin'],
  ['PostCompact', 'end'],
  ['SessionStart', 'end'],
  ['UserPromptSubmit', 'prompt'],
  ['BeforeAgent', 'prompt'],
  ['PostToolUse', 'tool'],
  ['AfterTool', 'tool'],
])
/** Whether a hook reports a compaction, so that its note is made. */
export const isReporting = (event: string): boolean => ['begin', 'end'].includes(MOMENTS.get(event) ?? '')
/** Events whose output an agent adds to its context. */
export const isDelivering = (event: string): boolean => event !== 'PostCompact' && MOMENTS.get(event) !== 'begin'

/** How long a worker waits for the compaction, whose summary may take minutes, and for the ledger. */
export const WAIT_MS = 600_000
const POLL_MS = 10
/** The time to read the input and to start the worker, after a start in less time. */
const LEAST_MS = 60
/** The most time after a slow start. Programs end a hook after 15 s. */
const MOST_SLOW_MS = 5_000

/**
 * Milliseconds that a hook has after the start of its process. On a loaded machine, the start takes long, and so does
 * the rest: it gets as much time as the start took.
 */
export const limitAfterStart = (remainingMs: number, startMs: number): number =>
  Math.max(LEAST_MS, remainingMs, Math.min(startMs, MOST_SLOW_MS))

/** Surroundings of a hook. */
export interface HookWorld {
  /** The private directory of hooks. */
  readonly folder: string
  readonly agent: string
  /** Milliseconds that remain. */
  readonly remainingMs: () => number
  /** Starts the worker that makes the note of a session. Returns its process id. */
  readonly startWorker: (key: string) => number | undefined
  readonly now: () => number
}

interface HookInput {
  readonly event: string
  readonly sessionId: string
  readonly transcript: string | undefined
}

/** The input of a hook, as these programs document it. Undefined if the event is not one of ours. */
function parseInput(text: string): HookInput | undefined {
  const input: unknown = JSON.parse(text)
  if (!isRecord(input)) throw new Error('the input is not a JSON object')
  const event = textIn(input['hook_event_name'])
  const sessionId = textIn(input['session_id'])
  if (event === undefined || sessionId === undefined)
    throw new Error('the input has no hook_event_name or no session_id')
  if (event === 'SessionStart' && input['source'] !== 'compact') return undefined
  return { event, sessionId, transcript: textIn(input['transcript_path']) }
}

function isRunning(process_: number | undefined): boolean {
  if (process_ === undefined) return false
  try {
    process.kill(process_, 0)
    return true
  } catch {
    return false
  }
}

const isOpen = (pending: PendingNote | undefined, now: number): boolean =>
  pending !== undefined && pending.until > now && isRunning(pending.worker)

/** Removes the record of a worker that was killed. Otherwise each hook would start Node.js to look for its note. */
function dropAbandoned({ folder, agent, now }: HookWorld, key: string): void {
  const pending = readPending(folder, key)
  if (pending === undefined || isOpen(pending, now())) return
  // The hook that started the worker may have recorded its id meanwhile, and ended.
  if (readPending(folder, key)?.worker !== pending.worker) return
  forgetSession(folder, key)
  logProblem(
    folder,
    agent,
    `the process that made a note for session ${pending.sessionId} was ended by another program`,
  )
}

function transcriptOf({ transcript }: HookInput): string {
  if (transcript === undefined) throw new Error('the input has no transcript_path')
  return transcript
}

/** Starts the worker of a session, unless it runs. */
function startMaking(world: HookWorld, key: string, input: HookInput): void {
  const now = world.now()
  const before = readPending(world.folder, key)
  if (isOpen(before, now)) return
  const pending: PendingNote = {
    agent: world.agent,
    sessionId: input.sessionId,
    transcript: transcriptOf(input),
    reportedAt: now,
    until: now + WAIT_MS,
    // This process, until the worker has started.
    worker: process.pid,
  }
  // The worker of an earlier record has ended without a note.
  if (before !== undefined) writePending(world.folder, key, pending)
  else if (!beginPending(world.folder, key, pending)) return
  const worker = world.startWorker(key)
  // A fast worker may have ended.
  if (worker !== undefined && readPending(world.folder, key) !== undefined)
    writePending(world.folder, key, { ...pending, worker })
}

const outputOf = (event: string, note: string): string =>
  `${JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: note } })}\n`

/** Runs a hook. Returns its output; empty without a note. */
export async function runHook(text: string, world: HookWorld): Promise<string> {
  const input = parseInput(text)
  const moment = input === undefined ? undefined : MOMENTS.get(input.event)
  if (input === undefined || moment === undefined) return ''
  const { folder, agent } = world
  const key = sessionKey(agent, input.sessionId)
  // Before the worker is looked for: one that ends now sees the report, or this hook sees that the worker has ended.
  if (moment === 'end' && !isCanary(input.sessionId)) reportEnd(folder, key, transcriptOf(input))
  if (moment === 'begin' || moment === 'end') startMaking(world, key, input)
  deleteOldFiles(folder, world.now())
  if (!isDelivering(input.event)) return ''
  for (;;) {
    const note = takeNote(folder, key)
    if (note !== undefined) return outputOf(input.event, note)
    // A tool has many results: the next one gets the note.
    const waits = moment !== 'tool' && world.remainingMs() > POLL_MS && isOpen(readPending(folder, key), world.now())
    if (!waits) break
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MS)
    })
  }
  dropAbandoned(world, key)
  return ''
}
