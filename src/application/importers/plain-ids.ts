/** Finds transcripts that were recorded with plain ids, before their log was converted into an erasable one. */
import { conversationStream, messageEventId } from '../../domain/values/ids.js'
import type { Log } from '../recording/load-conversation.js'
import { CONTENT_ID_LENGTH, plainContentId, type ContentId } from './content-id.js'
import { observedIds } from './observed-ids.js'
import type { TranscriptItem } from './transcript.js'

const LOOKED_UP = 20

/**
 * Whether a transcript was recorded with plain ids.
 * @param read the items of the transcript, with ids of this function
 */
export async function isRecordedWithPlainIds(
  read: (contentId: ContentId) => AsyncIterable<TranscriptItem>,
  log: Log,
  program: string,
  scope: string | undefined,
): Promise<boolean> {
  const idOf = observedIds(log, program, scope)
  const made = new Set<string>()
  const isMade = (id: string): boolean => made.has(id.slice(0, CONTENT_ID_LENGTH))
  let stream = ''
  let isMadeConversation = false
  let lookedUp = 0
  const items = read((text) => {
    const id = plainContentId(text)
    made.add(id)
    return id
  })
  for await (const item of items) {
    if (item.kind === 'conversation') {
      stream = conversationStream(await idOf(item.sourceId))
      isMadeConversation = isMade(item.sourceId)
    }
    if (item.kind !== 'message' || item.part !== 0 || !(isMadeConversation || isMade(item.sourceId))) continue
    const found = await log.store.findByIds(stream, [messageEventId(stream, item.sourceId)])
    if (found.length > 0) return true
    lookedUp += 1
    if (lookedUp === LOOKED_UP) return false
  }
  return false
}
