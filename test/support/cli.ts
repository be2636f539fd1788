/**
 * The command line, without the environment variables of this machine that it reads: `runCli` runs it in this process,
 * and `spawnCli` and `startCli` in a child process, as shipped (`compile.mjs`). A process takes seconds to start, so use
 * one only to test processes: signals, closed outputs, colours, folder locks.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import { resetOutput } from '../../src/interfaces/cli/output.js'
import { runProgram } from '../../src/interfaces/cli/program.js'

export interface CliResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CliOptions {
  readonly cwd: string
  readonly input?: string
  /** A file in place of standard output. */
  readonly output?: number | 'pipe'
  readonly env?: Readonly<Record<string, string>>
}

// Each test file loads the command line again, and each adds listeners to the same streams.
process.stdout.setMaxListeners(0)
process.stderr.setMaxListeners(0)

/** The program as it is shipped. */
export const PROGRAM = fileURLToPath(new URL('../../dist/src/interfaces/cli/main.js', import.meta.url))

/** The environment of this process without what the command line listens to, and with what is given. */
function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('CONTEXT_LEDGER_') && !name.startsWith('OPENAI_') && name !== 'FORCE_COLOR',
  )
  return { ...Object.fromEntries(inherited), ...env }
}

/** Starts `context-ledger WORDS`, for tests that kill it or read its output while it runs. */
export const startCli = (
  words: readonly string[],
  { cwd, env }: Partial<Pick<CliOptions, 'cwd' | 'env'>> = {},
): ChildProcessWithoutNullStreams => spawn(process.execPath, [PROGRAM, ...words], { cwd, env: environment(env) })

/**
 * Runs `context-ledger WORDS` in this process, without a terminal. One at a time: it changes the working directory, the
 * environment and the streams of this process.
 */
export async function runCli(
  words: readonly string[],
  { input = '', cwd, env }: Omit<CliOptions, 'output'>,
): Promise<CliResult> {
  const { stdout, stderr } = process
  const before = {
    cwd: process.cwd(),
    argv: process.argv,
    env: process.env,
    out: stdout.write.bind(stdout),
    err: stderr.write.bind(stderr),
    log: console.log,
    stdin: Object.getOwnPropertyDescriptor(process, 'stdin'),
  }
  const output = { stdout: '', stderr: '' }
  const into =
    (name: 'stdout' | 'stderr') =>
    (text: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
      output[name] += typeof text === 'string' ? text : new TextDecoder().decode(text)
      const callback = rest.at(-1)
      if (typeof callback === 'function') callback()
      return true
    }
  process.chdir(cwd)
  process.argv = [process.execPath, PROGRAM, ...words]
  process.env = environment(env)
  stdout.write = into('stdout')
  stderr.write = into('stderr')
  // The command-line library prints the help of a command to the console, which is jest's here.
  console.log = (...told: readonly unknown[]) => into('stdout')(`${format(...told)}\n`)
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    value: Readable.from(input === '' ? [] : [Buffer.from(input)]),
  })
  try {
    resetOutput()
    const status = await runProgram(words)
    return { status, ...output }
  } finally {
    stdout.write = before.out
    stderr.write = before.err
    console.log = before.log
    process.env = before.env
    process.argv = before.argv
    process.chdir(before.cwd)
    if (before.stdin !== undefined) Object.defineProperty(process, 'stdin', before.stdin)
  }
}

/** Runs `context-ledger WORDS` in a process of its own and waits for its end. */
export async function spawnCli(
  words: readonly string[],
  { input = '', output = 'pipe', cwd, env }: CliOptions,
): Promise<CliResult> {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    cwd,
    env: environment(env),
    stdio: ['pipe', output, 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)
  await once(child, 'close')
  return { status: child.exitCode, stdout, stderr }
}
