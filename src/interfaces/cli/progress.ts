/** Progress on standard error: a bar with the time left on a terminal, otherwise a line every ten seconds. */
import { duration } from '../../domain/text/count.js'
import { noteColours, note } from './output.js'

export { duration }

export interface Progress {
  /** @param done amount of `total`; `text` describes it in words */
  update(done: number, text: string, secondsLeft?: number): void
  stop(): void
}

// The first line comes early, to show activity; later lines are rare, to keep a log short.
const FIRST_LINE_MS = 2_000
const LINE_EVERY_MS = 10_000
const TICK_MS = 500

/** Seconds, and share of the total, before the remaining time is estimated. */
const ESTIMATE_AFTER_S = 3
const ESTIMATE_FROM_SHARE = 0.02

const BAR = 12

/** Cuts a text to the width, between words. */
const shortened = (text: string, width: number): string =>
  text.length < width ? text : width < 12 ? '' : `${text.slice(0, width - 2).replace(/[ ,]*[^ ,]*$/u, '')} …`

/** Refresh interval of the bar on a terminal. */
const WAIT_TICK_MS = 1_000

interface Display {
  readonly label: string
  readonly total: number
  /** The answer that the command waits for now, if any. */
  readonly waiting: () => string
  /** ", 5 min left" */
  readonly left: (done: number, secondsLeft: number | undefined) => string
}

const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join(', ')

async function startBar({ label, total, waiting, left }: Display): Promise<Progress> {
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({
    stream: process.stderr,
    format: `${label} ${noteColours.cyan('{bar}')} {percentage}%{left}{text}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: BAR,
    // The library would hide the cursor and turn off wrapping. A kill or a second Ctrl-C would leave the terminal that
    // way.
    hideCursor: false,
    linewrap: true,
    clearOnComplete: true,
    gracefulExit: false,
  })
  bar.start(Math.max(1, total), 0, { text: '', left: '' })
  let latest: Parameters<Progress['update']> = [0, '']
  const show = (): void => {
    const [done, progressText, secondsLeft] = latest
    const text = joined(waiting(), progressText)
    const timeLeft = left(done, secondsLeft)
    // The time left comes first and is never cut; the text is cut so that the bar fits on one line. The library counts
    // colour codes as columns.
    const colours = noteColours.cyan('').length
    const fixed = label.length + BAR + colours + ' '.length * 2 + ' 100%'.length + timeLeft.length
    bar.update(Math.min(done, Math.max(1, total)), {
      text: text === '' ? '' : shortened(`, ${text}`, process.stderr.columns - fixed),
      left: timeLeft,
    })
  }
  const ticking = setInterval(show, WAIT_TICK_MS)
  ticking.unref()
  return {
    update: (...update) => {
      latest = update
      show()
    },
    stop: () => {
      clearInterval(ticking)
      bar.stop()
    },
  }
}

function startLines({ label, waiting, left }: Display, startedAt: number): Progress {
  let nextLineAt = startedAt + FIRST_LINE_MS
  /** Undefined after it was written. */
  let latest: (() => string) | undefined
  const write = (): void => {
    const now = performance.now()
    if (now < nextLineAt) return
    const text = joined(waiting(), latest?.() ?? '')
    if (text === '') return
    nextLineAt = now + LINE_EVERY_MS
    note(`${label}: ${text}`)
    latest = undefined
  }
  // A single step may take minutes without an update.
  const ticking = setInterval(write, TICK_MS)
  ticking.unref()
  return {
    update(done, text, secondsLeft) {
      latest = () => `${text}${left(done, secondsLeft)}`
      write()
    },
    stop: () => {
      clearInterval(ticking)
    },
  }
}

/**
 * Starts a progress display. With `total` 0 the amount is not known. The text of `waiting` is shown before the text of
 * the last update, and brought up to date while nothing else happens.
 */
export async function startProgress(label: string, total: number, waiting: () => string = () => ''): Promise<Progress> {
  const startedAt = performance.now()
  // The speed of the first seconds is not representative.
  const estimated = (done: number): number | undefined => {
    const elapsed = (performance.now() - startedAt) / 1000
    return elapsed < ESTIMATE_AFTER_S || total <= 0 || done < total * ESTIMATE_FROM_SHARE
      ? undefined
      : (elapsed * Math.max(0, total - done)) / done
  }
  const left: Display['left'] = (done, secondsLeft) => {
    const seconds = secondsLeft ?? estimated(done)
    return seconds === undefined ? '' : `, ${duration(seconds)} left`
  }
  const display = { label, total, waiting, left }
  // A dumb terminal cannot overwrite a line.
  const isTerminal = process.stderr.isTTY && process.env['TERM'] !== 'dumb'
  return isTerminal ? await startBar(display) : startLines(display, startedAt)
}
