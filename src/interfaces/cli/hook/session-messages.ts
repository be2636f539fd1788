/** Reads the messages of a session from its transcript, without a ledger. */
import { toReportMessage } from '../../../application/loss-report/compaction-reports.js'
import type { ReportMessage } from '../../../application/loss-report/report-input.js'
import { plainContentId } from '../../../application/importers/content-id.js'
import { importers, readTranscript, recognizeTranscript } from '../../../application/importers/index.js'
import type { MessageItem } from '../../../application/importers/transcript.js'

function reportMessageOf(
  { sourceId, part, body, at, byProgram, isError }: MessageItem,
  revision: number,
): ReportMessage {
  return toReportMessage({
    ...body,
    messageId: `${sourceId}#${String(part)}`,
    revision,
    createdAt: at ?? '',
    tokens: 0,
    attributes: { ...(byProgram === true ? { byProgram } : {}), ...(isError === true ? { isError } : {}) },
  })
}

/**
 * The messages of a session that were not withdrawn, in order; their revisions are their places in the file. Of a file
 * with several conversations, such as those of sub-agents, only the session's own.
 * @returns undefined if the file is no transcript of the program, or lacks the session
 */
export async function sessionMessages(
  path: string,
  program: string,
  sessionId: string,
): Promise<ReportMessage[] | undefined> {
  const found = await recognizeTranscript(path)
  if (found?.importer !== importers.find((importer) => importer.program === program) || found === undefined)
    return undefined
  const byConversation = new Map<string, Map<string, ReportMessage>>()
  let messages = new Map<string, ReportMessage>()
  let place = 0
  for await (const item of readTranscript(path, found.importer, found.layout, plainContentId)) {
    place += 1
    if (item.kind === 'conversation') {
      messages = byConversation.get(item.sourceId) ?? new Map<string, ReportMessage>()
      byConversation.set(item.sourceId, messages)
    } else if (item.kind === 'message') {
      const message = reportMessageOf(item, place)
      messages.set(message.messageId, message)
    } else if (item.kind === 'withdrawal')
      for (const id of messages.keys())
        if (item.sourceIds.some((sourceId) => id.startsWith(`${sourceId}#`))) messages.delete(id)
  }
  const own = byConversation.get(sessionId)
  return own === undefined ? undefined : [...own.values()]
}
