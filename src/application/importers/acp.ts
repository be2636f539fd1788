/**
 * The Agent Client Protocol (agentclientprotocol.com, version 1): the messages between an editor and an agent, as
 * `context-ledger acp` records them. A record has the time, the side that sent the message (`client` is the editor), and
 * the message. Before a session that was recorded earlier goes on, a record names the ids that the ledger has of it. A
 * last record says that the connection ended.
 * Written for SDK 2.4.0, and seen with opencode 1.18, Gemini CLI 0.61 and claude-agent-acp 0.49.
 */
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { AcpSession, type SessionItem } from './acp-session.js'
import type { AcpMoment, AcpTerminal } from './acp-content.js'
import { AcpIds } from './acp-ids.js'
import { exitCodeIn, inside, listIn, roundedText, timeIn, type Fields } from './bodies.js'
import type { ContentId } from './content-id.js'
import { REPEAT } from './repeats.js'
import type { Head, Importer, Layout, TranscriptItem, TranscriptReader, TranscriptRecord } from './transcript.js'

/** The side that sent a message. */
export type AcpSide = 'client' | 'agent'

/** A message as it is recorded. */
export interface AcpRecord {
  /** ISO 8601, different for each record. */
  readonly at: string
  readonly from: AcpSide
  /** The JSON-RPC message. */
  readonly message: Readonly<Record<string, unknown>>
}

/** The ids of the messages of a session that the ledger has. */
export interface AcpRecordedSession {
  readonly at: string
  readonly recorded: { readonly sessionId: string; readonly messageIds: readonly string[] }
}

/** The connection ended. What had begun is recorded as it is. */
export interface AcpClosed {
  readonly at: string
  readonly closed: true
}

const isSide = (value: unknown): value is AcpSide => value === 'client' || value === 'agent'

const isRecordOfAcp = (value: unknown): value is Fields =>
  isRecord(value) &&
  ((isSide(value['from']) && inside(value, 'message', 'jsonrpc') === '2.0') ||
    isRecord(value['recorded']) ||
    value['closed'] === true)

interface Request {
  readonly method: string
  readonly params: unknown
}

class AcpReader implements TranscriptReader {
  private readonly sessions = new Map<string, AcpSession>()
  private readonly terminals = new Map<string, AcpTerminal>()
  /** Requests without an answer, by side and id. */
  private readonly requests = new Map<string, Request>()
  /** Content ids of the records so far. */
  private readonly taken = new Set<string>()
  private agent: string | undefined
  private current: string | undefined
  private last: AcpMoment | undefined

  constructor(private readonly contentId: ContentId) {}

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isRecordOfAcp(value)) {
      yield { kind: 'left-out', what: 'line', where }
      return
    }
    const moment = { at: timeIn(value['at']), where }
    this.last = moment
    // Times are unique: an equal record is a copy of a line.
    const recordId = this.contentId(roundedText(value))
    if (this.taken.has(recordId)) {
      yield { kind: 'left-out', what: REPEAT, where }
      return
    }
    this.taken.add(recordId)
    const { message, from, recorded } = value
    if (isRecord(recorded)) {
      const known = listIn(recorded['messageIds']).map((id) => (textIn(id) ?? '').replace(/#\d+$/u, ''))
      this.session(textIn(recorded['sessionId']) ?? '').addKnown(known)
    } else if (value['closed'] === true) yield* this.end()
    else if (isRecord(message) && isSide(from)) yield* this.received(from, message, moment)
  }

  *end(): Generator<TranscriptItem> {
    const { last } = this
    if (last === undefined) return
    for (const session of this.sessions.values()) yield* this.emit(session, session.closed(last), last)
  }

  private *received(from: AcpSide, message: Fields, moment: AcpMoment): Generator<TranscriptItem> {
    const method = textIn(message['method'])
    const { id, params } = message
    if (method === undefined) {
      const key = `${from === 'client' ? 'agent' : 'client'} ${JSON.stringify(id)}`
      const request = this.requests.get(key)
      this.requests.delete(key)
      if (request !== undefined) yield* this.answered(request, message, moment)
      return
    }
    if (id !== undefined) this.requests.set(`${from} ${JSON.stringify(id)}`, { method, params })
    const sessionId = textIn(inside(params, 'sessionId'))
    if (method === 'session/prompt' && sessionId !== undefined) {
      const session = this.session(sessionId)
      yield* this.emit(session, session.prompted(listIn(inside(params, 'prompt')), moment), moment)
    } else if (method === 'session/update' && sessionId !== undefined) yield* this.updated(sessionId, params, moment)
    else if (method === 'session/request_permission' && sessionId !== undefined) {
      const update = inside(params, 'toolCall')
      const session = this.session(sessionId)
      if (isRecord(update))
        yield* this.emit(session, session.updated({ ...update, sessionUpdate: 'tool_call_update' }, moment), moment)
    } else if (method === 'session/load' && sessionId !== undefined) this.session(sessionId).beginReplay()
    else if (!ANSWERED.has(method)) yield { kind: 'left-out', what: method, where: moment.where }
  }

  private *updated(sessionId: string, params: unknown, moment: AcpMoment): Generator<TranscriptItem> {
    const session = this.session(sessionId)
    const update = inside(params, 'update')
    if (!isRecord(update)) return
    const title = update['sessionUpdate'] === 'session_info_update' ? textIn(update['title']) : undefined
    if (title !== undefined && title !== '') yield* this.say(session, { title }, moment)
    const kind = textIn(update['sessionUpdate']) ?? 'update'
    if (session.isKnown(kind)) yield* this.emit(session, session.updated(update, moment), moment)
    else yield { kind: 'left-out', what: kind, where: moment.where }
  }

  private *answered({ method, params }: Request, message: Fields, moment: AcpMoment): Generator<TranscriptItem> {
    const { result } = message
    const sessionId = textIn(inside(params, 'sessionId'))
    const made = textIn(inside(result, 'sessionId'))
    if (method === 'initialize') {
      const { name, title, version } = { name: undefined, title: undefined, version: undefined, ...agentInfoOf(result) }
      this.agent = [textIn(title) ?? textIn(name), textIn(version)].filter((each) => each !== undefined).join(' ')
    } else if ((method === 'session/new' || method === 'session/fork') && made !== undefined) {
      const session = this.session(made)
      const parent =
        method === 'session/fork' && sessionId !== undefined ? { sourceId: sessionId, how: 'fork' as const } : undefined
      yield* this.say(
        session,
        { cwd: textIn(inside(params, 'cwd')), ...(parent === undefined ? {} : { parent }) },
        moment,
      )
    } else if (method === 'session/load' && sessionId !== undefined) {
      if (!isRecord(result)) this.session(sessionId).dropReplay()
    } else if (method === 'session/prompt' && sessionId !== undefined) {
      const session = this.session(sessionId)
      const outcome = result ?? { stopReason: textIn(inside(message, 'error', 'message')) ?? 'error' }
      yield* this.emit(session, session.ended(outcome, moment), moment)
    } else if (method === 'session/request_permission' && sessionId !== undefined)
      this.permitted(sessionId, params, result)
    else this.ran(method, params, result)
  }

  private permitted(sessionId: string, params: unknown, result: unknown): void {
    const toolCallId = textIn(inside(params, 'toolCall', 'toolCallId'))
    const chosen = inside(result, 'outcome', 'optionId')
    const option = listIn(inside(params, 'options')).find((each) => inside(each, 'optionId') === chosen)
    const isDeclined = option === undefined || (textIn(inside(option, 'kind')) ?? '').startsWith('reject')
    if (toolCallId !== undefined && isDeclined)
      this.session(sessionId).declined(toolCallId, textIn(inside(option, 'name')) ?? 'cancelled')
  }

  /** Terminals that the editor runs for the agent. */
  private ran(method: string, params: unknown, result: unknown): void {
    const id = textIn(inside(method === 'terminal/create' ? result : params, 'terminalId'))
    if (id === undefined) return
    const before = this.terminals.get(id) ?? { command: '', output: '', exitCode: undefined }
    if (method === 'terminal/create') {
      const words = [inside(params, 'command'), ...listIn(inside(params, 'args'))]
      this.terminals.set(id, { ...before, command: words.map((word) => textIn(word) ?? '').join(' ') })
    } else if (method === 'terminal/output')
      this.terminals.set(id, {
        ...before,
        output: textIn(inside(result, 'output')) ?? before.output,
        exitCode: exitCodeIn(inside(result, 'exitStatus', 'exitCode')) ?? before.exitCode,
      })
    else if (method === 'terminal/wait_for_exit')
      this.terminals.set(id, { ...before, exitCode: exitCodeIn(inside(result, 'exitCode')) ?? before.exitCode })
  }

  private session(sessionId: string): AcpSession {
    const known = this.sessions.get(sessionId)
    if (known !== undefined) return known
    const session = new AcpSession(sessionId, new AcpIds(this.contentId, false), this.terminals)
    this.sessions.set(sessionId, session)
    return session
  }

  /** Says more about the conversation. */
  private *say(session: AcpSession, about: Partial<AcpSession['about']>, moment: AcpMoment): Generator<TranscriptItem> {
    session.about = { ...session.about, ...about }
    this.current = undefined
    yield* this.enter(session, moment)
  }

  private *enter(session: AcpSession, { at, where }: AcpMoment): Generator<TranscriptItem> {
    if (this.current === session.about.sourceId) return
    this.current = session.about.sourceId
    session.about = { startedAt: at, programVersion: this.agent, ...session.about }
    yield { kind: 'conversation', ...session.about, where }
  }

  private *emit(session: AcpSession, items: Iterable<SessionItem>, moment: AcpMoment): Generator<TranscriptItem> {
    for (const item of items) {
      yield* this.enter(session, moment)
      yield item
    }
  }
}

const agentInfoOf = (result: unknown): Fields => {
  const info = inside(result, 'agentInfo')
  return isRecord(info) ? info : {}
}

/** Requests with an answer that counts. */
const ANSWERED = new Set([
  'initialize',
  'session/new',
  'session/fork',
  'session/resume',
  'terminal/create',
  'terminal/output',
  'terminal/wait_for_exit',
])

const recognize = ({ records }: Head): Layout | undefined =>
  records.length > 0 && records.every(isRecordOfAcp) ? 'lines' : undefined

/** The importer of exchanges between editors and agents. */
export const acp: Importer = {
  program: 'acp',
  title: 'Agent Client Protocol',
  // `context-ledger acp` records the messages itself.
  homes: () => [],
  recognize,
  makesContentIds: true,
  read: (_path, contentId) => new AcpReader(contentId),
}
