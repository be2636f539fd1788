/** The rules for erased messages: each is named by an erasure, and what an erasure names is erased when it is completed. */
import type { RecordedEvent } from '../domain/events/index.js'
import { isOfType } from '../recording/read-event.js'
import type { Finding } from './event-laws.js'

/** Follows the erasures of one conversation. */
export class ErasureWatch {
  private readonly erased = new Set<string>()
  private readonly readable = new Set<string>()
  /** Messages by the erasures that name them. */
  private readonly requested = new Map<string, readonly string[]>()
  private readonly completed = new Set<string>()

  take(event: RecordedEvent): void {
    if (isOfType(event, 'MessageAppended')) {
      const { messageId, erased } = event.data
      if (erased === true) this.erased.add(messageId)
      else this.readable.add(messageId)
    } else if (isOfType(event, 'ErasureRequested'))
      this.requested.set(
        event.data.erasureId,
        event.data.messages?.map(({ messageId }) => messageId) ?? [...this.erased, ...this.readable],
      )
    else if (isOfType(event, 'ErasureCompleted')) this.completed.add(event.data.erasureId)
  }

  end(): Finding[] {
    const named = new Set([...this.requested.values()].flat())
    const unnamed = [...this.erased].find((messageId) => !named.has(messageId))
    const findings: Finding[] = []
    if (unnamed !== undefined)
      findings.push({
        rule: 'erasure',
        detail: `cannot read message ${unnamed}, which no erasure names: its key is lost`,
      })
    for (const [erasureId, messageIds] of this.requested) {
      const back = this.completed.has(erasureId)
        ? messageIds.find((messageId) => this.readable.has(messageId))
        : undefined
      if (back !== undefined)
        findings.push({ rule: 'erasure', detail: `can read message ${back}, which erasure ${erasureId} has erased` })
      if (!this.completed.has(erasureId))
        findings.push({
          rule: 'erasure',
          detail: `has an erasure that is not completed: \`erase --resume\` continues it`,
          isObservation: true,
        })
    }
    return findings
  }
}
