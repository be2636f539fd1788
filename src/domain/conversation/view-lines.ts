/** Lines that both views share: time spans, and descriptions of omissions. Pure text; times are UTC to the minute. */
import type { Batch } from './batch.js'

type Span = Pick<Batch, 'startTime' | 'endTime'>

/** More ids than this are counted, not listed. */
const MOST_IDS = 8

const dayOf = (time: string): string => time.slice(0, 10)
const clockOf = (time: string): string => time.slice(11, 16)

/** `2026-03-10 07:51 UTC`. */
export const minuteText = (time: string): string => `${dayOf(time)} ${clockOf(time)} UTC`

/** `2026-03-10 07:51 to 08:29 UTC`; with the second day if it differs. */
export function spanText({ startTime, endTime }: Span): string {
  const start = `${dayOf(startTime)} ${clockOf(startTime)}`
  if (start === `${dayOf(endTime)} ${clockOf(endTime)}`) return `${start} UTC`
  return dayOf(startTime) === dayOf(endTime)
    ? `${start} to ${clockOf(endTime)} UTC`
    : `${start} to ${dayOf(endTime)} ${clockOf(endTime)} UTC`
}

/** `2026-03-10`, or `2026-03-10 to 2026-03-12`. */
export const daysText = ({ startTime, endTime }: Span): string =>
  dayOf(startTime) === dayOf(endTime) ? dayOf(startTime) : `${dayOf(startTime)} to ${dayOf(endTime)}`

/** From the earliest start to the latest end; undefined if there is no span. */
export function wholeSpan(spans: readonly Span[]): Span | undefined {
  const [first, ...rest] = spans
  // Times are ISO 8601 in UTC, so their texts sort by time.
  return first === undefined
    ? undefined
    : rest.reduce<Span>(
        (whole, { startTime, endTime }) => ({
          startTime: startTime < whole.startTime ? startTime : whole.startTime,
          endTime: endTime > whole.endTime ? endTime : whole.endTime,
        }),
        { startTime: first.startTime, endTime: first.endTime },
      )
}

export const many = (number: number, one: string, several = `${one}s`): string =>
  `${String(number)} ${number === 1 ? one : several}`

/** The line about omitted entries, with the days of the batches that state them. */
export function omittedText(counts: string, spans: readonly Span[]): string {
  const span = wholeSpan(spans)
  return `[... ${counts}${span === undefined ? '' : ` of ${daysText(span)}`} omitted, searchable via memory_read ...]`
}

function idsText(batches: readonly Pick<Batch, 'batchId'>[]): string {
  const ids = batches.slice(0, MOST_IDS).map(({ batchId }) => batchId)
  const more = batches.length - ids.length
  return `${batches.length === 1 ? 'batch' : 'batches'} ${ids.join(', ')}${more === 0 ? '' : ` and ${String(more)} more`}`
}

/** The line about omitted batches. */
export function omittedBatches(
  batches: readonly Pick<Batch, 'batchId' | 'messageCount' | 'startTime' | 'endTime'>[],
): string {
  const span = wholeSpan(batches)
  const messages = batches.reduce((sum, { messageCount }) => sum + messageCount, 0)
  return `[... ${many(batches.length, 'summary', 'summaries')} of ${many(messages, 'message')}${span === undefined ? '' : ` from ${spanText(span)}`} omitted, searchable via memory_read: ${idsText(batches)} ...]`
}
