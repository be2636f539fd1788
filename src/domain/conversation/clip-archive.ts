/**
 * The clip-archive view: the first and the last batches, what was re-summarized in between, and how much is left out.
 * Pure text.
 */
import type { Batch } from './batch.js'
import { summaryOf } from './batch.js'

/**
 * Raised when a context changes for the same facts; recorded in the configuration, so that a context that was handed
 * out stays the one that it was. Since 2 pinned messages and the newest one stay whatever came (`fit.ts`; before,
 * `fit-1.ts`). Since 3 what came with the newest one gives way before what the model was shown already.
 */
export const RENDERER_VERSION = 3

export interface ViewEvents {
  readonly batches: readonly Batch[]
  readonly messagesCompressed: number
  readonly cycles: number
}

export interface Clips {
  readonly clipFirst: number
  readonly clipMiddle: number
  readonly clipLast: number
}

/**
 * One part of a view: a line of structure, or the text of a batch, which may be shortened where the hard limit forces
 * it.
 */
export type ViewPart =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'batch'; readonly batchId: string; readonly text: string }

const line = (text: string): ViewPart => ({ kind: 'line', text })

function batchParts(batch: Batch, number: number): ViewPart[] {
  return [
    line(`[Batch ${String(number)} — depth ${String(batch.depth)}, ${batch.startTime} to ${batch.endTime}]`),
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

/** The indexes of the batches whose text is shown: by their places and depths alone. */
export function shownAt(batches: readonly Pick<Batch, 'depth'>[], clips: Clips): ReadonlySet<number> {
  const { first, middle, last } = clip(batches, clips)
  return new Set([...first, ...middle, ...last])
}

/** The parts of the view, in order. */
export function clipArchiveParts(events: ViewEvents, clips: Clips): ViewPart[] {
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

/** The text of a view: its parts, a blank line between them, and none between a batch's head and its text. */
export function joinParts(parts: readonly ViewPart[]): string {
  return parts.reduce(
    (text, part, at) => (at === 0 ? part.text : `${text}${part.kind === 'batch' ? '\n' : '\n\n'}${part.text}`),
    '',
  )
}
