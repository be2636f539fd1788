/** The command line in a process of its own, from its source, with nothing of this machine's environment that it listens to. */
import { spawn } from 'node:child_process'
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
  readonly env?: Readonly<Record<string, string>>
}

const source = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const TSX = import.meta.resolve('tsx')

/** The environment of this process without what the command line listens to, and with what is given. */
export function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('CONTEXT_LEDGER_') && !name.startsWith('OPENAI_') && name !== 'FORCE_COLOR')
  return { ...Object.fromEntries(kept), ...env }
}

/** Runs `context-ledger WORDS` and waits for its end. */
export async function runCli(words: readonly string[], { cwd, input = '', env }: CliOptions): Promise<CliResult> {
  const child = spawn(process.execPath, ['--import', TSX, source('src/entrypoints/cli.ts'), ...words], { cwd, env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  await once(child, 'close')
  return { status: child.exitCode, stdout, stderr }
}
