/** The events of a log as lines for people. Ids, files and the times of an import are in the details of an event. */
import type { EventData, RecordedEvent } from '../../../domain/events/index.js'
import { contentText, type ToolCall } from '../../../domain/values/message.js'
import { isOfType } from '../../../application/recording/read-event.js'
import { toReportCall } from '../../../application/loss-report/compaction-reports.js'
import { isThought, thoughtsIn } from '../reading/thoughts.js'
import { ToolNames } from '../reading/tool-names.js'
import { toolSummary } from '../reading/tool-summary.js'
import { ROLES } from './chat.js'
import { actorChanges, describeShortly, eventLabel } from '../../../domain/events/describe-event.js'
import { oneLine } from './text.js'

const MAX_CHARACTERS = 200

export interface LogLine {
  readonly event: RecordedEvent
  readonly label: string
  /** When it was said or done; undefined if an import recorded the event and its source has no time. */
  readonly at: string | undefined
  readonly text: string
  /** Who recorded it; undefined if the line before has the same. */
  readonly actor: string | undefined
}

const short = (text: string): string => oneLine(text, MAX_CHARACTERS)

/** A tool call in short: "→ edit src/date.ts". */
function callText(call: ToolCall): string {
  const { tool, subject } = toolSummary(toReportCall(call))
  return `→ ${tool} ${subject}`
}

function messageText({ content, toolCalls = [] }: EventData<'MessageAppended'>): string {
  const parts = Array.isArray(content) ? content : []
  const text = contentText(parts.some(isThought) ? parts.filter((part) => !isThought(part)) : content)
  const texts = [text, ...toolCalls.map(callText)].filter((part) => part !== '')
  const thoughts = thoughtsIn(content)
  if (texts.length > 0 || !parts.some(isThought)) return short(texts.join(' '))
  return thoughts.length === 0 ? '(a thought that is not readable)' : short(`(thought) ${thoughts.join(' ')}`)
}

/** Turns events into lines, in the order of the log. */
export class LogLines {
  private readonly tools = new ToolNames()
  /** The last compaction of another program; the events of an import that store it follow it. */
  private observed: EventData<'CompactionObserved'> | undefined
  private readonly actorOf = actorChanges()

  next(event: RecordedEvent): LogLine {
    const tool = this.tools.toolOf(event)
    return {
      event,
      label: labelOf(event, tool),
      at: this.timeOf(event),
      text: isOfType(event, 'MessageAppended') ? messageText(event.data) : describeShortly(event),
      actor: this.actorOf(event),
    }
  }

  private timeOf(event: RecordedEvent): string | undefined {
    const { recordedAt } = event.metadata
    if (isOfType(event, 'MessageAppended')) return event.data.createdAt
    if (isOfType(event, 'ConversationObserved')) return event.data.startedAt
    if (isOfType(event, 'CompactionObserved')) {
      this.observed = event.data
      return event.data.at
    }
    if (isOfType(event, 'ContributionEdited')) return event.data.at
    if (isOfType(event, 'ConversationTitled') || isOfType(event, 'TranscriptDamaged')) return undefined
    // An import records the first settings too, and has no other time for them.
    if (isOfType(event, 'ConversationConfigured')) return event.revision === 0 ? undefined : recordedAt
    const isPartOfIt = isOfType(event, 'BatchArchived')
      ? event.data.chunkId === this.observed?.chunkId
      : isOfType(event, 'MessagesPruned') && event.data.why.trigger === 'observed'
    return isPartOfIt ? this.observed?.at : recordedAt
  }
}

function labelOf(event: RecordedEvent, tool: string | undefined): string {
  if (event.type !== 'MessageAppended') return eventLabel(event.type)
  return tool === undefined ? ROLES[event.data.role] : `${ROLES[event.data.role]} ${tool}`
}
