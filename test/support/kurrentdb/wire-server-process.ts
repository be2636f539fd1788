/** A server in a process of its own, as a test or a benchmark holds it. */
import { startChild } from '../child.js'

export interface WireServerProcess {
  readonly connectionString: string
  readonly port: number
  readonly pid: number
  /** Resolves when it has been obeyed; `start-wire-server.ts` has the list. */
  command(line: string): Promise<void>
  /** Nothing is answered any more, pings neither, until it goes on. */
  freeze(): void
  thaw(): void
  /** As `kill -9` does. Resolves when the process has gone, also where it had died before. */
  kill(): Promise<void>
}

/** Starts a server; with a file it finds there what another one has acknowledged before it was killed. */
export async function startWireServerProcess(
  options: { readonly port?: number; readonly file?: string; readonly foreign?: boolean } = {},
): Promise<WireServerProcess> {
  const words = [
    ...(options.foreign === true ? ['--foreign'] : []),
    ...(options.port === undefined ? [] : ['--port', String(options.port)]),
    ...(options.file === undefined ? [] : ['--file', options.file]),
  ]
  const child = startChild('start-wire-server', words)
  const [ready = ''] = await child.said(1)
  const connectionString = ready.replace(/^ready /, '')
  let lineCount = 1
  return {
    connectionString,
    port: Number(new URL(connectionString).port),
    pid: child.pid,
    async command(line) {
      child.say(line)
      lineCount += 1
      await child.said(lineCount)
    },
    freeze: () => void process.kill(child.pid, 'SIGSTOP'),
    thaw: () => void process.kill(child.pid, 'SIGCONT'),
    kill: () => child.kill(),
  }
}
