/** A program of `test/support/programs/` in a process of its own, read line by line. */
import { spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { changes } from './latch.js'

export interface Child {
  readonly pid: number
  /** All lines that it has said so far. */
  readonly lines: readonly string[]
  say(line: string): void
  /** Resolves after the process has printed this number of lines. Rejects with its error output if it exits earlier. */
  said(count: number): Promise<readonly string[]>
  /** Resolves when it has ended by itself. */
  ended(): Promise<void>
  /** Kills it as `kill -9` does, and resolves when it is gone. */
  kill(): Promise<void>
}

/** The compiled form of `test/support/programs/<name>.ts` (compile.mjs). Compiling it again in each process takes longer. */
export const programFile = (name: string): string => join('dist', 'test', `${name}.mjs`)

/** Starts `test/support/programs/<name>.ts`. */
export function startChild(name: string, words: readonly string[] = [], options: SpawnOptions = {}): Child {
  const child = spawn(process.execPath, [programFile(name), ...words], {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  let errors = ''
  const change = changes()
  let ended = false
  const output = createInterface({ input: child.stdout })
  output.on('line', (line) => {
    lines.push(line)
    change.happened()
  })
  const closed = once(child, 'close').then(() => {
    ended = true
    change.happened()
    return undefined
  })
  child.stderr.on('data', (text) => {
    errors += String(text)
  })
  child.stdin.on('error', () => undefined)
  return {
    pid: child.pid ?? 0,
    lines,
    say: (line) => void child.stdin.write(`${line}\n`),
    async said(count) {
      while (lines.length < count) {
        if (ended) throw new Error(`the process ended after ${String(lines.length)} lines: ${errors}`)
        await change.next()
      }
      return lines
    },
    ended: () => closed,
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}
