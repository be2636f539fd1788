/**
 * The clip-archive view: the first and the last batches, merged ones between them, as many more as the budget allows,
 * and a line for each run of omitted batches. Pure text.
 */
import type { Batch } from './batch.js'
import { summaryOf } from './batch.js'
import { omittedBatches, spanText } from './view-lines.js'

/**
 * Incremented when the same events give another context. Recorded in the configuration, so that earlier contexts can be
 * rendered again. Version 2: pinned messages and the newest one always stay (`fit.ts`; before, `fit-1.ts`). Version 3:
 * the messages that arrived with the newest one are shortened before messages that the model has received. Version 4:
 * the policy names the shape of a context, and both views state their omissions. Version 5: contexts of other programs
 * have a result for each call (`observed-context.ts`).
 */
export const RENDERER_VERSION = 5

export interface ViewEvents {
  readonly batches: readonly Batch[]
  readonly messagesCompressed: number
  readonly cycles: number
}

export interface Clips {
  readonly clipFirst: number
  readonly clipMiddle: number
  readonly clipLast: number
  /** Limit of one summary. */
  readonly maxSummaryTokens: number
}

/**
 * One part of a view: a line of structure, or the text of a batch, which is shortened if the hard limit requires it.
 */
export type ViewPart =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'batch'; readonly batchId: string; readonly text: string }

const line = (text: string): ViewPart => ({ kind: 'line', text })

/** The head line of a batch without its number, which changes from cycle to cycle. */
export const headAfterNumber = (batch: Pick<Batch, 'depth' | 'startTime' | 'endTime'>): string =>
  `${batch.depth > 0 ? ', merged from several summaries' : ''}: ${spanText(batch)}]`

function batchParts(batch: Batch, number: number): ViewPart[] {
  return [
    line(`[Batch ${String(number)}${headAfterNumber(batch)}`),
    { kind: 'batch', batchId: batch.batchId, text: summaryOf(batch) },
  ]
}

/** The fields of a batch that decide whether the view shows it. */
export type ClippedBatch = Pick<Batch, 'depth' | 'tokens'>

/** Approximate tokens of a batch's head line. */
const HEAD_TOKENS = 20

/** Indexes of the shown batches, ascending, by section. */
interface Clip {
  readonly first: readonly number[]
  readonly middle: readonly number[]
  readonly last: readonly number[]
}

/**
 * Always shows the first `clipFirst` batches, the deepest `clipMiddle` merged ones after them, and the last `clipLast`.
 * The budget is (clipFirst + clipMiddle + clipLast) × maxSummaryTokens. While it lasts, more batches are shown: from
 * the last ones backwards until one does not fit, then merged ones, the deepest first.
 */
function clip(batches: readonly ClippedBatch[], clips: Clips): Clip {
  const all = batches.map((_batch, at) => at)
  const first = all.slice(0, clips.clipFirst)
  let lastStart = Math.max(first.length, batches.length - clips.clipLast)
  const depth = (at: number): number => batches[at]?.depth ?? 0
  const cost = (at: number): number => (batches[at]?.tokens ?? 0) + HEAD_TOKENS
  const merged = all
    .slice(first.length, lastStart)
    .filter((at) => depth(at) > 0)
    .toSorted((a, b) => depth(b) - depth(a) || b - a)
  const middle = new Set(merged.slice(0, clips.clipMiddle))
  let left = (clips.clipFirst + clips.clipMiddle + clips.clipLast) * clips.maxSummaryTokens
  for (const at of [...first, ...middle, ...all.slice(lastStart)]) left -= cost(at)
  while (lastStart > first.length && (middle.has(lastStart - 1) || cost(lastStart - 1) <= left)) {
    lastStart -= 1
    if (!middle.has(lastStart)) left -= cost(lastStart)
  }
  for (const at of merged) {
    if (at >= lastStart || middle.has(at) || cost(at) > left) continue
    left -= cost(at)
    middle.add(at)
  }
  return {
    first,
    middle: [...middle].filter((at) => at < lastStart).toSorted((a, b) => a - b),
    last: all.slice(lastStart),
  }
}

/** Indexes of the shown batches, which depend only on the order, depths and tokens of all batches. */
export function shownAt(batches: readonly ClippedBatch[], clips: Clips): ReadonlySet<number> {
  const { first, middle, last } = clip(batches, clips)
  return new Set([...first, ...middle, ...last])
}

/** The parts of the view, in order, with a line at the position of each run of omitted batches. */
export function clipArchiveParts(events: ViewEvents, clips: Clips): ViewPart[] {
  const { batches } = events
  const { first, middle, last } = clip(batches, clips)
  let next = 0
  const omittedUntil = (end: number): ViewPart[] => {
    const omitted = batches.slice(next, end)
    next = Math.max(next, end)
    return omitted.length === 0 ? [] : [line(omittedBatches(omitted))]
  }
  const section = (title: string, shown: readonly number[]): ViewPart[] => {
    const parts = shown.flatMap((at) => {
      const omitted = omittedUntil(at)
      const batch = batches[at]
      next = at + 1
      return batch === undefined ? [] : [...omitted, ...batchParts(batch, at + 1)]
    })
    return shown.length === 0 ? [] : [line(title), ...parts]
  }
  return [
    line(
      `[Context Summary — ${String(events.messagesCompressed)} messages compressed across ${String(events.cycles)} compaction cycles]`,
    ),
    ...section('## Earliest context', first),
    ...section('## In between', middle),
    ...omittedUntil(last[0] ?? batches.length),
    ...section('## Recent context', last),
  ]
}

/** The text of a view. A blank line separates the parts, except a batch's head from its text. */
export function joinParts(parts: readonly ViewPart[]): string {
  return parts.reduce(
    (text, part, at) => (at === 0 ? part.text : `${text}${part.kind === 'batch' ? '\n' : '\n\n'}${part.text}`),
    '',
  )
}
