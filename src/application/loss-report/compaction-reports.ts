/** Messages, calls and summaries in the form in which the report on a compaction reads them. */
import type { Conversation } from '../../domain/conversation/conversation.js'
import { contextParts } from '../../domain/conversation/observed.js'
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

/** The messages of a context in the report's form, with the texts that a program inserted except its summary. */
export function messagesInContext(state: Conversation): ReportMessage[] {
  return contextParts(state).flatMap(({ body, source, isSummary }, at): ReportMessage[] => {
    if (isSummary === true) return []
    if (source !== undefined) return [toReportMessage(source, body.content)]
    const inserted = {
      ...body,
      messageId: `inserted ${String(at)}`,
      revision: state.observed?.compaction?.revision ?? state.revision,
      createdAt: state.recordedAt ?? '',
      tokens: 0,
      attributes: { byProgram: true },
    }
    return [toReportMessage(inserted)]
  })
}

/** The summaries of a context as one text. */
export const summaryInContext = (state: Conversation): RemainingSummary =>
  state.observed?.compaction?.summary ?? { kind: 'text', text: state.view?.text ?? '' }
