/**
 * Aider: `.aider.chat.history.md` in each repository, to which every run appends. It is Markdown, and the beginning of
 * a line identifies the speaker: `#### ` the user, `> ` the program, and anything else the model. Aider ends the lines
 * of the user and of the program with two spaces, which distinguishes them from headings and quotations of the model. A
 * multi-line text of the program has the prefix at the beginning of its first line and the two spaces at the end of its
 * last line. The file contains no ids, no times except the start of each run, and no record of how Aider shortens its
 * history.
 *
 * A message ends at the next text of another speaker. The last message of a file may continue in the next line. It is
 * left out until it has ended, because a recorded message cannot grow.
 */
import { basename, dirname } from 'node:path'
import { textIn } from '../../lib/text-in.js'
import { timeIn } from './bodies.js'
import { QuotedText } from './fences.js'
import type {
  Head,
  Importer,
  Layout,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Usage,
  SourceLocation,
} from './transcript.js'

const HISTORY = '.aider.chat.history.md'

const HEADER = /^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$/u
const VERSION = /^Aider v(\S+)$/mu
const MODEL = /^(?:Main model|Models?): (\S+) with /mu
const TOKENS =
  /^> Tokens: ([\d.,]+)(k?) sent,(?:.*? ([\d.,]+)(k?) cache write,)?(?:.*? ([\d.,]+)(k?) cache hit,)? ([\d.,]+)(k?) received\./u
const COST = /Cost: \$([\d.]+) (?:message|request|send)/u

type Speaker = 'user' | 'program' | 'model'

/** Consecutive lines of one speaker. */
interface Turn {
  readonly speaker: Speaker
  readonly lines: string[]
  /** Location of the first line. */
  readonly where: SourceLocation
  /** Number of lines after the first line of the run. */
  readonly offset: number
  /** A multi-line text of the program whose last line has not been read. */
  isOpen: boolean
}

const countOf = (digits: string | undefined, k: string | undefined): number | undefined =>
  digits === undefined ? undefined : Math.round(Number(digits.replaceAll(',', '')) * (k === 'k' ? 1000 : 1))

/** The usage of the previous answer, which Aider writes after it. */
function usageIn(line: string): Usage | undefined {
  const found = TOKENS.exec(line)
  if (found === null) return undefined
  const cost = COST.exec(line)?.[1]
  return {
    inputTokens: countOf(found[1], found[2]),
    outputTokens: countOf(found[7], found[8]),
    cacheReadTokens: countOf(found[5], found[6]),
    cacheWriteTokens: countOf(found[3], found[4]),
    cost: cost === undefined ? undefined : Number(cost),
  }
}

/**
 * The speaker of a line.
 * @param isTrimmed whether an editor has removed the two spaces at the ends of lines
 */
function speakerOf(line: string, isTrimmed: boolean): Speaker {
  if (!isTrimmed && !line.endsWith('  ')) return 'model'
  if (/^####(?: |$)/u.test(line)) return 'user'
  return /^>(?: |$)/u.test(line) ? 'program' : 'model'
}

const PREFIX = { user: /^#### ?/u, program: /^> ?/u, model: /^/u }

/** A line with its number in the file. */
interface Line {
  readonly text: string
  readonly where: SourceLocation
  readonly number: number
}

/** A run of Aider. */
interface Run {
  readonly id: string
  readonly startedAt: string | undefined
  /** Number of its first line in the file. */
  readonly line: number
  readonly where: SourceLocation
  /** Whether its conversation item was emitted. */
  isAnnounced: boolean
  /** Whether an editor has removed the spaces at the ends of lines; undefined until a line shows it. */
  isTrimmed: boolean | undefined
}

/** The runs of a history file, each a conversation. */
class Runs {
  current: Run | undefined
  /** The directory of the repository; unknown if the file has another name than Aider's own. */
  readonly #cwd: string | undefined
  readonly #name: string
  /** How many runs began at the same time, by run id. */
  readonly #counts = new Map<string, number>()

  /** @param path the history file; its name, or that of its directory, is the prefix of run ids */
  constructor(path: string) {
    const location = path.replaceAll('\\', '/')
    const hasOwnName = basename(location) !== HISTORY
    this.#cwd = hasOwnName ? undefined : dirname(path)
    this.#name = basename(hasOwnName ? location : dirname(location)) || HISTORY
  }

  begin(local: string | undefined, line: number, where: SourceLocation): Run {
    const startedAt = timeIn(local)
    const runId = `${this.#name.replace(/\.md$/u, '')}/${startedAt?.replace('.000Z', 'Z') ?? 'start'}`
    const count = (this.#counts.get(runId) ?? 0) + 1
    this.#counts.set(runId, count)
    const id = count === 1 ? runId : `${runId}-${String(count)}`
    return (this.current = { id, startedAt, line, where, isAnnounced: false, isTrimmed: undefined })
  }

  /** Yields the conversation of the current run, once. */
  *announce(version: string | undefined): Generator<TranscriptItem> {
    const run = this.current
    if (run === undefined || run.isAnnounced) return
    run.isAnnounced = true
    yield {
      kind: 'conversation',
      sourceId: run.id,
      programVersion: version,
      cwd: this.#cwd,
      startedAt: run.startedAt,
      where: run.where,
    }
  }
}

/** Reads a history file line by line. */
class AiderReader implements TranscriptReader {
  readonly #runs: Runs
  #model: string | undefined
  /** The message that is being read. */
  #turn: Turn | undefined
  #linesRead = 0
  readonly #quotations = new QuotedText<Line>((line) => HEADER.test(line) || speakerOf(line, false) !== 'model')

  constructor(path: string) {
    this.#runs = new Runs(path)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    this.#linesRead += 1
    const text = typeof value === 'string' ? value : ''
    for (const { line, isQuoted } of this.#quotations.take({ text, where, number: where.line ?? this.#linesRead }))
      yield* this.#takeLine(line, isQuoted)
  }

  *end(): Generator<TranscriptItem> {
    for (const { line, isQuoted } of this.#quotations.end()) yield* this.#takeLine(line, isQuoted)
    const turn = this.#turn
    if (turn !== undefined) yield { kind: 'left-out', what: 'last message, which may go on', where: turn.where }
    yield* this.#runs.announce(undefined)
  }

  *#takeLine({ text: line, where, number }: Line, isQuoted: boolean): Generator<TranscriptItem> {
    const header = isQuoted ? undefined : HEADER.exec(line)?.[1]
    if (header !== undefined) {
      yield* this.#flush(line)
      yield* this.#runs.announce(undefined)
      this.#runs.begin(header, number, where)
    } else if (isQuoted && this.#turn !== undefined) {
      this.#turn.lines.push(line)
      this.#turn.isOpen &&= !/\S {2}$/u.test(line)
    } else if (this.#turn?.isOpen === true && !/^#### .*\S {2}$/u.test(line)) {
      this.#turn.lines.push(line.trimEnd())
      this.#turn.isOpen = !line.endsWith('  ') || line.trim() === ''
    } else if (line.trim() !== '') yield* this.#takeText(line, number, where, isQuoted)
    // An empty line ends a text of the user or the program. The model's text may contain empty lines.
    else if (this.#turn?.speaker === 'model') this.#turn.lines.push('')
    else yield* this.#flush(line)
  }

  /** Yields the message that was read last. @param next the line after it, which may contain its usage */
  *#flush(next: string): Generator<TranscriptItem> {
    if (this.#turn === undefined) return
    const { speaker, lines, where, offset } = this.#turn
    this.#turn = undefined
    const words = lines.join('\n').replace(/^\n+|\s+$/gu, '')
    if (speaker === 'program') this.#model = MODEL.exec(words)?.[1] ?? this.#model
    yield* this.#runs.announce(speaker === 'program' ? VERSION.exec(words)?.[1] : undefined)
    if (words === '') {
      yield { kind: 'left-out', what: speaker === 'program' ? '>' : speaker === 'user' ? '####' : 'text', where }
      return
    }
    const item = { kind: 'message', sourceId: `line-${String(offset)}`, part: 0, where } as const
    if (speaker === 'model')
      yield { ...item, body: { role: 'assistant', content: words }, model: this.#model, usage: usageIn(next) }
    else
      yield { ...item, body: { role: 'user', content: words }, ...(speaker === 'program' ? { byProgram: true } : {}) }
  }

  *#takeText(line: string, number: number, where: SourceLocation, isQuoted: boolean): Generator<TranscriptItem> {
    const isEnded = line.endsWith('  ')
    // A truncated file begins in the middle of a run.
    const run = this.#runs.current ?? this.#runs.begin(undefined, number - 1, where)
    const isTrimmed = (run.isTrimmed ??= /^(?:>|####)/u.test(line) && !isEnded)
    const before = this.#turn
    // Directly after a line of the user or the program, the model's text has not begun.
    const isOpen =
      !isQuoted && !isTrimmed && !isEnded && line.startsWith('> ') && before !== undefined && before.speaker !== 'model'
    const speaker = isOpen ? 'program' : isQuoted ? 'model' : speakerOf(line, isTrimmed)
    if (before !== undefined && before.speaker !== speaker) yield* this.#flush(line)
    const turn = (this.#turn ??= { speaker, lines: [], where, offset: number - run.line, isOpen })
    turn.isOpen = isOpen
    turn.lines.push(speaker === 'model' ? line : line.replace(PREFIX[speaker], '').trimEnd())
  }
}

function recognize({ path, text }: Head): Layout | undefined {
  const lines = text.split('\n').map((line) => line.replace(/\r$/u, ''))
  if (lines.some((line) => HEADER.test(line))) return 'text'
  // In a truncated file, the first run header may be further down.
  const isNamed = path.endsWith('aider.chat.history.md')
  return isNamed && lines.some((line) => speakerOf(line, false) !== 'model') ? 'text' : undefined
}

/** The importer of Aider. */
export const aider: Importer = {
  program: 'aider',
  title: 'Aider',
  // Each repository has its own file, unless the variable names another one.
  homes: (environment) => {
    const file = textIn(environment['AIDER_CHAT_HISTORY_FILE'])
    return file === undefined ? [] : [file]
  },
  recognize,
  read: (path) => new AiderReader(path),
}
