/**
 * Copilot Chat in VS Code: a file for each session in `chatSessions/`, as one JSON object or, since 1.109, as a log of
 * changes to it (`kind` 0 sets all, 1 sets, 2 truncates and appends, 3 deletes). If a request has its rounds with the
 * model, they are read, otherwise what the chat showed. A summary names the last round that it covers. Written for version 3
 * of the sessions of microsoft/vscode, and the metadata of microsoft/vscode-copilot-chat 0.2x to 0.3x.
 */
import { isRecord } from '../../lib/is-record.js'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ToolCall } from '../../domain/values/message.js'
import { answerBody, contextAfter, functionCall, knownUsage, messageItems, type NewMessage } from './message-items.js'
import { textIn } from '../../lib/text-in.js'
import { shallow } from './shallow-values.js'
import { countIn, type Fields, inside, jsonText, listIn, pathOfUri, stemOf, unixTime } from './bodies.js'
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

/** The path of an address, a place in a file, or a symbol's place. */
const pathIn = (reference: unknown): string | undefined =>
  ['fsPath', 'path'].map((name) => textIn(inside(reference, name))).find((path) => path !== undefined) ??
  (isRecord(reference) ? pathIn(reference['uri'] ?? reference['location'] ?? undefined) : undefined)

/**
 * A reference in the text. VS Code shows the name of a file; with its directory, two files of one name differ.
 * @param folder the directory of the project
 */
function referenceText(part: unknown, folder: string | undefined): string {
  const reference = inside(part, 'inlineReference')
  const path = pathIn(reference)?.replaceAll('\\', '/')
  const symbol = textIn(inside(reference, 'name')) ?? textIn(inside(part, 'name'))
  if (path === undefined || inside(reference, 'location') !== undefined) return symbol ?? path ?? ''
  return folder !== undefined && path.startsWith(`${folder}/`)
    ? path.slice(folder.length + 1)
    : path.split('/').slice(-2).join('/')
}

/** What the chat showed of an answer, for a request without recorded rounds. */
function shownRound(requestId: string, response: readonly unknown[], folder: string | undefined): AnswerRound {
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
    } else if (kind === 'inlineReference') text += referenceText(part, folder)
    else if (kind === undefined || kind === 'markdownContent' || kind === 'markdownVuln')
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

/** The values of `modelState` of a request with an answer that is complete, was stopped, or failed. */
const ENDED: ReadonlySet<unknown> = new Set([1, 2, 3])

/** Whether the answer to a request may still be written. */
const isRunning = (request: Fields): boolean =>
  !isRecord(request['result']) && request['isCanceled'] !== true && !ENDED.has(inside(request, 'modelState', 'value'))

/** The directory of the project of a session: VS Code stores its address next to the sessions. */
function projectOf(path: string): string | undefined {
  try {
    const workspace: unknown = JSON.parse(readFileSync(join(dirname(dirname(path)), 'workspace.json'), 'utf8'))
    const folder = textIn(inside(workspace, 'folder'))
    return folder?.startsWith('file:') === true ? pathOfUri(folder).replaceAll('\\', '/') : undefined
  } catch {
    return undefined
  }
}

class VscodeReader implements TranscriptReader {
  private session: unknown
  private title: string | undefined
  private hasBegun = false
  /** The messages of each request. */
  private readonly emitted = new Map<string, readonly string[]>()
  /** Requests with an answer that is not yielded yet. */
  private readonly open = new Set<string>()
  /** The messages in the order in which they were yielded. */
  private order: string[] = []
  private where: SourceLocation

  private readonly folder: string | undefined

  constructor(
    private readonly stem: string,
    path: string,
  ) {
    this.where = { file: path }
    this.folder = projectOf(path)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    this.where = where
    if (!isRecord(value)) yield { kind: 'left-out', what: 'record', where }
    else if (Array.isArray(value['requests'])) this.session = value
    else if (value['kind'] === 0) this.session = value['v']
    else if (!change(this.session, value)) yield { kind: 'left-out', what: `change ${jsonText(value['kind'])}`, where }
  }

  *end(): Generator<TranscriptItem> {
    const { where } = this
    // Each change may add levels.
    const session = shallow(this.session)
    if (!isRecord(session)) return
    const title = textIn(session['customTitle'])
    if (!this.hasBegun || title !== this.title) {
      this.hasBegun = true
      this.title = title
      const sourceId = textIn(session['sessionId']) ?? this.stem
      yield {
        kind: 'conversation',
        sourceId,
        title,
        cwd: this.folder,
        startedAt: unixTime(session['creationDate']),
        where,
      }
    }
    const requests = listIn(session['requests']).filter(isRecord)
    const ids = new Set(requests.map((request, at) => requestIdOf(request, at)))
    for (const [requestId, sourceIds] of this.emitted) {
      if (ids.has(requestId)) continue
      this.emitted.delete(requestId)
      this.order = this.order.filter((id) => !sourceIds.includes(id))
      yield { kind: 'withdrawal', sourceIds, where }
    }
    for (const [at, request] of requests.entries()) {
      const requestId = requestIdOf(request, at)
      if (!this.emitted.has(requestId)) yield* this.prompt(request, requestId)
      if (!this.open.has(requestId)) continue
      if (at === requests.length - 1 && isRunning(request))
        yield { kind: 'left-out', what: 'unfinished answer', where: { ...where, path: `requests ${requestId}` } }
      else yield* this.answer(request, requestId)
    }
  }

  private *prompt(request: Fields, requestId: string): Generator<TranscriptItem> {
    const where = { ...this.where, path: `requests ${requestId}` }
    const content = promptOf(request['message'])
    const at = unixTime(request['timestamp'])
    this.emitted.set(requestId, [])
    this.open.add(requestId)
    if (content === undefined) return
    this.remember(requestId, requestId)
    yield* messageItems([{ body: { role: 'user', content } }], { sourceId: requestId, at, where })
  }

  private remember(requestId: string, sourceId: string): void {
    this.emitted.set(requestId, [...(this.emitted.get(requestId) ?? []), sourceId])
    this.order.push(sourceId)
  }

  private *answer(request: Fields, requestId: string): Generator<TranscriptItem> {
    const where = { ...this.where, path: `requests ${requestId}` }
    const metadata = inside(request, 'result', 'metadata')
    const at = unixTime(request['timestamp'])
    const model = textIn(inside(metadata, 'resolvedModel')) ?? textIn(request['modelId'])
    const usage = knownUsage({
      inputTokens: countIn(inside(metadata, 'promptTokens')) ?? countIn(request['promptTokens']),
      outputTokens: countIn(inside(metadata, 'outputTokens')) ?? countIn(request['completionTokens']),
    })
    const pendingRound = shownRound(requestId, listIn(request['response']), this.folder)
    const recorded = recordedRounds(requestId, metadata)
    const rounds = recorded.length > 0 ? recorded : [pendingRound]
    // An earlier import may have recorded what the chat showed before the request had its rounds.
    if (recorded.length > 0) yield { kind: 'withdrawal', sourceIds: [pendingRound.id], isReplaced: true, where }
    this.open.delete(requestId)
    for (const { id, messages } of rounds) {
      if (messages.length > 0) this.remember(requestId, id)
      yield* messageItems(messages, { sourceId: id, at, answerId: requestId, model, usage, where })
    }
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
  const names = keys.flatMap((key: unknown) =>
    typeof key === 'string' || typeof key === 'number' ? [String(key)] : [],
  )
  if (names.length < keys.length) return false
  const parent = names.slice(0, -1).reduce(fieldOf, session)
  const name = names.at(-1) ?? ''
  if (typeof parent !== 'object' || parent === null || name === '__proto__') return false
  if (kind === 3) return Reflect.deleteProperty(parent, name)
  if (kind === 1) return Reflect.set(parent, name, value)
  const before = listIn(fieldOf(parent, name))
  return Reflect.set(parent, name, [...before.slice(0, countIn(length) ?? before.length), ...listIn(value)])
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

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
