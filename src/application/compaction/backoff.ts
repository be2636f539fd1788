/**
 * The wait after a failed compaction, before a worker takes the conversation again. A pure function: the same input
 * gives the same time.
 */
import { sha256 } from '../../domain/values/hash.js'
import { backoffMs } from '../../lib/backoff.js'
import type { CompactFailure } from './compact.js'

const BACKOFF = { firstMs: 2_000, mostMs: 5 * 60_000 }

/** Failures of the summarizer that affect every conversation. */
const SHARED_FAILURES: ReadonlySet<string> = new Set([
  'unreachable',
  'timeout',
  'rate-limited',
  'unauthorized',
  'unknown-model',
])

export interface Backoff {
  readonly ms: number
  /** Other conversations would fail in the same way. */
  readonly everywhere: boolean
}

/**
 * Doubles after each failure in a row, and is at least the time that the model asked for. Conversations that failed
 * together are spread over half of that time, by their ids, so that they do not all return at the same moment.
 * @param failure undefined for an unexpected error
 * @param failures failures in a row, including this one
 */
export function backoffAfter(failure: CompactFailure | undefined, failures: number, conversationId: string): Backoff {
  const summarizer = failure?.kind === 'SummarizerFailed' ? failure : undefined
  // A daily limit resets for all conversations at the same time, so the wait is not doubled.
  if (summarizer?.failure === 'limit-reached')
    return { ms: summarizer.retryAfterMs ?? BACKOFF.mostMs, everywhere: false }
  const doubled = backoffMs(failures, BACKOFF)
  const spread = Number.parseInt(sha256(`${conversationId} ${String(failures)}`).slice(0, 4), 16) / 0xffff
  const ms = Math.round(Math.max(summarizer?.retryAfterMs ?? 0, doubled / 2) + (doubled / 2) * spread)
  return { ms, everywhere: summarizer !== undefined && SHARED_FAILURES.has(summarizer.failure) }
}
