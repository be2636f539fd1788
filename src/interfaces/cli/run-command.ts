/** Runs a command that `checkpoint publish` gets from its user, in a shell. */
import { spawn } from 'node:child_process'
import { LedgerError } from '../../lib/ledger-error.js'

/** Longer output cannot be a signature or a time stamp, so it is rejected. */
const MOST_BYTES = 1_000_000

/**
 * Runs a command with a text as its standard input; returns its standard output. Its errors go to ours. Throws if it
 * fails.
 */
export async function runCommand(command: string, input: string): Promise<Buffer> {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'] })
  const chunks: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= MOST_BYTES) chunks.push(chunk)
  })
  // A command may end without reading its input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const status = await new Promise<number | string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      resolve(code ?? signal ?? 1)
    })
  })
  if (status !== 0)
    throw new LedgerError('WriteFailed', `the command ${JSON.stringify(command)} failed with status ${String(status)}`)
  if (bytes > MOST_BYTES)
    throw new LedgerError('MalformedInput', `the command ${JSON.stringify(command)} printed more than 1 MB`)
  return Buffer.concat(chunks)
}
