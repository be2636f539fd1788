/** The names of the tools that results come from. A result has only the id of its call, which is earlier in the log. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { toReportCall } from '../../forgotten/compaction-reports.js'

/** Events before a part of the log in which the calls of its first results are. */
export const LOOK_BACK = 40

/** Learns the names from events in the order of the log. */
export class ToolNames {
  private readonly names = new Map<string, string>()

  /** Notes the calls of an event, and returns the tool if the event is the result of a call. */
  toolOf(event: RecordedEvent): string | undefined {
    if (event.type !== 'MessageAppended') return undefined
    const { role, name, toolCalls = [], toolCallId } = event.data
    for (const call of toolCalls) this.names.set(call.id, toReportCall(call).name.toLowerCase())
    if (role !== 'tool') return undefined
    return (toolCallId === undefined ? undefined : this.names.get(toolCallId)) ?? name
  }
}
