/**
 * The output of `codex exec --json`, saved to a file: events of a thread, one a line. Written for the events of
 * `codex-rs/exec/src/exec_events.rs` (0.63 to 0.163). An item is read when it is completed: an answer, a thought, a
 * command with its output, a change of files, a call of an MCP tool, a search. The stream has no times, no prompts and no
 * record of compactions, and the ids of items begin again with each run of the same thread. The ids of messages are
 * therefore made from the items before them.
 */
import { isRecord } from '../../lib/is-record.js'
import type { MessageBody } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, exitCodeIn, type Fields, inside, jsonText, roundedText, stemOf } from './bodies.js'
import type { ContentId } from './content-id.js'
import { toContentPart } from './content-part.js'
import { answerBody, functionCall, messageItems, type NewMessage } from './message-items.js'
import { REPEAT } from './repeats.js'
import type {
  EarlierUsage,
  Head,
  Importer,
  Layout,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

const EVENT = /^(?:thread\.started|turn\.(?:started|completed|failed)|item\.(?:started|updated|completed))$/u

const isEvent = (value: unknown): value is Fields => isRecord(value) && EVENT.test(textIn(value['type']) ?? '')

/** A call and its result, as two messages. */
function callWithResult(
  id: string,
  call: { readonly name: string; readonly input: unknown },
  result: {
    readonly content: MessageBody['content']
    readonly failed: boolean
    readonly exitCode?: number | undefined
  },
): readonly NewMessage[] {
  return [
    { body: { role: 'assistant', content: null, toolCalls: [functionCall(id, call.name, call.input)] } },
    {
      body: { role: 'tool', content: result.content, toolCallId: id },
      ...(result.failed ? { isError: true } : {}),
      exitCode: result.exitCode,
    },
  ]
}

const hasFailed = ({ status }: Fields): boolean => status === 'failed' || status === 'declined'

/** The content that an MCP tool returned: its parts, or its error. */
function mcpResult({ result, error }: Fields): MessageBody['content'] {
  const parts = inside(result, 'content')
  const message = textIn(inside(error, 'message'))
  if (message !== undefined) return message
  return Array.isArray(parts) ? contentOf(parts.map(toContentPart)) : jsonText(result ?? null)
}

/** The messages of a completed item; undefined for one without content for the conversation. @param id id of its call */
function messagesOf(item: Fields, id: string): readonly NewMessage[] | undefined {
  const { type } = item
  const text = textIn(item['text'])
  if (type === 'agent_message' || type === 'plan' || type === 'reasoning') {
    const body = type === 'reasoning' ? answerBody([{ type, text }], undefined, []) : answerBody([], text, [])
    return body === undefined || text === undefined ? undefined : [{ body }]
  }
  const failed = hasFailed(item)
  if (type === 'command_execution')
    return callWithResult(
      id,
      { name: 'shell', input: { command: item['command'] } },
      { content: textIn(item['aggregated_output']) ?? '', failed, exitCode: exitCodeIn(item['exit_code']) },
    )
  if (type === 'file_change')
    return callWithResult(
      id,
      { name: 'apply_patch', input: { changes: item['changes'] } },
      { content: textIn(item['status']) ?? '', failed },
    )
  if (type === 'mcp_tool_call')
    return callWithResult(
      id,
      {
        name: [item['server'], item['tool']].flatMap((name) => textIn(name) ?? []).join('__'),
        input: item['arguments'],
      },
      { content: mcpResult(item), failed },
    )
  if (type === 'collab_tool_call')
    return callWithResult(
      id,
      {
        name: textIn(item['tool']) ?? 'collab',
        input: { prompt: item['prompt'], receivers: item['receiver_thread_ids'] },
      },
      { content: jsonText(item['agents_states'] ?? null), failed },
    )
  // The provider runs a search; it is a part of the answer.
  if (type === 'web_search') return [{ body: { role: 'assistant', content: [toContentPart(item)] } }]
  return undefined
}

class ExecReader implements TranscriptReader {
  private previousId = ''
  private hasThread = false
  /** The items of this run. */
  private readonly items = new Set<string>()
  private earlierUsage: EarlierUsage | undefined

  constructor(
    private readonly stem: string,
    private readonly contentId: ContentId,
  ) {}

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isEvent(value)) {
      yield { kind: 'left-out', what: textIn(inside(value, 'type')) ?? 'line', where }
      return
    }
    const threadId = textIn(value['thread_id'])
    // The ids of items begin again with each run.
    if (threadId !== undefined) this.items.clear()
    if (threadId !== undefined || !this.hasThread) {
      this.hasThread = true
      yield { kind: 'conversation', sourceId: threadId ?? this.stem, where }
    }
    const { item } = value
    if (value['type'] === 'turn.completed') this.noteUsage(value['usage'])
    if (value['type'] !== 'item.completed' || !isRecord(item)) {
      if (threadId === undefined) yield { kind: 'left-out', what: textIn(value['type']) ?? 'event', where }
      return
    }
    const text = roundedText(item)
    if (this.items.has(text)) {
      yield { kind: 'left-out', what: REPEAT, where }
      return
    }
    this.items.add(text)
    this.previousId = this.contentId(`${this.previousId} ${text}`)
    const messages = messagesOf(item, this.previousId)
    if (messages === undefined) {
      yield { kind: 'left-out', what: `item ${textIn(item['type']) ?? 'unknown'}`, where }
      return
    }
    for (const message of messageItems(messages, { sourceId: this.previousId, answerId: this.previousId, where })) {
      yield message.kind === 'message' && this.earlierUsage !== undefined
        ? { ...message, earlierUsage: this.earlierUsage }
        : message
      this.earlierUsage = undefined
    }
  }

  end(): [] {
    return []
  }

  /** The usage of a turn follows its last answer. */
  private noteUsage(usage: unknown): void {
    if (!isRecord(usage) || this.previousId === '') return
    this.earlierUsage = {
      answerId: this.previousId,
      usage: {
        inputTokens: countIn(usage['input_tokens']),
        outputTokens: countIn(usage['output_tokens']),
        cacheReadTokens: countIn(usage['cached_input_tokens']),
        reasoningTokens: countIn(usage['reasoning_output_tokens']),
      },
    }
  }
}

const recognize = ({ records }: Head): Layout | undefined => (records.some(isEvent) ? 'lines' : undefined)

/** The importer of `codex exec --json`. */
export const codexExec: Importer = {
  program: 'codex-exec',
  title: 'Codex CLI (exec --json)',
  // The user chooses the file.
  homes: () => [],
  recognize,
  makesContentIds: true,
  read: (path, contentId) => new ExecReader(stemOf(path), contentId),
}
