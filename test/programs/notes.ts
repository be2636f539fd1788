/** The notes of hooks in the requests that the model received. */
import { NOTE_BEGINNING } from '../../src/domain/values/recall-note.js'
import type { ReceivedRequest } from './model/server.js'

/** A note in the requests after a compaction. */
interface ArrivedNote {
  readonly text: string
  /** Its first request: 1 is the first one after the compaction. */
  readonly request: number
  /** Milliseconds between the end of the compaction and that request. */
  readonly delayMs: number
  /** The texts of that request with the notes of earlier compactions, and without those of this one. */
  readonly context: string
}

/** A compaction, and the notes that arrived before the next one. */
export interface NotedCompaction {
  readonly notes: readonly ArrivedNote[]
  /** Requests until the next compaction. */
  readonly requests: number
  /** The texts of the last of them, likewise. */
  readonly context: string
}

/** The notes in a request, each to the end of its text, and the rest of its texts. */
function textsIn({ request: { instructions, messages } }: ReceivedRequest): { notes: readonly string[]; rest: string } {
  const texts = [instructions, ...messages.flatMap((message) => message.texts)].map((text) =>
    text.split(NOTE_BEGINNING),
  )
  return {
    notes: texts.flatMap(([, ...notes]) => notes.map((note) => `${NOTE_BEGINNING}${note}`)),
    rest: texts.map(([before]) => before).join('\n'),
  }
}

/** The texts that an earlier request does not have. */
function newTexts(texts: readonly string[], earlier: readonly string[]): readonly string[] {
  const rest = [...earlier]
  return texts.filter((text) => {
    const at = rest.indexOf(text)
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
}

/** The compactions of one session, with their notes. `delayMs` is the time that the model took for each answer. */
export function notedCompactions(requests: readonly ReceivedRequest[], delayMs: number): readonly NotedCompaction[] {
  const compactions: { notes: ArrivedNote[]; requests: number; context: string; readonly endedAt: number }[] = []
  let earlier: readonly string[] = []
  let isCompacting = false
  for (const each of requests) {
    if (each.purpose === 'other') continue
    const endedAt = each.receivedAt + delayMs
    if (each.purpose === 'compaction') {
      // A program may ask for the summary of one compaction in several requests.
      if (isCompacting) compactions.pop()
      compactions.push({ notes: [], requests: 0, context: '', endedAt })
    } else {
      const { notes, rest } = textsIn(each)
      const current = compactions.at(-1)
      if (current !== undefined) {
        current.requests += 1
        const arrived = newTexts(notes, earlier)
        const ofCompaction = [...current.notes.map(({ text }) => text), ...arrived]
        const context = [rest, ...newTexts(notes, ofCompaction)].join('\n')
        current.context = context
        for (const text of arrived)
          current.notes.push({ text, context, request: current.requests, delayMs: each.receivedAt - current.endedAt })
      }
      earlier = notes
    }
    isCompacting = each.purpose === 'compaction'
  }
  return compactions
}

/** How often each value occurs: `1 (18 times), 2 (2 times)`. */
function describeCounts(values: readonly number[]): string {
  const counts = Map.groupBy(
    values.toSorted((a, b) => a - b),
    (value) => value,
  )
  return [...counts].map(([value, all]) => `${String(value)} (${String(all.length)} times)`).join(', ')
}

const seconds = (milliseconds: number | undefined): string => `${((milliseconds ?? 0) / 1_000).toFixed(1)} s`

/** In which requests, and after which time, the notes arrived. */
export function describeArrivals(compactions: readonly NotedCompaction[]): string {
  const notes = compactions.flatMap((each) => each.notes)
  const delays = notes.map(({ delayMs }) => delayMs).toSorted((a, b) => a - b)
  const [least, median, most] = [delays[0], delays[Math.floor(delays.length / 2)], delays.at(-1)]
  return [
    `${String(compactions.length)} compactions, ${String(notes.length)} notes`,
    `request after the compaction: ${describeCounts(notes.map(({ request }) => request))}`,
    `after ${seconds(least)} to ${seconds(most)}, median ${seconds(median)}`,
  ].join('; ')
}
