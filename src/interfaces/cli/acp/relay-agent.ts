/**
 * Starts an agent and the process that records it, and passes bytes on between the editor and the agent. Nothing that
 * happens to the recording ends or slows down the session.
 */
import { spawn, type ChildProcess, type SpawnOptions, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type { AcpSide } from '../../../application/importers/acp.js'
import { byteLines } from '../../../lib/byte-lines.js'
import { isRecord } from '../../../lib/is-record.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { commandWords, hangUpSignals, hasPosixShell, onEndSignal } from '../../../lib/platform.js'
import { builtFile } from '../../../lib/package-root.js'
import { LineEditor, LineSplitter, recordLine, UniqueTimes } from '../../acp/relay.js'
import { WaitingNotes } from '../../acp/prompt-note.js'
import type { RecorderSettings } from './recorder-settings.js'

/** Bytes that wait for the process that records. Beyond them, messages are not recorded. */
const MAX_WAITING_BYTES = 256 * 1024 * 1024
/** How long the process that records may take after the end of the agent, before it goes on alone. */
const END_MS = 5_000

type Agent = ChildProcessWithoutNullStreams | ChildProcess

/** The process that records. */
class Recording {
  private readonly child: ChildProcess
  private lost = 0
  private isGone = false

  constructor(settings: RecorderSettings, onNote: (sessionId: string, text: string) => void) {
    this.child = spawn(
      process.execPath,
      [builtFile('src', 'interfaces', 'cli', 'acp', 'recorder-main.js'), JSON.stringify(settings)],
      { detached: true, stdio: ['pipe', 'pipe', 'inherit'], windowsHide: true },
    )
    const markEnded = (): void => {
      this.isGone = true
    }
    this.child.on('error', markEnded).on('exit', markEnded)
    this.child.stdin?.on('error', markEnded)
    void this.readNotes(onNote).catch(() => undefined)
  }

  take(line: Buffer): void {
    const { stdin } = this.child
    if (this.isGone || stdin === null || stdin.writableLength > MAX_WAITING_BYTES) this.lost += 1
    else stdin.write(line)
  }

  /** Waits for the rest to be recorded, or lets the process go on alone. Returns the number of lost messages. */
  async end(): Promise<number> {
    const { child } = this
    const timeout = AbortSignal.timeout(END_MS)
    const ended = this.isGone ? undefined : once(child, 'exit', { signal: timeout }).catch(() => undefined)
    child.stdin?.end()
    await ended
    child.unref()
    return this.lost
  }

  private async readNotes(onNote: (sessionId: string, text: string) => void): Promise<void> {
    if (this.child.stdout === null) return
    for await (const { bytes } of byteLines(this.child.stdout)) {
      const note: unknown = JSON.parse(bytes.toString('utf8'))
      if (isRecord(note)) onNote(String(note['sessionId']), String(note['text']))
    }
  }
}

/** Writes bytes, and reads no more while the other side does not take them. */
function passTo(target: Writable, source: Readable): (bytes: Buffer) => void {
  return (bytes) => {
    if (target.destroyed || target.write(bytes)) return
    source.pause()
    target.once('drain', () => source.resume())
  }
}

/**
 * Runs the agent until it ends.
 * @param words the program and its arguments
 * @returns the exit status of the agent
 * @throws LedgerError if the agent cannot be started
 */
export async function relayAgent(
  [program = '', ...words]: readonly string[],
  settings: RecorderSettings,
  onLost: (messages: number) => void,
): Promise<number> {
  const options = { stdio: ['pipe', 'pipe', 'inherit'], windowsHide: true } satisfies SpawnOptions
  // Programs of npm are scripts on Windows, which only a shell starts.
  const agent: Agent = hasPosixShell()
    ? spawn(program, words, options)
    : spawn(commandWords([program, ...words]), { ...options, shell: true })
  await started(agent, program)
  const notes = new WaitingNotes()
  const recording = new Recording(settings, (sessionId, text) => {
    notes.put(sessionId, text)
  })
  const { stdin, stdout } = agent
  if (stdin === null || stdout === null) throw new Error('the agent has no pipes')
  for (const signal of hangUpSignals()) onEndSignal(() => agent.kill(signal), [signal])

  const times = new UniqueTimes()
  const recorded = (from: AcpSide): LineSplitter =>
    new LineSplitter(
      (line) => {
        // Blank lines are no messages.
        if (line.some((byte) => byte > 32)) recording.take(recordLine(from, times.next(), line))
      },
      () => {
        recording.take(recordLine(from, times.next(), Buffer.from('null')))
      },
    )
  const [fromClient, fromAgent] = [recorded('client'), recorded('agent')]
  const toAgent = passTo(stdin, process.stdin)
  const editor = new LineEditor(
    (bytes) => {
      toAgent(bytes)
      fromClient.take(bytes)
    },
    () => notes.areWaiting,
    (line) => notes.addTo(line),
  )
  process.stdin.on('data', (chunk: Buffer) => {
    editor.take(chunk)
  })
  process.stdin.on('end', () => {
    editor.end()
    stdin.end()
  })
  // The editor, or the agent, has gone.
  for (const stream of [stdin, process.stdout]) stream.on('error', () => undefined)
  process.stdout.on('error', () => agent.kill())
  const toEditor = passTo(process.stdout, stdout)
  stdout.on('data', (chunk: Buffer) => {
    toEditor(chunk)
    fromAgent.take(chunk)
  })
  await once(agent, 'close')
  process.stdin.destroy()
  const lost = await recording.end()
  if (lost > 0) onLost(lost)
  return agent.exitCode ?? 128 + (agent.signalCode === null ? 0 : (constants.signals[agent.signalCode] ?? 0))
}

async function started(agent: Agent, program: string): Promise<void> {
  try {
    await once(agent, 'spawn')
  } catch (error) {
    const reason =
      error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'there is no such program' : String(error)
    throw new LedgerError('Usage', `the agent ${program} cannot be started: ${reason}`)
  }
}
