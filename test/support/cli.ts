/**
 * The command line in a process of its own, as it is shipped (`compile.ts`), with nothing of this machine's environment
 * that it listens to.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

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

const PROGRAM = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url))

/** The environment of this process without what the command line listens to, and with what is given. */
function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('CONTEXT_LEDGER_') && !name.startsWith('OPENAI_') && name !== 'FORCE_COLOR',
  )
  return { ...Object.fromEntries(kept), ...env }
}

/** Starts `context-ledger WORDS`, for whoever kills it or reads along. */
export const startCli = (
  words: readonly string[],
  { cwd, env }: Partial<Pick<CliOptions, 'cwd' | 'env'>> = {},
): ChildProcessWithoutNullStreams => spawn(process.execPath, [PROGRAM, ...words], { cwd, env: environment(env) })

/** Runs `context-ledger WORDS` and waits for its end. */
export async function runCli(
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
