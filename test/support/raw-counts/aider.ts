/**
 * What a chat history of Aider holds. Each run is a conversation, and so is what stands before the first one in a file
 * that was cut. Lines of one voice that follow each other, without a blank line or with some, are one message; a line
 * of a prompt ends with the blank line behind it. What Aider wrote itself (`>`) is counted as said in the user's place.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { CountRaw, RawCounts } from './raw-counts.js'

const RUN = /^# aider chat started at (?<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$/u

type Voice = 'prompt' | 'program' | 'model'

const voiceOf = (line: string): Voice =>
  /^####(?: |$)/u.test(line) ? 'prompt' : /^>(?: |$)/u.test(line) ? 'program' : 'model'

interface Run {
  readonly sourceId: string
  readonly said: Record<Voice, number>
}

const newRun = (sourceId: string): Run => ({ sourceId, said: { prompt: 0, program: 0, model: 0 } })

function readRuns(text: string, first: string): readonly Run[] {
  let run = newRun(first)
  const runs = [run]
  let voice: Voice | undefined
  for (const line of text.split('\n').map((each) => each.trimEnd())) {
    const begun = RUN.exec(line)?.groups?.['at']
    if (begun !== undefined) {
      run = newRun(begun)
      runs.push(run)
      voice = undefined
    } else if (line === '') voice = voice === 'prompt' ? undefined : voice
    else if (voiceOf(line) !== voice) {
      voice = voiceOf(line)
      run.said[voice] += 1
    }
  }
  return runs.filter(({ said }) => said.prompt + said.program + said.model > 0)
}

/** Counts the runs of a file. */
export const countAider: CountRaw = async (path) =>
  readRuns(await readFile(path, 'utf8'), basename(path)).map(({ sourceId, said }): RawCounts => ({
    sourceId,
    messages: { instruction: 0, user: said.prompt + said.program, assistant: said.model, tool: 0 },
    calls: 0,
    results: 0,
    compactions: 0,
    withdrawn: 0,
    edits: 0,
    parent: undefined,
  }))
