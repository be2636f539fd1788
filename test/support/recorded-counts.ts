/** Counts of the recorded events of an imported conversation, in the form of the raw counters. */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import type { MessageBody } from '../../src/domain/values/message.js'
import { isOfType } from '../../src/application/recording/read-event.js'
import type { RawCounts } from './raw-counts/raw-counts.js'

/** A call that the provider ran is a part of the answer. */
const PROVIDER_CALLS = new Set(['web_search', 'image_generation'])

const callsIn = ({ content, toolCalls = [] }: MessageBody): number =>
  toolCalls.length + (Array.isArray(content) ? content.filter(({ type }) => PROVIDER_CALLS.has(type)).length : 0)

/** An undo is recorded as a further compaction, which the file does not contain. */
export const isOfFile = (event: RecordedEvent<'CompactionObserved'>): boolean =>
  !event.data.sourceId.startsWith('undo of ')

/** The counts of the recorded events, in the form of the counters. */
export function countsOf(sourceId: string, events: readonly RecordedEvent[]): RawCounts {
  const messages = events.filter((event) => isOfType(event, 'MessageAppended')).map(({ data }) => data)
  const inRole = (...roles: readonly string[]): number => messages.filter(({ role }) => roles.includes(role)).length
  const observed = events.find((event) => isOfType(event, 'ConversationObserved'))
  return {
    sourceId,
    messages: {
      instruction: inRole('system', 'developer'),
      user: inRole('user'),
      assistant: inRole('assistant'),
      tool: inRole('tool'),
    },
    calls: messages.reduce((sum, message) => sum + callsIn(message), 0),
    results: inRole('tool'),
    compactions: events.filter((event) => isOfType(event, 'CompactionObserved')).filter(isOfFile).length,
    withdrawn: events
      .filter((event) => isOfType(event, 'MessagesWithdrawn'))
      .reduce((sum, { data }) => sum + data.messages.length, 0),
    edits: events.filter((event) => isOfType(event, 'ContributionEdited')).length,
    parent: observed?.data.parent?.sourceId,
  }
}
