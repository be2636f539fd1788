/**
 * Verifies the provenance of a summary: whether the recorded request hash matches the request that the recorded events
 * lead to. Pure. If it cannot rebuild the request, the result is `unknown`.
 */
import type { SummarizerRecord } from '../domain/events/index.js'
import type { SummaryJob } from './summarizer.js'

type Without<Job, Key extends PropertyKey> = Job extends unknown ? Omit<Job, Key> : never

/** A job as recorded by the events. The maximum length of the summary is one of the recorded parameters. */
export type RecordedJob = Without<SummaryJob, 'maxSummaryTokens'>

/**
 * `same`: the request has the recorded hash. `other`: it has another hash. `unknown`: the request cannot be rebuilt (a
 * custom strategy, a formatter of another version, a window that is not recorded).
 */
export type RequestVerdict = 'same' | 'other' | 'unknown'

/**
 * @param template text of the recorded prompt
 */
export type CheckRequest = (events: SummarizerRecord, job: RecordedJob, template: string) => RequestVerdict
