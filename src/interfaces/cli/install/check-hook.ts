/** Starts a hook's command as its program does, with the session of a canary, and reports what arrived. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { canaryNote, createCanaryId } from '../hook/canary.js'
import { forgetSession, sessionKey, takeNote, writeNote } from '../hook/hook-folder.js'
import { writeGuarded } from '../hook/guard-folder.js'
import { guardedRule } from '../hook/guarded-rules.js'
import { isDelivering, isReporting } from '../hook/run-hook.js'
import { isRecord } from '../../../lib/is-record.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { HOOK_TIMEOUT_SECONDS } from './agent-program.js'

/** How long a canary may take on a loaded machine. */
export const CANARY_MS = 30_000
/** How often a check looks for the note. */
export const POLL_MS = 50
const HOOK_MS = HOOK_TIMEOUT_SECONDS * 1_000

/** A hook to check. */
export interface HookToCheck {
  readonly agent: string
  readonly event: string
  readonly command: string
  /** The program and its first arguments that start a command. */
  readonly shell: readonly [string, ...string[]]
}

/** What arrived. `problem` says why something did not; `ledger` why the ledger cannot be opened now. */
export interface Arrival {
  readonly problem?: string
  readonly ledger?: string
  /** Milliseconds until the note was there, if the hook reports a compaction. */
  readonly noteMs?: number
}

interface Ended {
  readonly status: number | string | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command with an input. Ends it after the time limit of hooks. */
async function runCommand([program, ...words]: HookToCheck['shell'], command: string, input: string): Promise<Ended> {
  return await new Promise((resolve) => {
    const child = spawn(program, [...words, command], {
      cwd: homeFolder(),
      timeout: HOOK_MS,
      killSignal: 'SIGKILL',
      windowsHide: true,
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (data) => (stdout += String(data)))
    child.stderr.on('data', (data) => (stderr += String(data)))
    // A hook that reads nothing closes its input.
    child.stdin.on('error', () => undefined)
    child.on('error', (error) => {
      resolve({ status: error.message, stdout, stderr })
    })
    child.on('close', (status, signal) => {
      resolve({ status: signal === null ? status : `no end within ${String(HOOK_TIMEOUT_SECONDS)} s`, stdout, stderr })
    })
    child.stdin.end(input)
  })
}

/** Whether a hook printed this note in the form that programs add to a context. */
function printedNote(stdout: string, note: string): boolean {
  try {
    const output: unknown = JSON.parse(stdout)
    const specific = isRecord(output) ? output['hookSpecificOutput'] : undefined
    return isRecord(specific) && specific['additionalContext'] === note
  } catch {
    return false
  }
}

/** A file that the command names and that does not exist. */
export function missingFile(command: string, folder: string): string | undefined {
  const words = [...command.matchAll(/'([^']+)'|([^\s'"{};<>&]+)/gu)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  return words.find((word) => word.startsWith('/') && !word.startsWith(folder) && !existsSync(word))
}

/** Why a command did not work, as far as its end shows it. */
function reasonOf(hook: HookToCheck, { status, stderr }: Ended, folder: string): string {
  const missing = missingFile(hook.command, folder)
  if (missing !== undefined) return `${missing} does not exist`
  const [line = ''] = stderr.trim().split('\n')
  const end = typeof status === 'string' ? status : `its status is ${String(status)}`
  return line === '' ? end : `${end}: ${line}`
}

/** The note of a session that a worker makes. Undefined if there is none in time. */
async function awaitNote(folder: string, key: string, until: number): Promise<string | undefined> {
  for (;;) {
    const note = takeNote(folder, key)
    if (note !== undefined || performance.now() >= until) return note
    await delay(POLL_MS)
  }
}

/** A rule for the session of a canary only, and a call that breaks it. */
export const CANARY_COMMAND = 'context-ledger-canary'
export const CANARY_RULE = `Never run \`${CANARY_COMMAND}\``

/** Runs `work` while the guard has a rule for the session of a canary. */
export async function withCanaryRule<T>(folder: string, conversationId: string, work: () => Promise<T>): Promise<T> {
  const rules = [guardedRule({ id: 'r1', text: CANARY_RULE, scope: 'conversation', since: {} })]
  writeGuarded(folder, { origin: conversationId, rules })
  try {
    return await work()
  } finally {
    writeGuarded(folder, { origin: conversationId, rules: [] })
  }
}

/** Checks the guard: it must answer to a call that breaks a rule. */
async function checkGuard(hook: HookToCheck, folder: string): Promise<Arrival> {
  const sessionId = createCanaryId()
  const session = { session_id: sessionId, cwd: homeFolder() }
  const call = { tool_use_id: 'check', tool_name: 'Bash', tool_input: { command: CANARY_COMMAND } }
  const input = JSON.stringify({ hook_event_name: hook.event, ...session, ...call })
  return await withCanaryRule(folder, `${hook.agent}/${sessionId}`, async () => {
    const ended = await runCommand(hook.shell, hook.command, input)
    if (ended.status === 0 && ended.stdout.includes(CANARY_RULE)) return {}
    return { problem: `the guard did not answer (${reasonOf(hook, ended, folder)})` }
  })
}

/** Checks one hook: its input must arrive, and its note must come back. */
export async function checkHook(hook: HookToCheck, folder: string): Promise<Arrival> {
  const { agent, event } = hook
  if (event === 'PreToolUse' || event === 'BeforeTool') return await checkGuard(hook, folder)
  const sessionId = createCanaryId()
  const key = sessionKey(agent, sessionId)
  const start = performance.now()
  try {
    if (isDelivering(event)) writeNote(folder, key, canaryNote(sessionId, undefined))
    const input = { session_id: sessionId, transcript_path: folder, cwd: homeFolder(), source: 'compact' }
    const ended = await runCommand(hook.shell, hook.command, JSON.stringify({ hook_event_name: event, ...input }))
    if (ended.status !== 0) return { problem: reasonOf(hook, ended, folder) }
    if (isDelivering(event) && !printedNote(ended.stdout, canaryNote(sessionId, undefined)))
      return { problem: `no note came back (${reasonOf(hook, ended, folder)})` }
    if (!isReporting(event)) return {}
    const isComplete = missingFile(hook.command, folder) === undefined
    const note = await awaitNote(folder, key, start + (isComplete ? CANARY_MS : 0))
    return note === undefined
      ? { problem: `nothing arrived (${reasonOf(hook, ended, folder)})` }
      : { noteMs: performance.now() - start, ...ledgerProblemIn(note) }
  } finally {
    forgetSession(folder, key)
  }
}

/** The reason in a canary's note that the ledger cannot be opened. */
export function ledgerProblemIn(note: string): Pick<Arrival, 'ledger'> {
  const canary: unknown = JSON.parse(note)
  const problem = isRecord(canary) ? canary['problem'] : undefined
  return typeof problem === 'string' ? { ledger: problem } : {}
}
