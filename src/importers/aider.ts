/**
 * Aider: `.aider.chat.history.md` in each repository, to which every run is added. It is Markdown, so that the beginning
 * of a line tells who speaks: `#### ` the user, `> ` the program, and everything else the model. Aider ends the lines of
 * the user and of itself with two spaces, by which a heading or a quotation of the model is told from them. What it
 * says in several lines at once has the one at the beginning of the first and the other at the end of the last. There
 * are no ids, no times but that of each run, and nothing of how Aider shortens its history.
 *
 * A message ends where something else begins. The last one of a file, which the next line may go on with, is left out
 * until it has ended: once it is recorded, it cannot grow.
 */
import { basename, dirname } from 'node:path'
import { textIn, timeIn } from './bodies.js'
import type {
  Head,
  Importer,
  Layout,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Usage,
  Where,
} from './transcript.js'

const HEADER = /^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$/u
const VERSION = /^Aider v(\S+)$/mu
const MODEL = /^(?:Main model|Models?): (\S+) with /mu
const TOKENS =
  /^> Tokens: ([\d.,]+)(k?) sent,(?:.*? ([\d.,]+)(k?) cache write,)?(?:.*? ([\d.,]+)(k?) cache hit,)? ([\d.,]+)(k?) received\./u
const COST = /Cost: \$([\d.]+) (?:message|request|send)/u

type Speaker = 'user' | 'program' | 'model'

/** Lines that one of them said, one after another. */
interface Turn {
  readonly speaker: Speaker
  readonly lines: string[]
  /** Of the first of them. */
  readonly where: Where
  /** Lines between it and the line that begins the run. */
  readonly place: number
  /** The program says several lines at once, and the last of them has not been read. */
  isOpen: boolean
}

const countOf = (digits: string | undefined, k: string | undefined): number | undefined =>
  digits === undefined ? undefined : Math.round(Number(digits.replaceAll(',', '')) * (k === 'k' ? 1000 : 1))

/** What the answer before took, which Aider tells behind it. */
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
 * Who says a line. @param isTrimmed the two spaces at the ends of lines are gone, as an editor that saves a file may
 * take them
 */
function speakerOf(line: string, isTrimmed: boolean): Speaker {
  if (!isTrimmed && !line.endsWith('  ')) return 'model'
  if (/^####(?: |$)/u.test(line)) return 'user'
  return /^>(?: |$)/u.test(line) ? 'program' : 'model'
}

const PREFIX = { user: /^#### ?/u, program: /^> ?/u, model: /^/u }

/** @param path of the history, whose name begins the ids of its runs */
function createReader(path: string): TranscriptReader {
  const name = basename(path.replaceAll('\\', '/'))
  const stem = name.replace(/\.md$/u, '')
  const runs = new Map<string, number>()
  let run:
    | { readonly id: string; readonly startedAt: string | undefined; readonly line: number; readonly where: Where }
    | undefined
  let isTold = false
  let isTrimmed: boolean | undefined
  let model: string | undefined
  let turn: Turn | undefined
  let read = 0

  function* tell(version: string | undefined): Generator<TranscriptItem> {
    if (run === undefined || isTold) return
    isTold = true
    yield {
      kind: 'conversation',
      sourceId: run.id,
      programVersion: version,
      cwd: name === '.aider.chat.history.md' ? dirname(path) : undefined,
      startedAt: run.startedAt,
      where: run.where,
    }
  }

  /** Says what was read last. @param next the line behind it, which may tell what it took */
  function* flush(next: string): Generator<TranscriptItem> {
    if (turn === undefined) return
    const { speaker, lines, where, place } = turn
    turn = undefined
    const words = lines.join('\n').replace(/^\n+|\s+$/gu, '')
    if (speaker === 'program') model = MODEL.exec(words)?.[1] ?? model
    yield* tell(speaker === 'program' ? VERSION.exec(words)?.[1] : undefined)
    if (words === '') {
      yield { kind: 'left-out', what: speaker === 'program' ? '>' : speaker === 'user' ? '####' : 'text', where }
      return
    }
    const item = { kind: 'message', sourceId: `line-${String(place)}`, part: 0, where } as const
    if (speaker === 'model') yield { ...item, body: { role: 'assistant', content: words }, model, usage: usageIn(next) }
    else
      yield { ...item, body: { role: 'user', content: words }, ...(speaker === 'program' ? { byProgram: true } : {}) }
  }

  function begin(local: string | undefined, line: number, where: Where): void {
    const startedAt = timeIn(local)
    const own = `${stem}/${startedAt?.replace('.000Z', 'Z') ?? 'start'}`
    const count = (runs.get(own) ?? 0) + 1
    runs.set(own, count)
    run = { id: count === 1 ? own : `${own}-${String(count)}`, startedAt, line, where }
    isTold = false
    isTrimmed = undefined
  }

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const line = typeof value === 'string' ? value : ''
    read += 1
    const number = where.line ?? read
    const header = HEADER.exec(line)?.[1]
    if (header !== undefined) {
      yield* flush(line)
      yield* tell(undefined)
      begin(header, number, where)
      return
    }
    const isEnded = line.endsWith('  ')
    if (turn?.isOpen === true && !/^#### .*\S {2}$/u.test(line)) {
      turn.lines.push(line.trimEnd())
      turn.isOpen = !isEnded || line.trim() === ''
      return
    }
    if (line.trim() === '') {
      // What the user says ends here, and so does what the program says. The model's text has empty lines in it.
      if (turn?.speaker === 'model') turn.lines.push('')
      else yield* flush(line)
      return
    }
    // A file that was cut begins within a run.
    if (run === undefined) begin(undefined, number - 1, where)
    isTrimmed ??= /^(?:>|####)/u.test(line) && !isEnded
    // Right behind a line of the user or of the program, the model has not begun to speak.
    const isOpen = !isTrimmed && !isEnded && line.startsWith('> ') && turn !== undefined && turn.speaker !== 'model'
    const speaker = isOpen ? 'program' : speakerOf(line, isTrimmed)
    if (turn !== undefined && turn.speaker !== speaker) yield* flush(line)
    turn ??= { speaker, lines: [], where, place: number - (run?.line ?? 0), isOpen }
    turn.isOpen = isOpen
    turn.lines.push(speaker === 'model' ? line : line.replace(PREFIX[speaker], '').trimEnd())
  }

  function* end(): Generator<TranscriptItem> {
    if (turn !== undefined) yield { kind: 'left-out', what: 'last message, which may go on', where: turn.where }
    yield* tell(undefined)
  }

  return { take, end }
}

function recognize({ path, text }: Head): Layout | undefined {
  const lines = text.split('\n').map((line) => line.replace(/\r$/u, ''))
  if (lines.some((line) => HEADER.test(line))) return 'text'
  // Of a file that was cut, the first run may begin further down.
  const isNamed = path.endsWith('aider.chat.history.md')
  return isNamed && lines.some((line) => speakerOf(line, false) !== 'model') ? 'text' : undefined
}

/** The importer of Aider. */
export const aider: Importer = {
  program: 'aider',
  title: 'Aider',
  // Each repository has its own, where no other place is named.
  homes: (environment) => {
    const file = textIn(environment['AIDER_CHAT_HISTORY_FILE'])
    return file === undefined ? [] : [file]
  },
  recognize,
  read: createReader,
}
