/** Runs programs in processes, with a time limit. Processes that a program leaves running end with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

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
  /** Sends SIGINT when it is aborted. */
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

/** Runs a program until it exits. Its process group ends with it. */
export async function runProcess(
  [file = '', ...words]: readonly string[],
  { cwd, env, input, limitMs = 600_000, interrupt }: ProcessOptions,
): Promise<ProcessResult> {
  const child = spawn(file, words, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  let isTimedOut = false
  const timer = setTimeout(() => {
    isTimedOut = true
    endGroup(child.pid, 'SIGKILL')
  }, limitMs)
  const onInterrupt = (): void => {
    child.kill('SIGINT')
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
