/** The events of a log as lines for people. Ids, files and the times of an import are in the details of an event. */
import type { EventData, EventType, RecordedEvent } from '../../../domain/events/index.js'
import { contentText, type ToolCall } from '../../../domain/values/message.js'
import { isOfType } from '../../../application/recording/read-event.js'
import { toReportCall } from '../../../application/loss-report/compaction-reports.js'
import { isThought, thoughtsIn } from '../reading/thoughts.js'
import { ToolNames } from '../reading/tool-names.js'
import { toolSummary } from '../reading/tool-summary.js'
import type { Words } from '../words.js'
import { ROLES } from './chat.js'
import { eventLabel } from './event-label.js'
import { count, many, oneLine } from './text.js'

const MAX_CHARACTERS = 200

export interface LogLine {
  readonly event: RecordedEvent
  readonly label: string
  /** When it was said or done; undefined if an import recorded the event and its source has no time. */
  readonly at: string | undefined
  readonly text: string
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

function compactionText({ covered, context, summary, told }: EventData<'CompactionObserved'>): string {
  const kept = context.filter(({ kind }) => kind === 'message').length
  const tokens = told.tokensBefore === undefined ? '' : `, of ${count(told.tokensBefore)} tokens`
  const text =
    summary.kind === 'text'
      ? `: ${short(summary.text)}`
      : summary.kind === 'opaque'
        ? '; its summary is not readable'
        : '; no summary'
  return `${many(covered?.messageCount ?? 0, 'message')} removed, ${count(kept)} kept${tokens}${text}`
}

function importText({ program, programVersion, parent, title }: EventData<'ConversationObserved'>): string {
  const origin = parent === undefined ? '' : parent.how === 'fork' ? ', a fork' : ', called by another conversation'
  return `from ${program}${programVersion === undefined ? '' : ` ${programVersion}`}${origin}${title === undefined ? '' : `: ${short(title)}`}`
}

/** What happened, without ids; for other types the words of the command `log` have none. */
const TEXTS: { readonly [Type in EventType]?: (data: EventData<Type>) => string } = {
  MessageAppended: messageText,
  MessagesWithdrawn: ({ messages, why }) => `${many(messages.length, 'message')} withdrawn: ${why}`,
  MessagePinned: () => 'a message is never compacted from here on',
  MessageUnpinned: () => 'a message may be compacted again',
  ChunkSummarized: ({ messageCount, summarizer, summary }) =>
    `${many(messageCount, 'message')}, by ${summarizer.strategy}: ${short(summary)}`,
  BatchArchived: ({ messageCount, tokens }) => `of ${many(messageCount, 'message')}, ${many(tokens, 'token')}`,
  BatchesResummarized: ({ sourceBatchIds, messageCount, tokens }) =>
    `${many(sourceBatchIds.length, 'summary', 'summaries')} of ${many(messageCount, 'message')} became one, ${many(tokens, 'token')}`,
  SummarySetAside: ({ summary }) => `kept for an identical request: ${short(summary)}`,
  ConversationObserved: importText,
  CompactionObserved: compactionText,
  ContributionEdited: ({ why, content }) =>
    `${why}: the model receives ${content === null ? 'nothing' : `“${short(contentText(content))}”`} instead of a message`,
  ConversationTitled: ({ title }) => short(title),
}

function textOf<Type extends EventType>(event: {
  readonly type: Type
  readonly data: EventData<Type>
}): string | undefined {
  return TEXTS[event.type]?.(event.data)
}

/** Turns events into lines, in the order of the log. */
export class LogLines {
  private readonly tools = new ToolNames()
  /** The last compaction of another program; the events of an import that store it follow it. */
  private observed: EventData<'CompactionObserved'> | undefined

  constructor(private readonly words: Words) {}

  next(event: RecordedEvent): LogLine {
    const tool = this.tools.toolOf(event)
    return {
      event,
      label: labelOf(event, tool),
      at: this.timeOf(event),
      text: textOf(event) ?? this.words.describeEvent(event),
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
