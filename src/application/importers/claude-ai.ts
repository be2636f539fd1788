/**
 * claude.ai: the file `conversations.json` of its export, a list of conversations, or one of them. A message may name its
 * parent: an edited prompt or another answer begins a branch, and the earlier branch is withdrawn. claude.ai records no
 * compactions. Written for exports of 2024 to 2026, as agentsview reads them; Anthropic publishes no format.
 */
import { isRecord } from '../../lib/is-record.js'
import type { ContentPart } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, timeIn, type Fields } from './bodies.js'
import { answerMessagesOf } from './claude-code-content.js'
import { contentPart, textPart, toContentPart } from './content-part.js'
import { LiveOrder } from './live-order.js'
import { messageItems, type NewMessage } from './message-items.js'
import type { Head, Importer, Layout, SourceLocation, TranscriptItem, TranscriptRecord } from './transcript.js'

const isConversation = (value: unknown): boolean =>
  isRecord(value) && typeof value['uuid'] === 'string' && Array.isArray(value['chat_messages'])

/** Blocks whose calls have ids, and whose results name their calls. The export leaves out both in some versions. */
function identified(blocks: readonly unknown[], id: string): readonly unknown[] {
  const open: string[] = []
  let count = 0
  return blocks.map((block) => {
    if (!isRecord(block)) return block
    if (block['type'] === 'tool_use') {
      count += 1
      const callId = textIn(block['id']) ?? `${id}-call-${String(count)}`
      open.push(callId)
      return { ...block, id: callId }
    }
    if (block['type'] !== 'tool_result') return block
    const callId = textIn(block['tool_use_id']) ?? open[0]
    if (callId !== undefined && open.includes(callId)) open.splice(open.indexOf(callId), 1)
    return { ...block, tool_use_id: callId }
  })
}

function attachmentParts({ attachments, files }: Fields): readonly ContentPart[] {
  const listed = [attachments, files].flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
  return listed.filter(isRecord).map((file) => {
    const name = textIn(file['file_name'])
    const text = textIn(file['extracted_content'])
    return text === undefined
      ? toContentPart({ type: 'attachment', ...file })
      : textPart(name === undefined ? text : `${name}\n\n${text}`)
  })
}

function messagesOf(message: Fields, id: string): readonly NewMessage[] {
  const blocks: readonly unknown[] = Array.isArray(message['content']) ? message['content'] : []
  const text = textIn(message['text'])
  if (message['sender'] === 'human') {
    const parts = blocks.length > 0 ? blocks.map(contentPart) : text === undefined ? [] : [textPart(text)]
    const all = [...parts, ...attachmentParts(message)]
    return all.length === 0 ? [] : [{ body: { role: 'user', content: contentOf(all) } }]
  }
  if (blocks.length === 0) return text === undefined ? [] : [{ body: { role: 'assistant', content: text } }]
  const answers = answerMessagesOf(identified(blocks, id), (index) => `${id}-call-${String(index + 1)}`) ?? []
  return answers.map((answer): NewMessage => {
    if (answer.kind === 'answer') return { body: answer.body }
    const { callId, content, isError } = answer
    const failed = isError ? { isError: true as const } : {}
    return callId === undefined
      ? { body: { role: 'user', content }, byProgram: true, ...failed }
      : { body: { role: 'tool', content, toolCallId: callId }, ...failed }
  })
}

function* conversationItems(conversation: Fields, where: SourceLocation, prefix: string): Generator<TranscriptItem> {
  yield {
    kind: 'conversation',
    sourceId: textIn(conversation['uuid']) ?? where.file,
    title: textIn(conversation['name']),
    startedAt: timeIn(conversation['created_at']),
    where,
  }
  const order = new LiveOrder()
  const messages: readonly unknown[] = Array.isArray(conversation['chat_messages']) ? conversation['chat_messages'] : []
  for (const [at, message] of messages.entries()) {
    const location = { ...where, path: `${prefix}chat_messages[${String(at)}]` }
    const id = isRecord(message) ? (textIn(message['uuid']) ?? `message-${String(at + 1)}`) : ''
    const found = isRecord(message) ? messagesOf(message, id) : []
    if (!isRecord(message) || found.length === 0) {
      yield { kind: 'left-out', what: 'empty message', where: location }
      if (isRecord(message)) order.append(id, 'other')
      continue
    }
    const created = timeIn(message['created_at'])
    const parent = order.indexOf(textIn(message['parent_message_uuid']) ?? '')
    if (parent !== -1 && parent < order.length - 1) yield* order.rewind(parent + 1, created, location)
    order.append(id, 'message')
    yield* messageItems(found, { sourceId: id, at: created, answerId: id, where: location })
  }
}

function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  for (const [index, each] of list.entries()) {
    const prefix = Array.isArray(value) ? `[${String(index)}].` : ''
    const location = prefix === '' ? where : { ...where, path: prefix.slice(0, -1) }
    if (isRecord(each) && isConversation(each)) yield* conversationItems(each, location, prefix)
    else yield { kind: 'left-out', what: 'conversation', where: location }
  }
}

/** The beginning of an export that is too large to parse here. */
const BEGIN = /^\s*\[?\s*\{\s*"uuid"\s*:\s*"[^"]+"\s*,\s*"name"\s*:(?=[^]*"chat_messages"\s*:)/u

function recognize({ records, text }: Head): Layout | undefined {
  const [value] = records
  if (value === undefined) return BEGIN.test(text) ? 'json' : undefined
  return isConversation(Array.isArray(value) ? value[0] : value) ? 'json' : undefined
}

/** The importer of claude.ai. */
export const claudeAi: Importer = {
  program: 'claude-ai',
  title: 'claude.ai',
  // An export has no standard location.
  homes: () => [],
  recognize,
  read: () => ({ take, end: () => [] }),
}
