/** What a compaction worker says of its work: as sentences, or as it is for `--json`. */
import type { CompactionRun } from '../../compaction/compact.js'
import type { TokenLimits } from '../../ports/token-budget.js'
import { count, many, printable } from '../output.js'

export type Happening =
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

export function sentenceOf(happening: Happening): string {
  switch (happening.kind) {
    case 'warning':
      return `warning: ${happening.detail}`
    case 'working': {
      const { tokensPerMinute, tokensPerDay } = happening
      const limits = [
        ...(tokensPerMinute === undefined ? [] : [`${count(tokensPerMinute)} tokens a minute`]),
        ...(tokensPerDay === undefined ? [] : [`${count(tokensPerDay)} tokens a day`]),
      ]
      return `follows ${happening.log}, summarizer ${printable(happening.summarizer)}, ${many(happening.concurrency, 'conversation')} at once${limits.length === 0 ? '' : `, at most ${limits.join(' and ')} with all other workers`}`
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
      } = happening
      const pruned = `${many(messagesCompressed, 'message')} became ${many(batchesCreated, 'batch', 'batches')}: ${count(tokensBefore)} → ${count(tokensAfter)} tokens`
      const what = messagesCompressed > 0 ? pruned : `${many(summaries, 'summary', 'summaries')} ahead of need`
      return `${printable(conversationId)}: ${what} (${many(calls, 'call')}, ${many(tokensSpent, 'token')})`
    }
    case 'failed':
      return `${printable(happening.conversationId)}: ${happening.detail}`
    case 'waits':
      return `${printable(happening.conversationId)}: waits ${many(happening.seconds, 'second')}, because the tokens of this minute are spent`
    case 'problem':
      return `${happening.conversationId === undefined ? '' : `${printable(happening.conversationId)}: `}trying again: ${happening.detail}`
    case 'other-log':
      return `the queue was filled from another log: position ${happening.position} holds another event here. This log is read from its start`
    case 'metrics':
      return `metrics at ${happening.url}/metrics, health at ${happening.url}/health`
    case 'ending':
      return 'ending: calls that are under way may end and are recorded. A second signal ends at once'
    case 'ended':
      return 'ended'
  }
}
