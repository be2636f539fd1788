/** The width and the colours of the terminal. */
import { isatty } from 'node:tty'
import pc from 'picocolors'

let isWhole = false

/** For machine-readable output: turns off wrapping, also on a terminal. */
export function keepLinesWhole(): void {
  isWhole = true
}

export const areLinesWhole = (): boolean => isWhole

/** The width of the terminal; undefined without a terminal or if wrapping is off. */
export const columns = (): number | undefined =>
  // A terminal without a size reports 0 columns.
  isWhole || !isatty(1) || process.stdout.columns === 0 ? undefined : process.stdout.columns

/**
 * The last colour flag before `--`. It is read here, not by the parser, because error messages of the parser are
 * coloured too.
 */
const colourFlag = (words: readonly string[]): string | undefined =>
  words
    .slice(0, words.includes('--') ? words.indexOf('--') : undefined)
    .findLast((word) => word === '--color' || word === '--no-color')

// Uses `isatty`, not the stream: without a terminal `isTTY` is undefined, and picocolors then uses its default, which
// is on in CI.
function mayColour(fd: 1 | 2): boolean {
  const { NO_COLOR = '', TERM = '' } = process.env
  const flag = colourFlag(process.argv)
  return flag === undefined ? isatty(fd) && NO_COLOR === '' && TERM !== 'dumb' : flag === '--color'
}

export const colours = pc.createColors(mayColour(1))
export const noteColours = pc.createColors(mayColour(2))
