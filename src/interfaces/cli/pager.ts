/** A pager for long output on a terminal: `$PAGER`, or `less`, which exits if the output fits on one screen. */
import { once } from 'node:events'
import type { Writable } from 'node:stream'

export interface Pager {
  readonly input: Writable
  /** Resolves when the user has closed the pager. */
  done(): Promise<void>
}

// F: exit if the output fits on one screen; R: keep colours; X: do not clear the screen.
const LESS = 'FRX'

/** The command of the pager; undefined if output goes directly to the terminal. */
export function pagerOf(
  { PAGER, CI = '', TERM }: Readonly<Record<string, string | undefined>>,
  { isTerminal, isWanted }: { readonly isTerminal: boolean; readonly isWanted: boolean },
): readonly string[] | undefined {
  if (!isTerminal || !isWanted || CI !== '' || TERM === 'dumb') return undefined
  const words = (PAGER ?? `less -${LESS}`).trim().split(/\s+/u)
  return words[0] === '' || words[0] === 'cat' ? undefined : words
}

/** Starts the pager; undefined if the program does not exist. `onClosed` is called when the user closes it. */
export async function startPager(
  [file = '', ...args]: readonly string[],
  onClosed: () => void,
): Promise<Pager | undefined> {
  const { spawn } = await import('node:child_process')
  const child = spawn(file, args, { stdio: ['pipe', 'inherit', 'inherit'], env: { LESS, ...process.env } })
  try {
    await once(child, 'spawn')
  } catch {
    return undefined
  }
  const closed = once(child, 'close')
  // A write after the user closed the pager is not an error.
  child.stdin.on('error', onClosed)
  child.once('close', onClosed)
  // Ctrl-C belongs to the pager: it cancels a search there.
  const ignore = (): void => undefined
  process.on('SIGINT', ignore)
  return {
    input: child.stdin,
    async done() {
      child.stdin.end()
      await closed
      process.off('SIGINT', ignore)
    },
  }
}
