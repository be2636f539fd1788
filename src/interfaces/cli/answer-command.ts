/**
 * Runs a command in a resident reader for another process. Commands read their arguments, the environment, the working
 * directory and the streams from the process, so these are replaced while one runs, and one runs at a time.
 */
import { resolve } from 'node:path'
import { Writable } from 'node:stream'
import type { CommandOutput, CommandRequest, StreamFeatures } from './command-request.js'
import { loadConfig } from './config/load-config.js'
import { EXIT } from './errors.js'
import type { Flags } from './flags.js'
import { isPaged, resetOutput } from './output.js'
import { parsed } from './parser.js'
import { runProgram } from './program.js'
import type { CliCommand } from './command.js'

/** Characters of an output that are held in memory. A process runs a command with a larger output itself. */
const MOST_CHARACTERS = 4_000_000

/** Variables that determine how Node.js formats times and texts. They are read when a process starts. */
const OF_THE_PROCESS = /^(?:TZ|LANG|LANGUAGE|LC_\w+|NODE_ICU_DATA)$/u
const startedWith = JSON.stringify(variables(process.env))

function variables(env: CommandRequest['env']): [string, string | undefined][] {
  return Object.entries(env)
    .filter(([name]) => OF_THE_PROCESS.test(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** The output of a command so far. */
class Recording {
  readonly parts: { to: 'stdout' | 'stderr'; text: string }[] = []
  private characters = 0

  get isTooLarge(): boolean {
    return this.characters > MOST_CHARACTERS
  }

  stream(to: 'stdout' | 'stderr', { isTTY, columns }: StreamFeatures): Writable {
    const write = (text: string): void => {
      this.characters += text.length
      if (!this.isTooLarge) this.parts.push({ to, text })
    }
    const stream = new Writable({
      decodeStrings: false,
      write: (chunk: string | Buffer, _encoding, done) => {
        write(String(chunk))
        // Ends a command that would print more than is held.
        done(to === 'stdout' && this.isTooLarge ? Object.assign(new Error('too large'), { code: 'EPIPE' }) : undefined)
      },
    })
    return Object.assign(stream, isTTY ? { isTTY, columns } : {})
  }
}

let isRunning = false

/** The output of the command; undefined if the process that asks has to run it itself. */
export async function answerCommand(store: string, request: unknown): Promise<CommandOutput | undefined> {
  // Both ends have the same build.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const command = request as CommandRequest
  const isSimilar = command.node === process.version && JSON.stringify(variables(command.env)) === startedWith
  if (isRunning || !isSimilar) return undefined
  isRunning = true
  try {
    const recording = new Recording()
    return await inPlaceOf(command, recording, async () => await run(store, command, recording))
  } finally {
    isRunning = false
  }
}

/** Replaces what a command reads from its process. */
async function inPlaceOf<T>(
  { words, cwd, env, stdout, stderr }: CommandRequest,
  recording: Recording,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const before = { cwd: process.cwd(), argv: process.argv, env: process.env }
  const streams = {
    stdout: Object.getOwnPropertyDescriptor(process, 'stdout'),
    stderr: Object.getOwnPropertyDescriptor(process, 'stderr'),
  }
  try {
    process.chdir(cwd)
    process.argv = [...before.argv.slice(0, 2), ...words]
    process.env = { ...env }
    Object.defineProperty(process, 'stdout', { configurable: true, value: recording.stream('stdout', stdout) })
    Object.defineProperty(process, 'stderr', { configurable: true, value: recording.stream('stderr', stderr) })
    resetOutput()
    return await work()
  } catch {
    // The process that asks runs the command itself, and reports the error.
    return undefined
  } finally {
    process.argv = before.argv
    process.env = before.env
    if (streams.stdout !== undefined) Object.defineProperty(process, 'stdout', streams.stdout)
    if (streams.stderr !== undefined) Object.defineProperty(process, 'stderr', streams.stderr)
    process.chdir(before.cwd)
  }
}

async function run(store: string, { words }: CommandRequest, recording: Recording): Promise<CommandOutput | undefined> {
  const found = words[0] === 'help' ? undefined : await parsed(words)
  if (found === undefined || !(await isAnswered(store, found.command, found.flags))) return undefined
  const status = await runProgram(words)
  // The reason of a failure may be that the command runs in this process.
  return status !== EXIT.ok || recording.isTooLarge ? undefined : { isPaged: isPaged(), parts: recording.parts }
}

/** Whether the command only prints, and is for this ledger. */
async function isAnswered(store: string, command: CliCommand, flags: Flags): Promise<boolean> {
  if (command.reads !== true || command.files?.some((flag) => flags[flag] !== undefined) === true) return false
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  return resolve(config.store) === store && config.resident === 'on'
}
