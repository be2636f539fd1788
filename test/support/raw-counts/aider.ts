/**
 * Counts a chat history of Aider. Each run is a conversation, and so is the text before the first run in a truncated
 * file. A run without messages is not a conversation.
 *
 * Aider ends each line that it writes for the user (`####`) or for itself (`>`) with two spaces. A line with such a
 * prefix but without the spaces is the model's quotation or heading. A multi-line output has the prefix on its first
 * line and the spaces at the end of its last line, and it follows a line of the user or of Aider. Consecutive lines of
 * one speaker are one message. A message of the user or of Aider ends at a blank line. Aider's own messages count as
 * the user's.
 *
 * The last message of a file counts only if it is known to have ended: otherwise the next line may belong to it.
 */
import { readFile } from 'node:fs/promises'
import type { CountRaw, RawCounts } from './raw-counts.js'

const RUN = /^# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$/u

type Speaker = 'prompt' | 'program' | 'model'

interface Message {
  readonly speaker: Speaker
  readonly lines: string[]
}

const endsLine = (line: string): boolean => /\S {2}$|^[>#]+ {2,}$/u.test(line)

function speakerOf(line: string): Speaker {
  if (!line.endsWith('  ')) return 'model'
  return /^####(?: |$)/u.test(line) ? 'prompt' : /^>(?: |$)/u.test(line) ? 'program' : 'model'
}

/** The messages of a run, and whether the last one has ended. */
function messagesIn(lines: readonly string[]): { readonly messages: readonly Message[]; readonly isEnded: boolean } {
  const messages: Message[] = []
  let current: Message | undefined
  let isInOutput = false
  for (const line of lines) {
    if (isInOutput && current !== undefined && !/^#### .*\S {2}$/u.test(line)) {
      current.lines.push(line)
      isInOutput = !endsLine(line)
    } else if (line.trim() === '') {
      if (current?.speaker !== 'model') current = undefined
    } else {
      isInOutput = line.startsWith('> ') && !line.endsWith('  ') && current !== undefined && current.speaker !== 'model'
      const speaker = isInOutput ? 'program' : speakerOf(line)
      if (current?.speaker !== speaker) {
        current = { speaker, lines: [] }
        messages.push(current)
      }
      current.lines.push(line)
    }
  }
  return { messages, isEnded: current === undefined }
}

const hasText = ({ speaker, lines }: Message): boolean =>
  speaker === 'model' || lines.some((line) => line.replace(/^(?:####|>)/u, '').trim() !== '')

export const countAider: CountRaw = async (path) => {
  const runs: string[][] = [[]]
  for (const line of (await readFile(path, 'utf8')).replace(/\n$/u, '').split('\n'))
    if (RUN.test(line)) runs.push([])
    else runs.at(-1)?.push(line)
  return runs.flatMap((lines, at): RawCounts[] => {
    const { messages, isEnded } = messagesIn(lines)
    const isLast = at === runs.length - 1
    const counted = (isLast && !isEnded ? messages.slice(0, -1) : messages).filter(hasText)
    const countOf = (...speakers: readonly Speaker[]): number =>
      counted.filter(({ speaker }) => speakers.includes(speaker)).length
    if (counted.length === 0) return []
    return [
      {
        sourceId: undefined,
        messages: { instruction: 0, user: countOf('prompt', 'program'), assistant: countOf('model'), tool: 0 },
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
