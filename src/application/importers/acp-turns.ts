/** The turns of a session: the prompt of the current one, and the usage and end of the last one. */
import { isRecord } from '../../lib/is-record.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { countIn } from './bodies.js'
import { knownUsage } from './message-items.js'
import type { EarlierUsage, MessageItem, Usage } from './transcript.js'

interface Turn {
  readonly prompt: string
  readonly promptId: string
  /** Ids of the messages of this turn. */
  readonly ids: string[]
  /** A compaction of this turn was emitted. */
  compacted: boolean
}

export class AcpTurns {
  current: Turn | undefined
  /** Costs of the session so far, and until the end of the last turn. */
  private cost = 0
  private lastCost = 0
  private earlierUsage: EarlierUsage | undefined
  private aborted: MessageItem['abortedTurn']

  begin(prompt: string, promptId: string): void {
    this.current = { prompt, promptId, ids: [], compacted: false }
  }

  /** The turn did not end as usual. */
  abort({ promptId }: Turn, reason: string): void {
    this.aborted = { messageId: promptId, reason }
  }

  /** Agents report the costs of the session so far. */
  setCost(cost: number): void {
    this.cost = cost
  }

  /** If all messages of a turn were emitted before its usage was known, the next message has the usage. */
  setEarlierUsage(earlierUsage: EarlierUsage): void {
    this.earlierUsage = earlierUsage
  }

  /** Returns the usage and the end of the last turn for the next message, once. */
  takeEnd(): Pick<MessageItem, 'earlierUsage' | 'abortedTurn'> {
    const { earlierUsage, aborted: abortedTurn } = this
    this.earlierUsage = undefined
    this.aborted = undefined
    return withoutUndefined({ earlierUsage, abortedTurn })
  }

  /** The usage of the turn that ends. */
  usageOf(usage: unknown): Usage | undefined {
    const cost = this.cost > this.lastCost ? this.cost - this.lastCost : undefined
    this.lastCost = this.cost
    if (!isRecord(usage)) return knownUsage({ cost })
    const [input, output, total] = ['inputTokens', 'outputTokens', 'totalTokens'].map((name) => countIn(usage[name]))
    const [read, written] = [countIn(usage['cachedReadTokens']), countIn(usage['cachedWriteTokens'])]
    const withCache = (input ?? 0) + (read ?? 0) + (written ?? 0)
    const countsCacheApart = total !== undefined && total === withCache + (output ?? 0)
    return knownUsage({
      inputTokens: input !== undefined && countsCacheApart ? withCache : input,
      outputTokens: output,
      cacheReadTokens: read,
      cacheWriteTokens: written,
      reasoningTokens: countIn(usage['thoughtTokens']),
      cost,
    })
  }
}
