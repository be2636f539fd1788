/** Messages of a compaction worker, as text or as JSON. */
import type { CompactionRun } from '../../../application/compaction/compact.js'
import type { TokenLimits } from '../../../ports/token-budget.js'
import { count, many, printable } from '../output.js'

export type WorkerEvent =
  | { readonly kind: 'warning'; readonly detail: string }
  | ({
      readonly kind: 'working'
      readonly log: string
      readonly summarizer: string
      readonly concurrency: number
    } & TokenLimits)
  | ({ readonly kind: 'compacted'; readonly conversationId: string } & Pick<
      CompactionRun,
      'batchesCreated' | 'messagesCompressed' | 'tokensBefore' | 'tokensAfter' | 'summaries' | 'calls' | 'tokensSpent'
    >)
  | { readonly kind: 'failed'; readonly conversationId: string; readonly detail: string }
  | { readonly kind: 'waits'; readonly conversationId: string; readonly seconds: number }
  | { readonly kind: 'problem'; readonly conversationId?: string; readonly detail: string }
  | { readonly kind: 'other-log'; readonly position: string }
  | { readonly kind: 'metrics'; readonly url: string }
  | { readonly kind: 'ending' }
  | { readonly kind: 'ended' }

export function sentenceOf(event: WorkerEvent): string {
  switch (event.kind) {
    case 'warning':
      return `warning: ${event.detail}`
    case 'working': {
      const { tokensPerMinute, tokensPerDay } = event
      const limits = [
        ...(tokensPerMinute === undefined ? [] : [`${count(tokensPerMinute)} tokens per minute`]),
        ...(tokensPerDay === undefined ? [] : [`${count(tokensPerDay)} tokens per day`]),
      ]
      return `follows ${event.log}, summarizer ${printable(event.summarizer)}, ${many(event.concurrency, 'conversation')} concurrently${limits.length === 0 ? '' : `, at most ${limits.join(' and ')} for all workers together`}`
    }
    case 'compacted': {
      const {
        conversationId,
        batchesCreated,
        messagesCompressed,
        tokensBefore,
        tokensAfter,
        summaries,
        calls,
        tokensSpent,
      } = event
      const pruned = `${many(messagesCompressed, 'message')} became ${many(batchesCreated, 'batch', 'batches')}: ${count(tokensBefore)} → ${count(tokensAfter)} tokens`
      const what = messagesCompressed > 0 ? pruned : `${many(summaries, 'summary', 'summaries')} ahead of need`
      return `${printable(conversationId)}: ${what} (${many(calls, 'call')}, ${many(tokensSpent, 'token')})`
    }
    case 'failed':
      return `${printable(event.conversationId)}: ${event.detail}`
    case 'waits':
      return `${printable(event.conversationId)}: waiting ${many(event.seconds, 'second')}: the token limit per minute is reached`
    case 'problem':
      return `${event.conversationId === undefined ? '' : `${printable(event.conversationId)}: `}retrying: ${event.detail}`
    case 'other-log':
      return `the queue belongs to another log: position ${event.position} has another event here. Reading this log from the start`
    case 'metrics':
      return `metrics at ${event.url}/metrics, health at ${event.url}/health`
    case 'ending':
      return 'stopping after the open model calls are recorded; send a second signal to stop now'
    case 'ended':
      return 'stopped'
  }
}
