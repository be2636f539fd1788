/** The messages of a conversation that are not withdrawn, in the form of reports. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { isOfType } from '../recording/read-event.js'
import { toReportMessage } from './compaction-reports.js'
import type { ReportMessage } from './report-input.js'

/** Takes the events of a conversation in order. */
export class RecordedMessages {
  private readonly byId = new Map<string, ReportMessage>()

  /** Returns the message that the event records; undefined if it records none. */
  take(event: RecordedEvent): ReportMessage | undefined {
    if (isOfType(event, 'MessageAppended')) {
      const message = toReportMessage({ ...event.data, revision: event.revision })
      this.byId.set(message.messageId, message)
      return message
    }
    if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) this.byId.delete(messageId)
    return undefined
  }

  has(messageId: string): boolean {
    return this.byId.has(messageId)
  }

  /** The messages with these ids, without those that are not recorded or withdrawn. */
  of(messageIds: readonly string[]): ReportMessage[] {
    return messageIds.flatMap((id) => this.byId.get(id) ?? [])
  }

  /** All messages, in order. */
  all(): ReportMessage[] {
    return [...this.byId.values()]
  }
}
