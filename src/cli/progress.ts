/** Progress on standard error: a bar with the time left on a terminal, else a plain line now and then. */
import { duration } from '../domain/text/count.js'
import { noteColours, note } from './output.js'

export { duration }

export interface Progress {
  /** @param done of `total`, in whatever it is counted; `text` says it in words */
  update(done: number, text: string, secondsLeft?: number): void
  stop(): void
}

// The first line comes early, to say that something is happening; the others keep a log short.
const FIRST_LINE_MS = 2_000
const LINE_EVERY_MS = 10_000
const TICK_MS = 500

const BAR = 24

/** As much of a text as there is room for; half a word is none. */
const shortened = (text: string, room: number): string =>
  text.length < room ? text : room < 12 ? '' : `${text.slice(0, room - 2).replace(/[ ,]*[^ ,]*$/u, '')} …`

/** Starts a progress display; with `total` 0 nobody knows how much it will be. */
export async function startProgress(label: string, total: number): Promise<Progress> {
  const startedAt = performance.now()
  // What was done before the first second says little of what is to come.
  const reckon = (done: number): number | undefined => {
    const elapsed = (performance.now() - startedAt) / 1000
    return elapsed < 1 || done <= 0 || total <= 0 ? undefined : (elapsed * Math.max(0, total - done)) / done
  }
  const left = (done: number, given: number | undefined): string => {
    const seconds = given ?? reckon(done)
    return seconds === undefined ? '' : `, ${duration(seconds)} left`
  }
  // A dumb terminal cannot write over a line.
  if (process.stderr.isTTY && process.env['TERM'] !== 'dumb') {
    const { SingleBar } = await import('cli-progress')
    const bar = new SingleBar({
      stream: process.stderr,
      format: `${label} ${noteColours.cyan('{bar}')} {percentage}%{left}{text}`,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: BAR,
      // The library would hide the cursor and stop wrapping. Nothing would undo that after a kill or a second Ctrl-C.
      hideCursor: false,
      linewrap: true,
      clearOnComplete: true,
      gracefulExit: false,
    })
    bar.start(Math.max(1, total), 0, { text: '', left: '' })
    return {
      update: (done, text, secondsLeft) => {
        const told = left(done, secondsLeft)
        // The time left comes first and stays; of the rest there is as much as the line has room for, and it is one
        // line. The bar's library counts the colours as columns when it cuts the line.
        const room =
          process.stderr.columns -
          label.length -
          BAR -
          noteColours.cyan('').length -
          ' '.length * 2 -
          ' 100%'.length -
          told.length
        bar.update(Math.min(done, Math.max(1, total)), {
          text: text === '' ? '' : shortened(`, ${text}`, room),
          left: told,
        })
      },
      stop: () => {
        bar.stop()
      },
    }
  }
  let nextLineAt = startedAt + FIRST_LINE_MS
  /** What was not said yet. */
  let news: (() => string) | undefined
  const say = (): void => {
    const now = performance.now()
    if (news === undefined || now < nextLineAt) return
    nextLineAt = now + LINE_EVERY_MS
    note(`${label}: ${news()}`)
    news = undefined
  }
  // A single step may take minutes, and nothing is told of it meanwhile.
  const ticking = setInterval(say, TICK_MS)
  ticking.unref()
  return {
    update(done, text, secondsLeft) {
      news = () => `${text}${left(done, secondsLeft)}`
      say()
    },
    stop: () => {
      clearInterval(ticking)
    },
  }
}
