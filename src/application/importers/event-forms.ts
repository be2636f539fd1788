/** Parts of a transcript in the format of events. */
import type { SourcePlace } from '../../domain/events/index.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { MessageItem, SourceLocation } from './transcript.js'

export const toSourcePlace = ({ file, line, path }: SourceLocation): SourcePlace => ({
  file,
  ...(line === undefined ? {} : { line }),
  ...(path === undefined ? {} : { path }),
})

/** A time in the format of events; undefined if the text is not a time. */
export function timeOf(at: string | undefined): string | undefined {
  if (at === undefined) return undefined
  const time = new Date(at)
  const year = Number.isNaN(time.getTime()) ? -1 : time.getUTCFullYear()
  return year >= 0 && year <= 9999 ? time.toISOString() : undefined
}

/** A count in the format of events; undefined if it is none. */
export const countOf = (value: number | undefined): number | undefined =>
  value === undefined || !Number.isFinite(value) || value < 0 ? undefined : Math.round(value)

/** Usage in the format of events. */
export const usageOf = (usage: MessageItem['usage']): object | undefined =>
  usage === undefined
    ? undefined
    : withoutUndefined({
        inputTokens: countOf(usage.inputTokens),
        outputTokens: countOf(usage.outputTokens),
        cacheReadTokens: countOf(usage.cacheReadTokens),
        cacheWriteTokens: countOf(usage.cacheWriteTokens),
        reasoningTokens: countOf(usage.reasoningTokens),
        cost: usage.cost === undefined || !(usage.cost >= 0) ? undefined : usage.cost,
      })
