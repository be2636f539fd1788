/**
 * `context-ledger/claude-agent-sdk`: a session store for the Claude Agent SDK. Each transcript is recorded twice: line by
 * line and unchanged, so that a session can be resumed from it; and as a conversation with the program's compactions, as
 * `transcripts.import` records it from the file.
 */
import { isLedgerError } from '../../../lib/ledger-error.js'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { issueSentence } from '../../../domain/values/issue-sentence.js'
import type { OpenTranscript } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
import type { ReportProblem } from '../../../library/report-problem.js'
import { toJson, checkConversationId, checkOptions, type RecordingOptions } from '../options.js'

export type { RecordingOptions as KeptIn }

/** Identifies the transcript of a session, or with a `subpath` that of one of its sub-agents. */
export interface SessionKey {
  /** The host's name for its project or tenant. */
  projectKey: string
  /** The session. */
  sessionId: string
  /** The sub-agent's transcript, such as `subagents/agent-1`. */
  subpath?: string
}

/** A line of a transcript, unchanged. */
export interface SessionStoreEntry {
  /** The type of the line. */
  type: string
  /** The same in each copy of the line. */
  uuid?: string
  /** When it was written. */
  timestamp?: string
  [field: string]: unknown
}

/** The session store for `query({ options: { sessionStore } })` of the Claude Agent SDK. */
export interface LedgerSessionStore {
  /** Records lines. A line with a recorded uuid is skipped. */
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>
  /** All lines of a transcript in order, deep-equal to the appended ones; null if there are none. */
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>
  /** The sessions of a project, with the time of their last line. */
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>
  /** The transcripts of sub-agents in a session. */
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>
}

/** The scope of the lines: only a search in this scope finds them. */
export const TRANSCRIPT_SCOPE = 'claude-agent-sdk'

const badInput = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

const keySchema = z.looseObject({
  projectKey: z.string().min(1),
  sessionId: z.string().min(1),
  subpath: z.string().min(1).optional(),
})
const entriesSchema = z.array(z.looseObject({ type: z.string(), uuid: z.string().min(1).optional() }))

function parsed<T>(schema: z.ZodType<T>, field: string, value: unknown): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  throw badInput([field, ...(issue?.path ?? [])].join('.'), issueSentence(issue))
}

/** A name as one segment of a path: slashes in it are escaped. */
const escapeSlashes = (name: string): string => name.replaceAll('%', '%25').replaceAll('/', '%2F')
const unescapeSlashes = (name: string): string => name.replaceAll('%2F', '/').replaceAll('%25', '%')

const projectPath = (projectKey: string): string => `${TRANSCRIPT_SCOPE}/${escapeSlashes(projectKey)}/`
/** The id of the conversation with the lines of a transcript. */
const linesConversationId = ({ projectKey, sessionId, subpath }: SessionKey): string =>
  checkConversationId(
    `${projectPath(projectKey)}${escapeSlashes(sessionId)}${subpath === undefined ? '' : `/${escapeSlashes(subpath)}`}`,
  )

/** The path of the transcript's file on the machine of its program. */
const fileOf = ({ projectKey, sessionId, subpath }: SessionKey): string =>
  `${escapeSlashes(projectKey)}/${sessionId}${subpath === undefined ? '' : `/${subpath}`}.jsonl`

/** Lines must not be compacted, since sessions are resumed from them: no limit is ever reached. */
const POLICY = { modelMaxTokens: 1_000_000_000 }

/** Transcripts that are kept open. Another one is recorded from its first line again. */
const MAX_OPEN = 100

const isMissingConversation = (error: unknown): boolean => isLedgerError(error, 'NoSuchConversation')

/** Records the lines of transcripts, and the conversations in them. */
class TranscriptLines {
  /** The transcripts that this store has recorded from their first line. */
  private readonly open = new LRUCache<string, Promise<OpenTranscript>>({ max: MAX_OPEN })
  /** The last append of each transcript. Each append waits for the previous one, so that lines keep their order. */
  private readonly last = new Map<string, Promise<unknown>>()

  constructor(
    private readonly ledger: RecordingOptions['ledger'],
    private readonly reportProblem: ReportProblem,
  ) {}

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const entries: SessionStoreEntry[] = []
    try {
      for await (const event of this.ledger.log(linesConversationId(key))) {
        if (event.type !== 'MessageAppended') continue
        const text = event.data.attributes?.['line']
        const line: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
        const { data } = entriesSchema.element.safeParse(line)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an appended line, which has a type
        if (data !== undefined) entries.push(line as SessionStoreEntry)
      }
    } catch (error) {
      if (isMissingConversation(error)) return null
      throw error
    }
    return entries.length === 0 ? null : entries
  }

  /** Records the conversation of new lines, and that of earlier lines if this store has not recorded it yet. */
  private async observe(key: SessionKey, id: string, added: readonly SessionStoreEntry[]): Promise<void> {
    const opened = this.open.get(id)
    try {
      if (opened !== undefined) {
        await (await opened).record(added)
        return
      }
      const opening = this.ledger.transcripts.open(fileOf(key), { from: 'claude-code' })
      this.open.set(id, opening)
      await (await opening).record((await this.load(key)) ?? [])
    } catch (error) {
      // The lines are recorded. The next append records the conversation from the first line.
      this.open.delete(id)
      this.reportProblem(error)
    }
  }

  private async record(key: SessionKey, entries: readonly SessionStoreEntry[]): Promise<void> {
    const id = linesConversationId(key)
    const uuids = new Set<string>()
    const unique = entries.filter(({ uuid }) => uuid === undefined || (!uuids.has(uuid) && uuids.add(uuid)))
    if (unique.length === 0) return
    const { recorded } = await this.ledger.append(
      id,
      unique.map((entry) => ({
        ...(entry.uuid === undefined ? {} : { id: entry.uuid }),
        role: 'user' as const,
        content: entry.type,
        attributes: { line: JSON.stringify(entry) },
      })),
      { scope: TRANSCRIPT_SCOPE, policy: POLICY },
    )
    const isNew = new Set(recorded)
    await this.observe(
      key,
      id,
      unique.filter(({ uuid }) => uuid === undefined || isNew.has(uuid)),
    )
  }

  /** Records lines after the earlier appends of the same transcript. */
  async append(transcript: SessionKey, entries: readonly SessionStoreEntry[]): Promise<void> {
    const { last } = this
    const id = linesConversationId(transcript)
    const next = (last.get(id) ?? Promise.resolve()).then(() => this.record(transcript, entries))
    const settled = next.catch(() => undefined)
    last.set(id, settled)
    try {
      await next
    } finally {
      if (last.get(id) === settled) last.delete(id)
    }
  }
}

/** A session store in a ledger: `query({ prompt, options: { sessionStore: ledgerSessionStore({ ledger }) } })`. */
export function ledgerSessionStore(options: RecordingOptions): LedgerSessionStore {
  const reportProblem = checkOptions('ledgerSessionStore', options, ['ledger', 'onProblem'])
  const { ledger } = options
  const lines = new TranscriptLines(ledger, reportProblem)

  return {
    async append(key, entries) {
      const checkedKey = parsed(keySchema, 'key', key)
      parsed(entriesSchema, 'entries', entries)
      // A copy, since the caller may change the entries while the append waits.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a copy of `entries`
      const copy = toJson('entries', entries) as SessionStoreEntry[]
      await lines.append(sessionKey(checkedKey), copy)
    },
    async load(key) {
      return await lines.load(sessionKey(parsed(keySchema, 'key', key)))
    },
    async listSessions(projectKey) {
      const path = projectPath(parsed(z.string().min(1), 'projectKey', projectKey))
      const { conversations } = await ledger.list({ scope: TRANSCRIPT_SCOPE, match: path })
      return conversations.flatMap(({ conversationId, lastRecordedAt }) => {
        const name = conversationId.slice(path.length)
        return conversationId.startsWith(path) && !name.includes('/')
          ? [{ sessionId: unescapeSlashes(name), mtime: Math.floor(new Date(lastRecordedAt).getTime()) }]
          : []
      })
    },
    async listSubkeys(key) {
      const path = `${linesConversationId(sessionKey({ ...parsed(keySchema, 'key', key), subpath: undefined }))}/`
      const { conversations } = await ledger.list({ scope: TRANSCRIPT_SCOPE, match: path })
      return conversations.flatMap(({ conversationId }) =>
        conversationId.startsWith(path) ? [unescapeSlashes(conversationId.slice(path.length))] : [],
      )
    },
  }
}

const sessionKey = ({ projectKey, sessionId, subpath }: z.infer<typeof keySchema>): SessionKey => ({
  projectKey,
  sessionId,
  ...(subpath === undefined ? {} : { subpath }),
})
