/**
 * Lines of chats in the form of the OpenAI chat API: `{"messages": […]}`, as for fine-tuning, or the requests of a batch
 * with the chat in `body`. Each line is a conversation. A line has no times; the form does not change with a version.
 */
import { either as E } from 'fp-ts'
import { canonicalJson } from '../../domain/values/hash.js'
import { bodyOf } from '../../domain/values/message.js'
import { parseMessage } from '../../domain/values/parse-message.js'
import { isRecord } from '../../lib/is-record.js'
import { recordable } from '../../lib/json.js'
import { textIn } from '../../lib/text-in.js'
import { type Fields } from './bodies.js'
import type { ContentId } from './content-id.js'
import { inputWithinValues } from './content-part.js'
import { withoutRepeats } from './repeats.js'
import type { Head, Importer, Layout, TranscriptItem, TranscriptReader, TranscriptRecord } from './transcript.js'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** The object with the messages of a line: the line itself, or the body of a batch request. */
function chatOf(value: unknown): (Fields & { readonly messages: readonly unknown[] }) | undefined {
  const chat = isRecord(value) && isRecord(value['body']) ? value['body'] : value
  if (!isRecord(chat) || !Array.isArray(chat['messages']) || chat['messages'].length === 0) return undefined
  return { ...chat, messages: chat['messages'] }
}

function isChatLine(value: unknown): boolean {
  // Other programs write lines with messages and with an id of their own for the request.
  if (!isRecord(value) || 'request_id' in value || 'sessionId' in value) return false
  return chatOf(value)?.messages.every((each) => isRecord(each) && ROLES.has(textIn(each['role']) ?? '')) === true
}

function* readLine({ value, where }: TranscriptRecord, contentId: ContentId): Generator<TranscriptItem> {
  const chat = chatOf(value)
  if (!isRecord(value) || chat === undefined) {
    yield { kind: 'left-out', what: 'line without messages', where }
    return
  }
  const named = ['id', 'conversation_id', 'custom_id'].flatMap((field) => textIn(value[field]) ?? [])
  yield { kind: 'conversation', sourceId: named[0] ?? contentId(canonicalJson(recordable(chat.messages))), where }
  for (const [at, message] of chat.messages.entries()) {
    const location = { ...where, path: `messages[${String(at)}]` }
    const parsed = parseMessage(recordable(inputWithinValues(message)))
    if (E.isLeft(parsed)) {
      const { field, detail } = parsed.left
      yield { kind: 'damage', detail: `is no message: ${field} ${detail}`, isCut: false, where: location }
      continue
    }
    yield {
      kind: 'message',
      sourceId: location.path,
      part: 0,
      body: bodyOf(parsed.right),
      ...(parsed.right.role === 'assistant' ? { model: textIn(chat['model']) } : {}),
      where: location,
    }
  }
}

function recognize({ path, records }: Head): Layout | undefined {
  // A chat in a `.json` file is one conversation in the ledger's own format.
  if (path.endsWith('.json') || records.length === 0) return undefined
  return records.every(isChatLine) ? 'lines' : undefined
}

const read = (_path: string, contentId: ContentId): TranscriptReader =>
  withoutRepeats({ take: (record) => readLine(record, contentId), end: () => [] }, { byContent: true })

/** The importer of OpenAI chat lines. */
export const openaiMessages: Importer = {
  program: 'openai-messages',
  title: 'OpenAI chat lines',
  // The user chooses the file.
  homes: () => [],
  recognize,
  makesContentIds: true,
  read,
}
