/**
 * Qwen Code: a JSON Lines file for each session, in `~/.qwen/projects/<folder>/chats/`. A record names its parent; a
 * rewind continues from an earlier record. Contents are those of Gemini's API. A compression stores the history after it
 * (`chat_compression`). Written for the records of `packages/core/src/services/chatRecordingService.ts` of 0.1 to 0.24.
 */
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import { contentText, type MessageBody } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, inside, timeIn, type Fields } from './bodies.js'
import { fingerprintOf, messageIn } from './gemini-messages.js'
import { LiveOrder } from './live-order.js'
import { knownUsage, messageItems, summaryFrom, type NewMessage } from './message-items.js'
import { withoutRepeats } from './repeats.js'
import type {
  ContextEntry,
  ConversationItem,
  Head,
  Importer,
  Layout,
  Parent,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Usage,
} from './transcript.js'

const TYPES = new Set(['user', 'assistant', 'tool_result', 'system'])

const isQwenRecord = (value: unknown): value is Fields =>
  isRecord(value) &&
  typeof value['uuid'] === 'string' &&
  typeof value['sessionId'] === 'string' &&
  TYPES.has(textIn(value['type']) ?? '')

/** Whether only Qwen Code writes such a record: a message with parts, or a system record with a payload. */
export const isOfQwen = (value: unknown): boolean =>
  isQwenRecord(value) &&
  (Array.isArray(inside(value, 'message', 'parts')) || (value['type'] === 'system' && isRecord(value['systemPayload'])))

/** The messages of a content of Gemini's API. */
function messagesOf(content: unknown, isFailed = false): readonly NewMessage[] {
  const role = inside(content, 'role')
  const message = messageIn({
    id: 'content',
    type: role === 'model' ? 'gemini' : 'user',
    content: inside(content, 'parts'),
  })
  if (message === undefined) return []
  if (message.role === 'assistant') {
    const toolCalls = message.calls.map(({ call }) => call)
    if (message.content === undefined && toolCalls.length === 0) return []
    const calls = toolCalls.length === 0 ? {} : { toolCalls }
    return [{ body: { role: 'assistant', content: message.content ?? null, ...calls } }]
  }
  const results = message.results.map((result): NewMessage => ({
    body: { role: 'tool', content: result.content, toolCallId: result.callId },
    ...(result.isError || isFailed ? { isError: true } : {}),
  }))
  return [
    ...results,
    ...(message.content === undefined ? [] : [{ body: { role: 'user', content: message.content } } as const]),
  ]
}

function usageOf(record: Fields): Usage | undefined {
  const count = (name: string): number | undefined => countIn(inside(record, 'usageMetadata', name))
  return knownUsage({
    inputTokens: count('promptTokenCount'),
    outputTokens: count('candidatesTokenCount'),
    cacheReadTokens: count('cachedContentTokenCount'),
    reasoningTokens: count('thoughtsTokenCount'),
  })
}

/** Whether the program wrote a record with the role user. */
const isByProgram = ({ subtype, provenance }: Fields): boolean =>
  subtype === 'notification' || subtype === 'cron' || /^(?:system|goal_\w+)$/u.test(textIn(provenance) ?? '')

/** One session, or one sub-agent of it. */
class QwenConversation {
  private readonly order = new LiveOrder()
  /** Fingerprint of a content → id of its record. */
  private readonly contents = new Map<string, string>()

  constructor(readonly opening: Omit<ConversationItem, 'where'>) {}

  *take(record: Fields, id: string, where: SourceLocation): Generator<TranscriptItem> {
    const at = timeIn(record['timestamp'])
    const parent = this.order.indexOf(textIn(record['parentUuid']) ?? '')
    if (parent !== -1 && parent < this.order.length - 1) yield* this.order.rewind(parent + 1, at, where)
    const { type, subtype, message, systemPayload } = record
    if (type === 'system' && subtype === 'chat_compression' && isRecord(systemPayload)) {
      yield this.compaction(id, systemPayload, at, where)
      this.order.append(id, 'compaction')
      return
    }
    const isFailed = /^(?:error|cancelled)$/u.test(textIn(inside(record, 'toolCallResult', 'status')) ?? '')
    const messages = type === 'system' ? [] : messagesOf(message, isFailed)
    this.order.append(id, messages.length === 0 ? 'other' : 'message')
    if (messages.length === 0) {
      yield { kind: 'left-out', what: [type, subtype].flatMap((name) => textIn(name) ?? []).join('/'), where }
      return
    }
    this.contents.set(fingerprintOf(message), id)
    const byProgram = type === 'user' && isByProgram(record)
    yield* messageItems(byProgram ? messages.map((each) => ({ ...each, byProgram: true })) : messages, {
      sourceId: id,
      at,
      answerId: id,
      model: textIn(record['model']),
      usage: usageOf(record),
      where,
    })
  }

  /** The history after a compression. Contents that were recorded before are kept messages. */
  private compaction(id: string, payload: Fields, at: string | undefined, where: SourceLocation): TranscriptItem {
    const history: readonly unknown[] = Array.isArray(payload['compressedHistory']) ? payload['compressedHistory'] : []
    const inserted: MessageBody[] = []
    const context = history.flatMap((content): readonly ContextEntry[] => {
      const sourceId = this.contents.get(fingerprintOf(content))
      if (sourceId !== undefined) return [{ kind: 'message', sourceId }]
      return messagesOf(content).map(({ body }) => {
        inserted.push(body)
        return { kind: 'inserted', body, ...(inserted.length === 1 ? { isSummary: true } : {}) }
      })
    })
    const [summary] = inserted
    return {
      kind: 'compaction',
      sourceId: id,
      at,
      trigger: 'unknown',
      summary: summaryFrom(summary === undefined ? undefined : contentText(summary.content)),
      context,
      tokensBefore: countIn(inside(payload, 'info', 'originalTokenCount')),
      tokensAfter: countIn(inside(payload, 'info', 'newTokenCount')),
      where,
    }
  }
}

function parentOf(record: Fields, sessionId: string, agentId: string | undefined): Parent | undefined {
  if (agentId !== undefined) return { sourceId: sessionId, how: 'sub-agent' }
  const origin = textIn(inside(record, 'forkedFrom', 'sessionId'))
  return origin === undefined || origin === sessionId ? undefined : { sourceId: origin, how: 'fork' }
}

class QwenReader implements TranscriptReader {
  private readonly conversations = new Map<string, QwenConversation>()
  private current: QwenConversation | undefined;

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isQwenRecord(value)) {
      yield { kind: 'left-out', what: textIn(inside(value, 'type')) ?? 'record', where }
      return
    }
    const sessionId = textIn(value['sessionId']) ?? ''
    const agentId = value['isSidechain'] === true ? textIn(value['agentId']) : undefined
    const sourceId = agentId === undefined ? sessionId : `${sessionId}/${agentId}`
    const conversation =
      this.conversations.get(sourceId) ?? this.open(value, sourceId, parentOf(value, sessionId, agentId))
    const title = textIn(inside(value, 'systemPayload', 'customTitle'))
    if (conversation !== this.current || title !== undefined) {
      this.current = conversation
      yield { ...conversation.opening, ...(title === undefined ? {} : { title }), where }
    }
    yield* conversation.take(value, textIn(value['uuid']) ?? '', where)
  }

  end(): [] {
    return []
  }

  private open(record: Fields, sourceId: string, parent: Parent | undefined): QwenConversation {
    const conversation = new QwenConversation({
      kind: 'conversation',
      sourceId,
      programVersion: textIn(record['version']),
      ...(parent === undefined ? {} : { parent }),
      cwd: textIn(record['cwd']),
      startedAt: textIn(record['parentUuid']) === undefined ? timeIn(record['timestamp']) : undefined,
    })
    this.conversations.set(sourceId, conversation)
    return conversation
  }
}

const recognize = ({ records }: Head): Layout | undefined => (records.some(isOfQwen) ? 'lines' : undefined)

/** The importer of Qwen Code. */
export const qwen: Importer = {
  program: 'qwen',
  title: 'Qwen Code',
  homes: (_environment, home) => [join(home, '.qwen', 'projects'), join(home, '.qwen', 'tmp')],
  recognize,
  read: () => withoutRepeats(new QwenReader(), { id: 'uuid', references: ['parentUuid'], times: ['timestamp'] }),
}
