/** Runs programs in processes, with a time limit. Processes that a program leaves running end with it. */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { posixWord } from '../../src/lib/platform.js'
import { readdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface ProcessResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  /** The time limit ended it. */
  readonly isTimedOut: boolean
}

export interface ProcessOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly input?: string | undefined
  /** Milliseconds. Default: 10 minutes, for a loaded machine. */
  readonly limitMs?: number
  /** Runs it in a terminal and types these keys, one entry each time that its output is quiet. */
  readonly keys?: readonly Key[] | undefined
  /** Sends SIGINT to its process group when it is aborted. */
  readonly interrupt?: AbortSignal
}

/** Ends a process and everything that it started. */
function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

/** How long the output of a program is quiet before the next keys. */
const QUIET_MS = 4_000
/** Questions of programs to their terminal, with the answers of one: the place of the cursor, and the kind of terminal. */
const TERMINAL_ANSWERS = [
  ['\u001B[6n', '\u001B[1;1R'],
  ['\u001B[c', '\u001B[?62;c'],
] as const

/** The words that run a command in a terminal of 120 columns. */
const inTerminal = (words: readonly string[]): readonly string[] => [
  'script',
  '--quiet',
  '--return',
  '--flush',
  '--command',
  `stty cols 120 rows 40; exec ${words.map(posixWord).join(' ')}`,
  '/dev/null',
]

/** Keys that are typed, or a text that the terminal shows before the next ones. */
export type Key = string | { readonly after: string }

/** Types keys when the output is quiet, and answers the program's questions to its terminal. */
function typeKeys({ stdin, stdout }: ChildProcessWithoutNullStreams, keys: readonly Key[]): void {
  const rest = [...keys]
  let timer: NodeJS.Timeout | undefined
  let printed = ''
  const typeNext = (): void => {
    const [next] = rest
    // More output begins the wait again.
    if (next === undefined || (typeof next !== 'string' && !printed.includes(next.after))) return
    rest.shift()
    if (typeof next === 'string') stdin.write(next)
    timer = setTimeout(typeNext, QUIET_MS)
  }
  stdout.on('data', (text: string) => {
    printed += text
    for (const [question, answer] of TERMINAL_ANSWERS) if (text.includes(question)) stdin.write(answer)
    clearTimeout(timer)
    timer = setTimeout(typeNext, QUIET_MS)
  })
  stdout.on('close', () => {
    clearTimeout(timer)
  })
}

/** Whether programs can run in a terminal here. */
export function hasTerminal(): boolean {
  const { status, stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' })
  return status === 0 && stdout.includes('util-linux')
}

/** The ids of processes of a HOME that have this word in their command line. None where there is no `/proc`. */
export async function processesOf(home: string, word: string): Promise<readonly number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/u.test(name)) continue
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    if (command.includes(word) && command.includes(dirname(home))) found.push(Number(name))
  }
  return found
}

/** Ends the processes of a HOME that left their process group. Does nothing where there is no `/proc`. */
export async function endProcessesOf(home: string): Promise<void> {
  for (const name of await readdir('/proc').catch(() => [])) {
    const environment = /^\d+$/u.test(name) ? await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '') : ''
    if (!environment.split('\0').includes(`HOME=${home}`)) continue
    try {
      process.kill(Number(name), 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

/** Runs a program until it exits. Its process group ends with it. */
export async function runProcess(
  command: readonly string[],
  { cwd, env, input, keys, limitMs = 600_000, interrupt }: ProcessOptions,
): Promise<ProcessResult> {
  const [file = '', ...words] = keys === undefined ? command : inTerminal(command)
  const child = spawn(file, words, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  child.stdin.on('error', () => undefined)
  if (keys === undefined) child.stdin.end(input)
  else typeKeys(child, keys)
  let isTimedOut = false
  const timer = setTimeout(() => {
    isTimedOut = true
    endGroup(child.pid, 'SIGKILL')
  }, limitMs)
  // As a terminal does: also to what the program started.
  const onInterrupt = (): void => {
    endGroup(child.pid, 'SIGINT')
  }
  interrupt?.addEventListener('abort', onInterrupt)
  try {
    await once(child, 'close')
  } finally {
    clearTimeout(timer)
    interrupt?.removeEventListener('abort', onInterrupt)
    endGroup(child.pid, 'SIGKILL')
  }
  return { status: child.exitCode, ...output, isTimedOut }
}
