/**
 * What a chat history of Aider holds. Each run is a conversation, and so is what stands before the first one in a file
 * that was cut; a run in which nobody said anything is none.
 *
 * Aider ends each line that it writes for the user (`####`) or for itself (`>`) with two spaces; a line with such a mark
 * and without them is the model's, in a quotation or under a heading. An output of several lines has the mark before its
 * first line and the spaces behind its last one, and it stands behind a line of the user or of Aider. Lines of one voice
 * that follow each other are one message. A line of the user or of Aider ends with the blank line behind it. What Aider
 * wrote for itself is counted as said in the user's place.
 *
 * The last message of a file is not counted where nothing shows that it has ended: the next line may belong to it.
 */
import { readFile } from 'node:fs/promises'
import type { CountRaw, RawCounts } from './raw-counts.js'

const RUN = /^# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$/u

type Voice = 'prompt' | 'program' | 'model'

interface Message {
  readonly voice: Voice
  readonly lines: string[]
}

const endsLine = (line: string): boolean => /\S {2}$|^[>#]+ {2,}$/u.test(line)

function voiceOf(line: string): Voice {
  if (!line.endsWith('  ')) return 'model'
  return /^####(?: |$)/u.test(line) ? 'prompt' : /^>(?: |$)/u.test(line) ? 'program' : 'model'
}

/** The messages of a run, and whether the last of them has ended. */
function messagesIn(lines: readonly string[]): { readonly messages: readonly Message[]; readonly isEnded: boolean } {
  const messages: Message[] = []
  let current: Message | undefined
  let isInOutput = false
  for (const line of lines) {
    if (isInOutput && current !== undefined && !/^#### .*\S {2}$/u.test(line)) {
      current.lines.push(line)
      isInOutput = !endsLine(line)
    } else if (line.trim() === '') {
      if (current?.voice !== 'model') current = undefined
    } else {
      isInOutput = line.startsWith('> ') && !line.endsWith('  ') && current !== undefined && current.voice !== 'model'
      const voice = isInOutput ? 'program' : voiceOf(line)
      if (current?.voice !== voice) {
        current = { voice, lines: [] }
        messages.push(current)
      }
      current.lines.push(line)
    }
  }
  return { messages, isEnded: current === undefined }
}

const saysSomething = ({ voice, lines }: Message): boolean =>
  voice === 'model' || lines.some((line) => line.replace(/^(?:####|>)/u, '').trim() !== '')

/** Counts the runs of a file. */
export const countAider: CountRaw = async (path) => {
  const runs: string[][] = [[]]
  for (const line of (await readFile(path, 'utf8')).replace(/\n$/u, '').split('\n'))
    if (RUN.test(line)) runs.push([])
    else runs.at(-1)?.push(line)
  return runs.flatMap((lines, at): RawCounts[] => {
    const { messages, isEnded } = messagesIn(lines)
    const isLast = at === runs.length - 1
    const said = (isLast && !isEnded ? messages.slice(0, -1) : messages).filter(saysSomething)
    const of = (...voices: readonly Voice[]): number => said.filter(({ voice }) => voices.includes(voice)).length
    if (said.length === 0) return []
    return [
      {
        sourceId: undefined,
        messages: { instruction: 0, user: of('prompt', 'program'), assistant: of('model'), tool: 0 },
        calls: 0,
        results: 0,
        compactions: 0,
        withdrawn: 0,
        edits: 0,
        parent: undefined,
      },
    ]
  })
}
