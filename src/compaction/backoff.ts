/**
 * How long a conversation waits after a failure, before a worker takes it again. Pure: who asks twice gets the same.
 */
import { sha256 } from '../domain/values/hash.js'
import { backoffMs } from '../ports/backoff.js'
import type { CompactFailure } from './compact.js'

const BACKOFF = { firstMs: 2_000, mostMs: 5 * 60_000 }

/** Failures that the summarizer has with everybody, not with what this conversation sent. */
const EVERYBODYS: ReadonlySet<string> = new Set([
  'unreachable',
  'timeout',
  'rate-limited',
  'unauthorized',
  'unknown-model',
])

export interface Backoff {
  readonly ms: number
  /** Every other conversation would meet it too. */
  readonly everywhere: boolean
}

/**
 * Twice as long after each failure in a row, and as long as the model asked for where it did. Conversations that failed
 * together come back spread over half of that time, each by its name, so that a model that recovers does not meet all
 * of them at once.
 * @param failure undefined for what nobody foresaw
 * @param failures failures in a row, this one included
 */
export function backoffAfter(failure: CompactFailure | undefined, failures: number, conversationId: string): Backoff {
  const summarizer = failure?.kind === 'SummarizerFailed' ? failure : undefined
  // A limit a day opens when the day turns, for all at once: there is nothing to double, and little to spread.
  if (summarizer?.failure === 'limit-reached')
    return { ms: summarizer.retryAfterMs ?? BACKOFF.mostMs, everywhere: false }
  const doubled = backoffMs(failures, BACKOFF)
  const spread = Number.parseInt(sha256(`${conversationId} ${String(failures)}`).slice(0, 4), 16) / 0xffff
  const ms = Math.round(Math.max(summarizer?.retryAfterMs ?? 0, doubled / 2) + (doubled / 2) * spread)
  return { ms, everywhere: summarizer !== undefined && EVERYBODYS.has(summarizer.failure) }
}
