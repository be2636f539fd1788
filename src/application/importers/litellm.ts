/**
 * LiteLLM: rows of the table `LiteLLM_SpendLogs`, as the proxy's `/spend/logs` returns them or as lines, if the proxy
 * stores prompts (`store_prompts_in_spend_logs`). Written for `schema.prisma` of LiteLLM 1.60 to 1.90. A row has a whole
 * request and its response. Rows of a session continue a conversation if they begin with its messages; messages that the
 * next request no longer has are withdrawn. A request that continues nothing, such as one for a title, is a conversation of
 * its own. The proxy does not record why messages left a request, so there are no compactions.
 */
import { either as E } from 'fp-ts'
import { bodyOf, messageHash, type MessageBody } from '../../domain/values/message.js'
import { parseMessage } from '../../domain/values/parse-message.js'
import { isRecord } from '../../lib/is-record.js'
import { recordable } from '../../lib/json.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, type Fields, inside, listIn, timeIn } from './bodies.js'
import { inputWithinValues } from './content-part.js'
import { knownUsage, messageItems } from './message-items.js'
import { jsonColumn } from './sqlite.js'
import { withoutRepeats } from './repeats.js'
import type {
  Head,
  Importer,
  Layout,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

const isRow = (value: unknown): value is Fields =>
  isRecord(value) &&
  typeof value['request_id'] === 'string' &&
  ('startTime' in value || 'call_type' in value) &&
  ('spend' in value || 'messages' in value)

/** A column that may be JSON as text. */
const jsonOf = (value: unknown): unknown => (typeof value === 'string' ? jsonColumn(value) : value)

interface RequestMessage {
  readonly body: MessageBody
  readonly hash: string
}

function messageIn(value: unknown): RequestMessage | undefined {
  const parsed = parseMessage(recordable(inputWithinValues(value)))
  if (E.isLeft(parsed)) return undefined
  const body = bodyOf(parsed.right)
  return { body, hash: messageHash(body) }
}

/** The messages of a request. */
function requestOf(row: Fields): readonly RequestMessage[] {
  const stored = listIn(jsonOf(row['messages']))
  const sent = listIn(inside(jsonOf(row['proxy_server_request']), 'messages'))
  return (stored.length > 0 ? stored : sent).flatMap((message) => messageIn(message) ?? [])
}

function answerOf(row: Fields): RequestMessage | undefined {
  const [choice] = listIn(inside(jsonOf(row['response']), 'choices'))
  const message = inside(choice, 'message')
  if (!isRecord(message)) return undefined
  // The next request repeats an answer without the fields that the provider added.
  const { role, content, tool_calls } = message
  return messageIn({ role, content: content ?? null, ...(listIn(tool_calls).length === 0 ? {} : { tool_calls }) })
}

interface Branch {
  readonly sourceId: string
  readonly live: { readonly hash: string; readonly id: string }[]
}

class LitellmReader implements TranscriptReader {
  private readonly sessions = new Map<string, Branch[]>()
  private current: string | undefined

  end(): [] {
    return []
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const listed = Array.isArray(value) ? value : inside(value, 'data')
    const rows: readonly unknown[] = Array.isArray(listed) ? listed : [value]
    const places = rows.map((row, at) => ({
      row,
      where: rows.length === 1 ? where : { ...where, path: `[${String(at)}]` },
    }))
    const timeOf = (row: unknown): string => timeIn(inside(row, 'startTime')) ?? ''
    for (const located of places.toSorted((a, b) => timeOf(a.row).localeCompare(timeOf(b.row)))) {
      if (isRow(located.row)) yield* this.row(located.row, located.where)
      else yield { kind: 'left-out', what: 'row', where: located.where }
    }
  }

  private *row(row: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const request = requestOf(row)
    const requestId = textIn(row['request_id']) ?? ''
    if (request.length === 0) {
      yield { kind: 'left-out', what: 'request without prompts', where }
      return
    }
    const branch = this.branchOf(textIn(row['session_id']) ?? requestId, requestId, request)
    if (branch.sourceId !== this.current) {
      this.current = branch.sourceId
      const session = textIn(row['session_id'])
      const parent =
        session === undefined || session === branch.sourceId
          ? {}
          : { parent: { sourceId: session, how: 'sub-agent' } as const }
      yield { kind: 'conversation', sourceId: branch.sourceId, ...parent, startedAt: timeIn(row['startTime']), where }
    }
    const shared = sharedOf(branch, request)
    const removed = branch.live.splice(shared).map(({ id }) => id)
    const at = timeIn(row['startTime'])
    if (removed.length > 0) yield { kind: 'withdrawal', sourceIds: removed, at, where }
    for (const [index, { body, hash }] of request.slice(shared).entries()) {
      const id = `${requestId}/${String(shared + index)}`
      branch.live.push({ hash, id })
      yield* messageItems([{ body }], { sourceId: id, at, where })
    }
    const answer = answerOf(row)
    if (answer === undefined) return
    branch.live.push({ hash: answer.hash, id: requestId })
    const usage = knownUsage({
      inputTokens: countIn(row['prompt_tokens']),
      outputTokens: countIn(row['completion_tokens']),
      cost: countIn(row['spend']),
    })
    const fields = { sourceId: requestId, at: timeIn(row['endTime']), answerId: requestId, model: textIn(row['model']) }
    yield* messageItems([{ body: answer.body }], { ...fields, usage, where })
  }

  /** The conversation of the session that the request continues; a new one if it continues none. */
  private branchOf(session: string, requestId: string, request: readonly RequestMessage[]): Branch {
    const branches = this.sessions.get(session) ?? []
    this.sessions.set(session, branches)
    const first = request.findIndex(({ body }) => body.role !== 'system' && body.role !== 'developer')
    const best = branches
      .map((branch) => ({ branch, shared: sharedOf(branch, request) }))
      .toSorted((a, b) => b.shared - a.shared)[0]
    if (best !== undefined && best.shared > Math.max(first, 0)) return best.branch
    const branch: Branch = { sourceId: branches.length === 0 ? session : `${session}/${requestId}`, live: [] }
    branches.push(branch)
    return branch
  }
}

/** Number of messages at the beginning that the conversation and the request share. */
function sharedOf({ live }: Branch, request: readonly RequestMessage[]): number {
  const difference = request.findIndex(({ hash }, at) => live[at]?.hash !== hash)
  return difference === -1 ? request.length : difference
}

function recognize({ records }: Head): Layout | undefined {
  const [value] = records
  const listed = Array.isArray(value) ? value : inside(value, 'data')
  if (Array.isArray(listed)) return isRow(listed[0]) ? 'json' : undefined
  return records.length > 0 && records.every(isRow) ? 'lines' : undefined
}

/** The importer of LiteLLM's spend logs. */
export const litellm: Importer = {
  program: 'litellm',
  title: 'LiteLLM spend logs',
  // The user chooses the file.
  homes: () => [],
  recognize,
  read: () => withoutRepeats(new LitellmReader(), { id: 'request_id', times: ['startTime'] }),
}
