/**
 * Passes every byte between an editor and an agent on, and shows each line to a recorder. Bytes are passed on before a line
 * is complete. Only while a note waits, a line of the editor is held until its end, because a prompt gets the note.
 */
import type { AcpSide } from '../../application/importers/acp.js'

const LINE_FEED = 10
/** Bytes of a line that is recorded or changed. A longer one is only passed on. */
const MAX_LINE_BYTES = 64 * 1024 * 1024

/** Splits bytes into lines of a limited length. */
export class LineSplitter {
  private pieces: Buffer[] = []
  private bytes = 0
  private isTooLong = false

  constructor(
    private readonly onLine: (line: Buffer) => void,
    private readonly onTooLong: () => void,
    private readonly maxBytes: number = MAX_LINE_BYTES,
  ) {}

  take(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.add(chunk.subarray(start, end))
      this.complete()
      start = end + 1
    }
    if (start < chunk.length) this.add(chunk.subarray(start))
  }

  private add(piece: Buffer): void {
    if (this.isTooLong) return
    this.bytes += piece.length
    if (this.bytes > this.maxBytes) {
      this.isTooLong = true
      this.pieces = []
    } else this.pieces.push(piece)
  }

  private complete(): void {
    const { pieces, isTooLong } = this
    this.pieces = []
    this.bytes = 0
    this.isTooLong = false
    if (isTooLong) this.onTooLong()
    else this.onLine(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces))
  }
}

/** Changes lines of a stream of bytes while that is wanted; otherwise passes bytes on as they come. */
export class LineEditor {
  private held: Buffer[] | undefined
  private heldBytes = 0
  private isAtLineStart = true

  /**
   * @param isWanted asked at the beginning of each line
   * @param edit the line to pass on, without its line feed
   */
  constructor(
    private readonly pass: (bytes: Buffer) => void,
    private readonly isWanted: () => boolean,
    private readonly edit: (line: Buffer) => Buffer,
  ) {}

  take(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      if (this.isAtLineStart && this.held === undefined && this.isWanted()) this.held = []
      const end = rest.indexOf(LINE_FEED) + 1
      // Without a note, whole chunks are passed on.
      const piece = end === 0 || (this.held === undefined && !this.isWanted()) ? rest : rest.subarray(0, end)
      rest = rest.subarray(piece.length)
      this.isAtLineStart = piece.at(-1) === LINE_FEED
      if (this.held === undefined) this.pass(piece)
      else this.hold(piece)
    }
  }

  /** The bytes have ended: an unfinished line is passed on. */
  end(): void {
    if (this.held !== undefined) this.pass(Buffer.concat(this.held))
    this.held = undefined
  }

  private hold(piece: Buffer): void {
    this.held?.push(piece)
    this.heldBytes += piece.length
    if (!this.isAtLineStart && this.heldBytes <= MAX_LINE_BYTES) return
    const bytes = Buffer.concat(this.held ?? [])
    this.held = undefined
    this.heldBytes = 0
    this.pass(this.isAtLineStart ? Buffer.concat([this.edit(bytes.subarray(0, -1)), bytes.subarray(-1)]) : bytes)
  }
}

/** Times as ISO 8601 that never repeat: records of one millisecond are counted in the digits behind it. */
export class UniqueTimes {
  private last = ''
  private count = 0

  constructor(private readonly now: () => Date = () => new Date()) {}

  next(): string {
    const time = this.now().toISOString()
    this.count = time === this.last ? this.count + 1 : 0
    this.last = time
    return this.count === 0 ? time : time.replace('Z', `${String(this.count).padStart(3, '0')}Z`)
  }
}

/** A line as the recorder takes it: the side, the time, and the message, which is not parsed here. */
export const recordLine = (from: AcpSide, at: string, message: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${from} ${at} `), message, Buffer.from('\n')])

/** The parts of such a line; undefined for another one. */
export function partsOfLine(
  line: string,
): { readonly from: AcpSide; readonly at: string; readonly message: string } | undefined {
  const [, from, at, message] = /^(client|agent) (\S+) (.*)$/su.exec(line) ?? []
  return (from === 'client' || from === 'agent') && at !== undefined && message !== undefined
    ? { from, at, message }
    : undefined
}
