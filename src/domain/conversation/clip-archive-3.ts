/**
 * The clip-archive view of renderer versions 1 to 3. Do not change it: the hashes of contexts that agents received are
 * recorded. Later versions use `clip-archive.ts`.
 */
import { summaryOf, type Batch } from './batch.js'
import type { Clips, ViewEvents, ViewPart } from './clip-archive.js'

const line = (text: string): ViewPart => ({ kind: 'line', text })

/** The head line of a batch without its number, which changes from cycle to cycle. */
export const headAfterNumber3 = ({
  depth,
  startTime,
  endTime,
}: Pick<Batch, 'depth' | 'startTime' | 'endTime'>): string => `— depth ${String(depth)}, ${startTime} to ${endTime}]`

function batchParts(batch: Batch, number: number): ViewPart[] {
  return [
    line(`[Batch ${String(number)} ${headAfterNumber3(batch)}`),
    { kind: 'batch', batchId: batch.batchId, text: summaryOf(batch) },
  ]
}

/** Indexes of the batches that are shown, by section. */
function clip(
  batches: readonly Pick<Batch, 'depth'>[],
  clips: Clips,
): { first: number[]; middle: number[]; last: number[]; omitted: number } {
  const all = batches.map((_batch, at) => at)
  if (batches.length <= clips.clipFirst + clips.clipLast) {
    return { first: all.slice(0, clips.clipFirst), middle: [], last: all.slice(clips.clipFirst), omitted: 0 }
  }
  const between = all.slice(clips.clipFirst, all.length - clips.clipLast)
  const depth = (at: number): number => batches[at]?.depth ?? 0
  const middle = between
    .filter((at) => depth(at) > 0)
    .toSorted((a, b) => depth(b) - depth(a) || b - a)
    .slice(0, clips.clipMiddle)
    .toSorted((a, b) => a - b)
  return {
    first: all.slice(0, clips.clipFirst),
    middle,
    last: clips.clipLast === 0 ? [] : all.slice(-clips.clipLast),
    omitted: between.length - middle.length,
  }
}

/** The indexes of the batches that this view shows: a function of their order and depths alone. */
export function shownAt3(batches: readonly Pick<Batch, 'depth'>[], clips: Clips): ReadonlySet<number> {
  const { first, middle, last } = clip(batches, clips)
  return new Set([...first, ...middle, ...last])
}

/** The parts of the view, in order. */
export function clipArchiveParts3(events: ViewEvents, clips: Clips): ViewPart[] {
  const { first, middle, last, omitted } = clip(events.batches, clips)
  const section = (title: string, shown: readonly number[]): ViewPart[] =>
    shown.length === 0
      ? []
      : [
          line(title),
          ...shown.flatMap((at) => {
            const batch = events.batches[at]
            return batch === undefined ? [] : batchParts(batch, at + 1)
          }),
        ]
  return [
    line(
      `[Context Summary — ${String(events.messagesCompressed)} messages compressed across ${String(events.cycles)} compaction cycles]`,
    ),
    ...section('## Earliest context', first),
    ...section('## In between', middle),
    ...(omitted > 0
      ? [line(`[... ${String(omitted)} earlier summaries omitted, searchable via memory_read ...]`)]
      : []),
    ...section('## Recent context', last),
  ]
}
