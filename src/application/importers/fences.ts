/**
 * Fences of Markdown: lines between two fences are quoted, and a marker of a record in them is text. A fence with an info
 * string inside another one is nested, as models write it. If an answer was cut off, its fence has no end: then its lines
 * are not quoted. A later fence could be mistaken for that end, so the fences up to the next marker must pair as well.
 */

const FENCE = /^\s*(?<marks>`{3,}|~{3,})(?<info>[^`]*)$/u

/** The open fences, outermost first. */
type OpenFences = readonly string[]

const MOST_NESTED = 20

/** The open fences after a line. */
function fencesAfter(open: OpenFences, line: string): OpenFences {
  const { marks, info = '' } = FENCE.exec(line)?.groups ?? {}
  if (marks === undefined) return open
  if (open.length === 0 || info.trim() !== '') return open.length < MOST_NESTED ? [...open, marks] : open
  const same = open.lastIndexOf(marks)
  const closed = same === -1 ? open.findLastIndex((each) => marks.startsWith(each)) : same
  return closed === -1 ? open : open.slice(0, closed)
}

/** Whether each line of a text is inside a fence, or is a fence. */
export function quotedLines(lines: readonly string[]): readonly boolean[] {
  let open: OpenFences = []
  return lines.map((line) => {
    const before = open
    open = fencesAfter(open, line)
    return before.length > 0 || open.length > 0
  })
}

/** A longer quotation is taken for a fence without an end. */
const MOST_LINES = 10_000
/** So many fences without an end are looked at one by one. After more, the lines that wait are text together. */
const MOST_UNCLOSED = 100

interface Waiting<Line> {
  readonly lines: Line[]
  /** The open fences of the quotation. */
  open: OpenFences
  hasMarker: boolean
  /** The number of lines up to the end of the quotation, and the open fences after it. */
  ended: { readonly lines: number; after: OpenFences } | undefined
}

/** Decides for each line of a text whether it is quoted, as soon as that is known. */
export class QuotedText<Line extends { readonly text: string }> {
  private waiting: Waiting<Line> | undefined
  private unclosed = 0

  /** @param isMarker whether a line marks a record, if it is not quoted */
  constructor(private readonly isMarker: (text: string) => boolean) {}

  /** The next lines for which it is known whether they are quoted. */
  *take(line: Line): Generator<{ readonly line: Line; readonly isQuoted: boolean }> {
    const { waiting } = this
    if (waiting === undefined) {
      const open = fencesAfter([], line.text)
      if (open.length === 0) yield { line, isQuoted: false }
      else this.waiting = { lines: [line], open, hasMarker: false, ended: undefined }
      return
    }
    const { ended } = waiting
    const isMarker = this.isMarker(line.text)
    if (ended !== undefined && (isMarker || waiting.lines.length - ended.lines > MOST_LINES)) {
      yield* this.settle(waiting, ended.after.length === 0 ? ended.lines : undefined)
      yield* this.take(line)
      return
    }
    waiting.lines.push(line)
    if (ended !== undefined) ended.after = fencesAfter(ended.after, line.text)
    else {
      waiting.hasMarker ||= isMarker
      waiting.open = fencesAfter(waiting.open, line.text)
      if (waiting.open.length === 0) {
        if (waiting.hasMarker) waiting.ended = { lines: waiting.lines.length, after: [] }
        else yield* this.settle(waiting, waiting.lines.length)
      } else if (waiting.lines.length > MOST_LINES) yield* this.settle(waiting, undefined)
    }
  }

  /** The lines at the end of the text. */
  *end(): Generator<{ readonly line: Line; readonly isQuoted: boolean }> {
    for (let { waiting } = this; waiting !== undefined; { waiting } = this)
      yield* this.settle(waiting, waiting.ended?.after.length === 0 ? waiting.ended.lines : undefined)
  }

  /** @param quoted number of quoted lines; undefined if the fence has no end */
  private *settle(
    { lines }: Waiting<Line>,
    quoted: number | undefined,
  ): Generator<{ readonly line: Line; readonly isQuoted: boolean }> {
    this.waiting = undefined
    if (quoted === undefined) this.unclosed += 1
    const decided = quoted ?? (this.unclosed > MOST_UNCLOSED ? lines.length : 1)
    for (const line of lines.slice(0, decided)) yield { line, isQuoted: quoted !== undefined }
    for (const line of lines.slice(decided)) yield* this.take(line)
  }
}
