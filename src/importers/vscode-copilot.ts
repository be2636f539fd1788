/**
 * Copilot Chat in VS Code: a file for each session in `chatSessions/`, as one JSON object or, since 1.109, as a log of
 * changes to it (`kind` 0 sets all, 1 sets, 2 truncates and appends, 3 deletes). If a request has its rounds with the
 * model, they are read, otherwise what the chat showed. A summary names the last round that it covers. Written for version 3
 * of the sessions of microsoft/vscode, and the metadata of microsoft/vscode-copilot-chat 0.2x to 0.3x.
 */
import { isRecord } from '../lib/is-record.js'
import { join } from 'node:path'
import type { ToolCall } from '../domain/values/message.js'
import { answerBody, contextAfter, functionCall, knownUsage, messageItems, type NewMessage } from './message-items.js'
import { textIn } from '../lib/text-in.js'
import { countIn, type Fields, inside, listIn, stemOf, unixTime } from './bodies.js'
import { editorFolders } from './task-files.js'
import type {
  Head,
  Importer,
  Layout,
  MessageItem,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

/** The texts in the leaves of a rendered tree, or a plain text. */
function leafTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(leafTexts)
  if (!isRecord(value)) return []
  const text = textIn(value['text'])
  return text === undefined ? [value['value'], value['node'], value['children']].flatMap(leafTexts) : [text]
}

/** A text that may be a Markdown string. */
const markdown = (value: unknown): string | undefined => textIn(value) ?? textIn(inside(value, 'value'))

interface AnswerRound {
  readonly id: string
  readonly messages: readonly NewMessage[]
}

const toolResult = (toolCallId: string, content: string): NewMessage => ({
  body: { role: 'tool', content, toolCallId },
})

/** The rounds that the extension recorded of a request. */
function recordedRounds(requestId: string, metadata: unknown): readonly AnswerRound[] {
  const results = inside(metadata, 'toolCallResults')
  return listIn(inside(metadata, 'toolCallRounds')).map((round, at) => {
    const thinking = inside(round, 'thinking')
    const thoughts = leafTexts(inside(thinking, 'text')).join('\n')
    const calls = listIn(inside(round, 'toolCalls')).flatMap((call): ToolCall[] => {
      const id = textIn(inside(call, 'id'))
      return id === undefined ? [] : [functionCall(id, inside(call, 'name'), inside(call, 'arguments'))]
    })
    const body = answerBody(
      thoughts === '' ? [] : [{ type: 'thinking', thinking: thoughts }],
      textIn(inside(round, 'response')),
      calls,
    )
    const answered = calls.flatMap(({ id }) => {
      const result = inside(results, id)
      return result === undefined ? [] : [toolResult(id, leafTexts(inside(result, 'content')).join('\n'))]
    })
    const id = textIn(inside(round, 'id')) ?? `${requestId}/round-${String(at + 1)}`
    return { id, messages: [...(body === undefined ? [] : [{ body }]), ...answered] }
  })
}

/** What the chat showed of an answer, for a request without recorded rounds. */
function shownRound(requestId: string, response: readonly unknown[]): AnswerRound {
  const messages: NewMessage[] = []
  let text = ''
  let thoughts: unknown[] = []
  const flush = (calls: readonly ToolCall[]): void => {
    const body = answerBody(thoughts, text, calls)
    if (body !== undefined) messages.push({ body })
    text = ''
    thoughts = []
  }
  for (const part of response) {
    const kind = inside(part, 'kind')
    const callId = textIn(inside(part, 'toolCallId'))
    if (kind === 'thinking') thoughts.push({ type: 'thinking', thinking: leafTexts(inside(part, 'value')).join('\n') })
    else if (kind === 'toolInvocationSerialized' && callId !== undefined) {
      const input = inside(part, 'toolSpecificData') ?? { message: markdown(inside(part, 'invocationMessage')) }
      flush([functionCall(callId, inside(part, 'toolId'), input)])
      messages.push(toolResult(callId, markdown(inside(part, 'pastTenseMessage')) ?? ''))
    } else if (kind === undefined || kind === 'markdownContent')
      text += markdown(part) ?? markdown(inside(part, 'content')) ?? ''
  }
  flush([])
  return { id: `${requestId}/answer`, messages }
}

function promptOf(message: unknown): string | undefined {
  const parts = listIn(inside(message, 'parts')).flatMap((part) => textIn(inside(part, 'text')) ?? [])
  return textIn(message) ?? textIn(inside(message, 'text')) ?? (parts.length === 0 ? undefined : parts.join(''))
}

/** The summaries that a request made: the round that each covers last, and its text. */
function summariesOf(metadata: unknown): readonly { readonly roundId: string; readonly text: string }[] {
  const listed = [...listIn(inside(metadata, 'summaries')), inside(metadata, 'summary')]
  const found = listed.flatMap((summary) => {
    const roundId = textIn(inside(summary, 'toolCallRoundId'))
    const text = textIn(inside(summary, 'text'))
    return roundId === undefined || text === undefined ? [] : [[roundId, { roundId, text }] as const]
  })
  return [...new Map(found).values()]
}

/** Whether a request is finished: it has a result, or the user stopped it. */
const isFinished = (request: Fields): boolean => isRecord(request['result']) || request['isCanceled'] === true

class VscodeReader implements TranscriptReader {
  private session: unknown
  private title: string | undefined
  private hasBegun = false
  private readonly emitted = new Map<string, readonly string[]>()
  /** The messages in the order in which they were yielded. */
  private order: string[] = []
  private where: SourceLocation

  constructor(
    private readonly stem: string,
    path: string,
  ) {
    this.where = { file: path }
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    this.where = where
    if (!isRecord(value)) yield { kind: 'left-out', what: 'record', where }
    else if (Array.isArray(value['requests'])) this.session = value
    else if (value['kind'] === 0) this.session = value['v']
    else if (!change(this.session, value)) yield { kind: 'left-out', what: `change ${String(value['kind'])}`, where }
  }

  *end(): Generator<TranscriptItem> {
    const { session, where } = this
    if (!isRecord(session)) return
    const title = textIn(session['customTitle'])
    if (!this.hasBegun || title !== this.title) {
      this.hasBegun = true
      this.title = title
      const sourceId = textIn(session['sessionId']) ?? this.stem
      yield { kind: 'conversation', sourceId, title, startedAt: unixTime(session['creationDate']), where }
    }
    const requests = listIn(session['requests']).filter(isRecord)
    const ids = new Set(requests.map((request, at) => requestIdOf(request, at)))
    for (const [requestId, sourceIds] of this.emitted) {
      if (ids.has(requestId)) continue
      this.emitted.delete(requestId)
      yield { kind: 'withdrawal', sourceIds, where }
    }
    for (const [at, request] of requests.entries()) {
      // The answer to the last request may still be written.
      if (at === requests.length - 1 && !isFinished(request)) {
        yield { kind: 'left-out', what: 'unfinished request', where }
        return
      }
      if (!this.emitted.has(requestIdOf(request, at))) yield* this.request(request, requestIdOf(request, at))
    }
  }

  private *request(request: Fields, requestId: string): Generator<TranscriptItem> {
    const where = { ...this.where, path: `requests ${requestId}` }
    const metadata = inside(request, 'result', 'metadata')
    const prompt = promptOf(request['message'])
    const at = unixTime(request['timestamp'])
    const model = textIn(inside(metadata, 'resolvedModel')) ?? textIn(request['modelId'])
    const usage = knownUsage({
      inputTokens: countIn(inside(metadata, 'promptTokens')) ?? countIn(request['promptTokens']),
      outputTokens: countIn(inside(metadata, 'outputTokens')) ?? countIn(request['completionTokens']),
    })
    const recorded = recordedRounds(requestId, metadata)
    const rounds = recorded.length > 0 ? recorded : [shownRound(requestId, listIn(request['response']))]
    const sourceIds: string[] = []
    const note = function* (items: Iterable<TranscriptItem>): Generator<TranscriptItem> {
      for (const item of items) {
        if (item.kind === 'message' && !sourceIds.includes(item.sourceId)) sourceIds.push(item.sourceId)
        yield item
      }
    }
    if (prompt !== undefined)
      yield* note(messageItems([{ body: { role: 'user', content: prompt } }], { sourceId: requestId, at, where }))
    for (const { id, messages } of rounds)
      yield* note(messageItems(messages, { sourceId: id, at, answerId: requestId, model, usage, where }))
    this.emitted.set(requestId, sourceIds)
    this.order = [...this.order, ...sourceIds]
    for (const { roundId, text } of summariesOf(metadata)) yield this.compaction(roundId, text, at, where)
  }

  private compaction(roundId: string, text: string, at: MessageItem['at'], where: SourceLocation): TranscriptItem {
    const last = this.order.indexOf(roundId)
    return {
      kind: 'compaction',
      sourceId: `summary-${roundId}`,
      at,
      trigger: 'unknown',
      summary: { kind: 'text', text },
      context: contextAfter({ role: 'user', content: text }, last === -1 ? [] : this.order.slice(last + 1)),
      where,
    }
  }
}

const requestIdOf = (request: Fields, at: number): string => textIn(request['requestId']) ?? `request-${String(at + 1)}`

/** Applies a change of the log to the session. Returns false if it has another form. */
function change(session: unknown, { kind, k: keys, v: value, i: length }: Fields): boolean {
  if (!Array.isArray(keys) || keys.length === 0 || (kind !== 1 && kind !== 2 && kind !== 3)) return false
  const parent: unknown = keys.slice(0, -1).reduce<unknown>((found, key) => fieldOf(found, key), session)
  const name = String(keys.at(-1))
  if (typeof parent !== 'object' || parent === null || name === '__proto__') return false
  if (kind === 3) return Reflect.deleteProperty(parent, name)
  if (kind === 1) return Reflect.set(parent, name, value)
  const before = listIn(fieldOf(parent, name))
  return Reflect.set(parent, name, [...before.slice(0, countIn(length) ?? before.length), ...listIn(value)])
}

const fieldOf = (value: unknown, key: unknown): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, String(key))
    ? Reflect.get(value, String(key))
    : undefined

const isSession = (value: unknown): boolean =>
  isRecord(value) &&
  Array.isArray(value['requests']) &&
  (typeof value['sessionId'] === 'string' || typeof value['responderUsername'] === 'string')

function recognize({ records, text }: Head): Layout | undefined {
  const [value] = records
  if (isSession(value)) return 'json'
  if (isRecord(value) && value['kind'] === 0 && isSession(value['v'])) return 'lines'
  return records.length === 0 &&
    /^\s*\{\s*"version"\s*:\s*\d+\s*,\s*"(?:requesterUsername|responderUsername)"\s*:/u.test(text)
    ? 'json'
    : undefined
}

/** The importer of Copilot Chat in VS Code. */
export const vscodeCopilot: Importer = {
  program: 'vscode-copilot',
  title: 'VS Code Copilot Chat',
  homes: (environment, home) =>
    [
      ...editorFolders(['Code', 'Code - Insiders', 'VSCodium'], environment, home),
      join(home, '.vscode-server', 'data', 'User'),
    ].flatMap((folder) => [join(folder, 'workspaceStorage'), join(folder, 'globalStorage', 'emptyWindowChatSessions')]),
  recognize,
  read: (path) => new VscodeReader(stemOf(path), path),
}
