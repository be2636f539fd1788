/** Messages, calls and summaries in the form in which the report on a compaction reads them. */
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import type { ReportMessage, ReportToolCall, RemainingSummary } from './report-input.js'
import { toolOfCall } from '../../domain/conversation/call-groups.js'
import { authorOfMessage, ownContent } from '../../domain/text/authorship.js'
import { contentText, type MessageBody, type ToolCall } from '../../domain/values/message.js'

type MessageFields = Pick<
  LiveMessage,
  'messageId' | 'revision' | 'createdAt' | 'tokens' | 'attributes' | keyof MessageBody
>

/** A message in the report's form; with another content, if the model received that instead. */
export function toReportMessage(
  message: MessageFields,
  content: MessageBody['content'] = message.content,
): ReportMessage {
  const { messageId, revision, role, toolCalls, toolCallId, attributes, createdAt, tokens } = message
  const authored = { role, content, attributes }
  const author = authorOfMessage(authored)
  const byProgram = author === 'program' || author === 'ledger'
  return {
    messageId,
    revision,
    role,
    text: contentText(content),
    ownText: byProgram ? '' : contentText(ownContent(authored)),
    ...(toolCalls === undefined
      ? {}
      : {
          toolCalls: toolCalls.map((call) => toReportCall(call)),
        }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(attributes?.['isError'] === true ? { isError: true } : {}),
    ...(byProgram ? { byProgram } : {}),
    ...(attributes?.['recallNote'] === undefined ? {} : { hadNote: true }),
    at: createdAt,
    tokens,
  }
}

/** A tool call in the report's form. */
export function toReportCall(call: ToolCall): ReportToolCall {
  const { name, input } = toolOfCall(call)
  return { id: call.id, name, arguments: input }
}

/** The messages that are in the context verbatim after a cycle, and those that a program added with its summary. */
export function remainingAfter(after: Conversation): ReportMessage[] {
  const live = [...after.leading, ...after.retained, ...after.window]
  const compaction = after.observed?.compaction
  if (compaction === undefined) return live.map((message) => toReportMessage(message))
  const byId = new Map(live.map((message) => [message.messageId, message]))
  return compaction.context.flatMap((entry, at): ReportMessage[] => {
    if (entry.kind === 'missing') return []
    if (entry.kind === 'message') {
      const message = byId.get(entry.messageId)
      return message === undefined ? [] : [toReportMessage(message, entry.content)]
    }
    if (entry.isSummary === true) return []
    const message = {
      ...entry.body,
      messageId: `inserted ${String(at)}`,
      revision: compaction.revision,
      createdAt: after.recordedAt ?? '',
      tokens: 0,
      attributes: { byProgram: true },
    }
    return [toReportMessage(message)]
  })
}

export const summaryAfter = (after: Conversation): RemainingSummary =>
  after.observed?.compaction?.summary ?? { kind: 'text', text: after.view?.text ?? '' }
