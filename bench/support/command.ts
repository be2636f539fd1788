/**
 * The built command line in separate processes: commands that end by themselves, and workers that run until they are
 * stopped or killed.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

// Built with this file, from the same sources as the package.
export const CLI = fileURLToPath(new URL('../../src/interfaces/cli/main.js', import.meta.url))

/** Removes the settings of the ledger from the environment, so that they do not affect the benchmark. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(CONTEXT_LEDGER_(?!TEST_)|OPENAI_)/u.test(name)),
)

export interface Worker {
  /** Resolves when the worker has logged a line of that kind, immediately if it already has. */
  said(kind: string): Promise<void>
  /** Lines of one kind so far. */
  count(kind: string): number
  signal(signal: NodeJS.Signals): void
  /** Sends the signal, and resolves when the process has exited. */
  end(signal?: NodeJS.Signals): Promise<void>
}

/** Starts a worker of the command line, which logs JSON lines to standard error. */
export function startWorker(words: readonly string[]): Worker {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, ...words, '--json'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: environment,
  })
  const counts = new Map<string, number>()
  const waiting = new Set<() => void>()
  const lines: string[] = []
  let ended = false
  const exited = new Promise<void>((resolve) => {
    child.on('close', () => {
      ended = true
      for (const look of waiting) look()
      resolve()
    })
  })
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line)
    const kind = /"kind":"([^"]+)"/u.exec(line)?.[1] ?? 'other'
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
    for (const look of waiting) look()
  })
  return {
    said: async (kind) => {
      await new Promise<void>((resolve, reject) => {
        const look = (): void => {
          const isThere = counts.has(kind)
          if (!isThere && !ended) return
          waiting.delete(look)
          if (isThere) resolve()
          else
            reject(
              new Error(`${words.slice(0, 2).join(' ')} ended before it was ${kind}: ${lines.slice(-5).join('\n')}`),
            )
        }
        waiting.add(look)
        look()
      })
    },
    count: (kind) => counts.get(kind) ?? 0,
    signal: (signal) => {
      child.kill(signal)
    },
    async end(signal = 'SIGTERM') {
      if (!ended) child.kill(signal)
      await exited
    },
  }
}

/** Runs a command and parses its JSON output. */
export async function runCommand(words: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, ...words, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment,
  })
  let text = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString('utf8')
  })
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`${words[0] ?? ''} ended with ${String(code)}: ${errors}`)
  return JSON.parse(text)
}
