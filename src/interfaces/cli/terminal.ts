/** The width and the colours of the terminal. */
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
  isWhole || !process.stdout.isTTY || process.stdout.columns === 0 ? undefined : process.stdout.columns

/**
 * The last colour flag before `--`. It is read here, not by the parser, because error messages of the parser are
 * coloured too.
 */
const colourFlag = (words: readonly string[]): string | undefined =>
  words
    .slice(0, words.includes('--') ? words.indexOf('--') : undefined)
    .findLast((word) => word === '--color' || word === '--no-color')

function mayColour(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR = '', TERM = '' } = process.env
  const flag = colourFlag(process.argv)
  // Without a terminal `isTTY` is undefined, and picocolors would then use its default, which is on in CI.
  if (flag !== undefined) return flag === '--color'
  return stream.isTTY ? NO_COLOR === '' && TERM !== 'dumb' : false
}

const coloursOf = (stream: NodeJS.WriteStream): ReturnType<typeof pc.createColors> => pc.createColors(mayColour(stream))

export const colours = coloursOf(process.stdout)
export const noteColours = coloursOf(process.stderr)

/** Reads the arguments, the environment and the streams of the process again: a resident reader replaces them. */
export function resetTerminal(): void {
  isWhole = false
  Object.assign(colours, coloursOf(process.stdout))
  Object.assign(noteColours, coloursOf(process.stderr))
}
