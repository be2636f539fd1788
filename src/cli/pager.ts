/**
 * A pager for long output on a terminal: `$PAGER`, else `less`, which ends by itself where everything fits on one
 * screen.
 */
import { once } from 'node:events'
import type { Writable } from 'node:stream'

export interface Pager {
  readonly input: Writable
  /** Resolves when the person has closed it. */
  done(): Promise<void>
}

// Ends on one screen, keeps colours, leaves what was read on the screen.
const LESS = 'FRX'

/** The words of the pager's command; undefined where output is to go to the terminal as it is. */
export function pagerOf(
  { PAGER, CI = '', TERM }: Readonly<Record<string, string | undefined>>,
  { isTerminal, isWanted }: { readonly isTerminal: boolean; readonly isWanted: boolean },
): readonly string[] | undefined {
  if (!isTerminal || !isWanted || CI !== '' || TERM === 'dumb') return undefined
  const words = (PAGER ?? `less -${LESS}`).trim().split(/\s+/u)
  return words[0] === '' || words[0] === 'cat' ? undefined : words
}

/** Starts it; undefined where there is no such program. `onClosed` hears that the person has seen enough. */
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
  // What it does not read any more is no error of ours.
  child.stdin.on('error', onClosed)
  child.once('close', onClosed)
  // Ctrl-C is the pager's: it stops searching by it, and the person ends it by a key of its own.
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
