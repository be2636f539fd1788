/**
 * What we need to prove where a summary came from: whether its recorded request hash is the one of the request that its
 * recorded facts lead to. It is pure, and never guesses: what it cannot make again, it says it does not know.
 */
import type { SummarizerRecord } from '../domain/events/index.js'
import type { SummaryJob } from './summarizer.js'

type Without<Job, Key extends PropertyKey> = Job extends unknown ? Omit<Job, Key> : never

/** A job as the facts tell it; how long the summary might be stands among the summarizer's parameters. */
export type RecordedJob = Without<SummaryJob, 'maxSummaryTokens'>

/**
 * `same`: the request leads to the recorded hash. `other`: it does not. `unknown`: it cannot be made again (a strategy
 * of somebody's own, a formatter of another version, a window that is not recorded).
 */
export type RequestVerdict = 'same' | 'other' | 'unknown'

/**
 * @param template text of the recorded prompt
 */
export type CheckRequest = (events: SummarizerRecord, job: RecordedJob, template: string) => RequestVerdict
