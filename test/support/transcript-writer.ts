/**
 * A simulated program that writes transcripts: it appends lines and half lines, rotates files, copies and truncates
 * them, rewrites them, cuts their ends off and writes those again. Everything that was written stays in one of the
 * files, so a follower can miss nothing.
 */
import fc from 'fast-check'
import { appendFile, copyFile, rename, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sessionOf, type Session } from './growing-transcripts.js'

/** What a session says so far. */
export interface Written {
  readonly conversationId: string
  readonly messageIds: readonly string[]
  readonly compactions: number
}

interface OpenFile {
  readonly path: string
  session: Session
  /** Lines that are written whole. */
  lines: string[]
  messageIds: string[]
  compactions: number
}

const STEPS = ['append', 'append', 'append', 'half', 'rotate', 'copy and truncate', 'write anew', 'cut off'] as const

/** Writes into this number of files in a folder. */
export function createTranscriptWriter(folder: string, files: number, seed: number) {
  const steps = fc.sample(
    fc.record({
      file: fc.nat(files - 1),
      step: fc.constantFrom(...STEPS),
      lines: fc.integer({ min: 1, max: 5 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { seed, numRuns: 5_000 },
  )
  const closed: Written[] = []
  let sessions = 0
  let stepped = 0
  const writtenLines = new Map<string, number>()

  const newFile = (): Pick<OpenFile, 'session' | 'lines' | 'messageIds' | 'compactions'> => {
    sessions += 1
    return { session: sessionOf(sessions, `session-${String(sessions)}`), lines: [], messageIds: [], compactions: 0 }
  }
  const open: OpenFile[] = Array.from({ length: files }, (_none, at) => ({
    path: join(folder, `log-${String(at)}.jsonl`),
    ...newFile(),
  }))
  const writtenOf = ({ session, messageIds, compactions }: OpenFile): Written => ({
    conversationId: session.conversationId,
    messageIds: [...messageIds],
    compactions,
  })

  /** The next lines of a file's session, as if they were written. */
  function next(file: OpenFile, count: number): string {
    let text = ''
    for (let line = 0; line < count; line += 1) {
      const { text: said, messageId, isCompaction } = file.session.line(file.lines.length)
      file.lines.push(said)
      if (messageId !== undefined) file.messageIds.push(messageId)
      if (isCompaction) file.compactions += 1
      text += `${said}\n`
    }
    return text
  }
  /** The session is over, and the file has another one from here on. */
  function close(file: OpenFile): void {
    if (file.lines.length > 0) closed.push(writtenOf(file))
    Object.assign(file, newFile())
  }
  const pause = async (): Promise<void> => {
    await new Promise((resolve) => {
      setTimeout(resolve, 3)
    })
  }

  return {
    /** How often each step was taken. */
    done: writtenLines,
    /** Takes the next step. */
    async step(): Promise<void> {
      const { file: at = 0, step = 'append', lines = 1, share = 0 } = steps[stepped % steps.length] ?? {}
      stepped += 1
      const file = open[at]
      if (file === undefined) return
      writtenLines.set(step, (writtenLines.get(step) ?? 0) + 1)
      const old = `${file.path.slice(0, -'.jsonl'.length)}.${String(stepped)}.jsonl`
      switch (step) {
        case 'append':
          await appendFile(file.path, next(file, lines))
          return
        case 'half': {
          const text = next(file, 1)
          const cut = Math.floor(text.length * share)
          await appendFile(file.path, text.slice(0, cut))
          await pause()
          await appendFile(file.path, text.slice(cut))
          return
        }
        case 'rotate':
          if (file.lines.length === 0) return
          await rename(file.path, old)
          close(file)
          await writeFile(file.path, next(file, lines))
          return
        case 'copy and truncate':
          if (file.lines.length === 0) return
          await copyFile(file.path, old)
          await truncate(file.path, 0)
          close(file)
          await appendFile(file.path, next(file, lines))
          return
        case 'write anew':
          next(file, lines)
          await writeFile(file.path, file.lines.map((line) => `${line}\n`).join(''))
          return
        case 'cut off': {
          const whole = file.lines.map((line) => `${line}\n`).join('')
          if (whole === '') return
          const last = (file.lines.at(-1) ?? '').length + 1
          const keptLength = whole.length - Math.ceil(last * share)
          await truncate(file.path, keptLength)
          await pause()
          await appendFile(file.path, whole.slice(keptLength) + next(file, lines))
        }
      }
    },
    /** What each session says. */
    written: (): readonly Written[] => [...closed, ...open.filter(({ lines }) => lines.length > 0).map(writtenOf)],
  }
}
