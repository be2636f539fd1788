/**
 * GitHub Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, to which every event of a session is appended.
 * Written for the events that `@github/copilot-sdk` 1.0.14 declares (Copilot CLI 0.0.3xx to 1.0.102). An event of a
 * sub-agent has the id of the agent. A compaction runs while the agent continues: its summary covers what was there at
 * `session.compaction_start`, and the messages since then stay. After each compaction the program sends its latest
 * instructions, and the words of every earlier message of the user with the summary in one message. A truncation names no
 * messages and is only counted.
 */
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import type { MessageBody } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, inside, timeIn, type Fields } from './bodies.js'
import { textPart, toContentPart } from './content-part.js'
import { LiveOrder } from './live-order.js'
import {
  answerBody,
  contextAfter,
  functionCall,
  knownUsage,
  messageItems,
  summaryFrom,
  type NewMessage,
} from './message-items.js'
import { withoutRepeats } from './repeats.js'
import type {
  AbortedTurn,
  CompactionItem,
  ContextEntry,
  ConversationItem,
  EarlierUsage,
  Head,
  Importer,
  Layout,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Usage,
} from './transcript.js'

/** Events by which a file is recognized. */
const EVENT = /^(?:session\.(?:start|resume)|user\.message|assistant\.message|tool\.execution_\w+)$/u

interface CopilotEvent {
  readonly type: string
  readonly id: string
  readonly at: string | undefined
  readonly agentId: string | undefined
  readonly data: Fields
}

function eventOf(value: unknown): CopilotEvent | undefined {
  if (!isRecord(value)) return undefined
  const { type, id, timestamp, agentId, data } = value
  if (typeof type !== 'string' || typeof id !== 'string' || !isRecord(data)) return undefined
  return { type, id, at: timeIn(timestamp), agentId: textIn(agentId), data }
}

const usageOf = (counts: unknown): Usage | undefined =>
  knownUsage({
    inputTokens: countIn(inside(counts, 'inputTokens')),
    outputTokens: countIn(inside(counts, 'outputTokens')),
    cacheReadTokens: countIn(inside(counts, 'cacheReadTokens')),
    cacheWriteTokens: countIn(inside(counts, 'cacheWriteTokens')),
    reasoningTokens: countIn(inside(counts, 'reasoningTokens')),
  })

const TRIGGERS: Readonly<Record<string, CompactionItem['trigger']>> = {
  manual: 'manual',
  threshold: 'auto',
  memory_pressure: 'auto',
  model_switch: 'auto',
  context_limit_retry: 'overflow',
}

/** A message of the user as it is sent: with the time and other additions of the program, if the file has them. */
function userMessage({
  content,
  transformedContent,
  attachments,
  source,
  isAutopilotContinuation,
}: Fields): NewMessage {
  const parts = Array.isArray(attachments) ? attachments.map(toContentPart) : []
  const byProgram = isAutopilotContinuation === true || (textIn(source) ?? 'user') !== 'user'
  const text = textIn(transformedContent) ?? textIn(content) ?? ''
  return {
    body: { role: 'user', content: contentOf([textPart(text), ...parts]) },
    ...(byProgram ? { byProgram } : {}),
  }
}

function answerOf({ content, reasoningText, toolRequests }: Fields): MessageBody | undefined {
  const thoughts = textIn(reasoningText)
  const requests = Array.isArray(toolRequests) ? toolRequests.filter(isRecord) : []
  return answerBody(
    thoughts === undefined ? [] : [{ type: 'reasoning', text: thoughts }],
    textIn(content),
    requests.flatMap((request) => {
      const id = textIn(request['toolCallId'])
      return id === undefined ? [] : [functionCall(id, request['name'], request['arguments'])]
    }),
  )
}

function resultOf({ toolCallId, result, error, success }: Fields): NewMessage | undefined {
  const callId = textIn(toolCallId)
  if (callId === undefined) return undefined
  const content = textIn(inside(result, 'content')) ?? textIn(result) ?? textIn(inside(error, 'message')) ?? ''
  return { body: { role: 'tool', content, toolCallId: callId }, ...(success === false ? { isError: true } : {}) }
}

/** The message of an event; undefined for one without a message. */
function messageOf({ type, data }: CopilotEvent): NewMessage | undefined {
  if (type === 'user.message') return userMessage(data)
  if (type === 'tool.execution_complete') return resultOf(data)
  if (type === 'system.message' && textIn(data['content']) !== undefined)
    return {
      body: { role: data['role'] === 'developer' ? 'developer' : 'system', content: textIn(data['content']) ?? '' },
    }
  const body = type === 'assistant.message' ? answerOf(data) : undefined
  return body === undefined ? undefined : { body }
}

/** The text around the words of the user and the summary, in the message that begins the context after a compaction. */
const FRAME = {
  start:
    'Some of the conversation history has been summarized to free up context.\n\nYou were originally given instructions from a user over one or more turns. Here were the user messages:\n<user_message>',
  between: '</user_message>\n<user_message>',
  end: (summary: string) =>
    `</user_message>\n\nHere is a summary of the prior context:\n<summary>\n${summary}\n</summary>`,
} as const

const inserted = (content: string): ContextEntry => ({ kind: 'inserted', body: { role: 'user', content } })

/** A session, or a sub-agent of it. */
class CopilotConversation {
  readonly order = new LiveOrder()
  model: string | undefined
  private compactionStart: number | undefined
  private answerId: string | undefined
  private earlierUsage: EarlierUsage | undefined
  private readonly instructions = new Set<unknown>()
  /** The words of the user, by the ids of the messages: a compaction keeps all of them, and the last instructions. */
  private readonly userMessages = new Map<string, string>()
  private readonly instructionMessages = new Set<string>()
  private abortedTurn: AbortedTurn | undefined

  constructor(readonly opening: Omit<ConversationItem, 'where'>) {}

  *take(event: CopilotEvent, where: SourceLocation): Generator<TranscriptItem> {
    const { type, id, at, data } = event
    if (type === 'session.compaction_start') this.compactionStart = this.order.length
    const isComplete = type === 'session.compaction_complete'
    if (isComplete && data['success'] === false) this.compactionStart = undefined
    if (isComplete && data['success'] !== false) yield this.compaction(event, where)
    else if (type === 'session.context_cleared') yield this.cleared(event, where)
    else if (type === 'session.snapshot_rewind') yield* this.rewind(event, where)
    else if (type === 'assistant.usage' && this.answerId !== undefined && usageOf(data) !== undefined)
      this.earlierUsage = { answerId: this.answerId, usage: usageOf(data) ?? {} }
    else {
      const message = this.isRepeated(event) ? undefined : messageOf(event)
      this.order.append(id, message === undefined ? 'other' : 'message')
      if (type === 'abort') this.abort(data)
      if (message === undefined) {
        yield { kind: 'left-out', what: type, where }
        return
      }
      if (type === 'system.message') this.instructionMessages.add(id)
      else if (type === 'user.message' && message.byProgram !== true)
        this.userMessages.set(id, textIn(data['content']) ?? '')
      const { earlierUsage, abortedTurn } = this
      this.earlierUsage = undefined
      this.abortedTurn = undefined
      if (message.body.role === 'assistant') this.answerId = textIn(data['messageId']) ?? id
      const model = textIn(data['model']) ?? this.model
      const fields = { sourceId: id, at, answerId: this.answerId, model, usage: usageOf(data), where }
      for (const item of messageItems([message], fields))
        yield item.kind === 'message' ? { ...item, earlierUsage, abortedTurn } : item
    }
  }

  /** The instructions are written again when a session is resumed. */
  private isRepeated({ type, data }: CopilotEvent): boolean {
    if (type !== 'system.message') return false
    const isKnown = this.instructions.has(data['content'])
    this.instructions.add(data['content'])
    return isKnown
  }

  private compaction({ id, at, data }: CopilotEvent, where: SourceLocation): TranscriptItem {
    const later = this.order.messagesFrom(this.compactionStart ?? this.order.length)
    const isEarlier = (messageId: string): boolean => !later.includes(messageId)
    const messages = this.order.messagesFrom(0).filter(isEarlier)
    this.compactionStart = undefined
    this.order.append(id, 'compaction')
    const text = textIn(data['summaryContent'])
    const used = data['compactionTokensUsed']
    return {
      kind: 'compaction',
      sourceId: id,
      at,
      trigger: TRIGGERS[textIn(data['trigger']) ?? ''] ?? 'unknown',
      summary: summaryFrom(text),
      context: [
        ...contextAfter(undefined, this.lastInstructions().filter(isEarlier)),
        ...this.framed(messages, text),
        ...contextAfter(undefined, later),
      ],
      tokensBefore: countIn(data['preCompactionTokens']),
      tokensAfter: countIn(data['postCompactionTokens']),
      durationMs: countIn(inside(used, 'duration')),
      model: textIn(inside(used, 'model')),
      usage: usageOf(used),
      where,
    }
  }

  /** The words of the user and the summary, as the program sends them after a compaction. */
  private framed(messageIds: readonly string[], summary: string | undefined): readonly ContextEntry[] {
    const words = messageIds.flatMap((sourceId) => {
      const content = this.userMessages.get(sourceId)
      return content === undefined ? [] : [{ kind: 'message', sourceId, content } as const]
    })
    if (summary === undefined || words.length === 0)
      return [...words, ...contextAfter(summary === undefined ? undefined : { role: 'user', content: summary })]
    return [
      ...words.flatMap((message, at) => [inserted(at === 0 ? FRAME.start : FRAME.between), message]),
      ...contextAfter({ role: 'user', content: FRAME.end(summary) }),
    ]
  }

  private cleared({ id, at }: CopilotEvent, where: SourceLocation): TranscriptItem {
    this.userMessages.clear()
    this.order.append(id, 'compaction')
    const context = contextAfter(undefined, this.lastInstructions())
    return { kind: 'compaction', sourceId: id, at, trigger: 'manual', summary: { kind: 'none' }, context, where }
  }

  /** The id of the instructions that the program sends now; empty if the file has none. */
  private lastInstructions(): readonly string[] {
    return this.order
      .messagesFrom(0)
      .filter((id) => this.instructionMessages.has(id))
      .slice(-1)
  }

  private abort({ reason }: Fields): void {
    const messageId = this.order.messagesFrom(0).findLast((id) => this.userMessages.has(id))
    if (messageId !== undefined) this.abortedTurn = { messageId, reason: textIn(reason) }
  }

  private *rewind({ type, at, data }: CopilotEvent, where: SourceLocation): Generator<TranscriptItem> {
    const index = this.order.indexOf(textIn(data['upToEventId']) ?? '')
    // A file from which the program removed the events has nothing to withdraw.
    if (index === -1) yield { kind: 'left-out', what: type, where }
    else yield* this.order.rewind(index, at, where)
  }
}

class CopilotReader implements TranscriptReader {
  private readonly conversations = new Map<string, CopilotConversation>()
  private current: CopilotConversation | undefined
  private sessionId: string | undefined

  /** @param folder name of the session's directory, for a file that begins after the start */
  constructor(private readonly folder: string) {}

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const event = eventOf(value)
    if (event === undefined) {
      yield { kind: 'left-out', what: textIn(inside(value, 'type')) ?? 'record', where }
      return
    }
    const { type, data } = event
    if (type === 'session.start') this.sessionId ??= textIn(data['sessionId'])
    const conversation = this.conversationOf(event)
    conversation.model = textIn(data['newModel']) ?? textIn(data['selectedModel']) ?? conversation.model
    const title = type === 'session.title_changed' ? textIn(data['title']) : undefined
    if (conversation !== this.current || title !== undefined) {
      this.current = conversation
      yield { ...conversation.opening, ...(title === undefined ? {} : { title }), where }
    }
    yield* conversation.take(event, where)
  }

  end(): [] {
    return []
  }

  private conversationOf({ type, agentId, at, data }: CopilotEvent): CopilotConversation {
    const sessionId = this.sessionId ?? this.folder
    const sourceId = agentId === undefined ? sessionId : `${sessionId}/${agentId}`
    const known = this.conversations.get(sourceId)
    if (known !== undefined) return known
    const callId =
      textIn(data['parentToolCallId']) ?? (type === 'subagent.started' ? textIn(data['toolCallId']) : undefined)
    const conversation = new CopilotConversation({
      kind: 'conversation',
      sourceId,
      programVersion: textIn(data['copilotVersion']),
      ...(agentId === undefined ? {} : { parent: { sourceId: sessionId, how: 'sub-agent', callId } }),
      title: textIn(data['agentDisplayName']),
      cwd: textIn(inside(data, 'context', 'cwd')),
      startedAt: type === 'session.start' || agentId !== undefined ? at : undefined,
    })
    this.conversations.set(sourceId, conversation)
    return conversation
  }
}

/** The name of the file without its extension, or of its directory for `events.jsonl`. */
function folderOf(path: string): string {
  const [folder, name] = path.split(/[\\/]/u).slice(-2)
  return name === 'events.jsonl' ? (folder ?? name) : (name ?? path).replace(/\.jsonl$/u, '')
}

function recognize({ records }: Head): Layout | undefined {
  const events = records.flatMap((record) => (isRecord(record) && 'parentId' in record ? (eventOf(record) ?? []) : []))
  return events.length === records.length && events.some(({ type }) => EVENT.test(type)) ? 'lines' : undefined
}

/** The importer of GitHub Copilot CLI. */
export const copilotCli: Importer = {
  program: 'copilot-cli',
  title: 'GitHub Copilot CLI',
  homes: (environment, home) => [join(textIn(environment['COPILOT_HOME']) ?? join(home, '.copilot'), 'session-state')],
  recognize,
  read: (path) =>
    withoutRepeats(new CopilotReader(folderOf(path)), { id: 'id', references: ['parentId'], times: ['timestamp'] }),
}
