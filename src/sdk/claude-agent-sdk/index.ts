/**
 * `context-ledger/claude-agent-sdk`: a session store of the Claude Agent SDK. Each transcript is recorded twice over:
 * line by line, as it came, so that a session can be resumed from it; and as the conversation that it tells, its own
 * compactions among it, as `importTranscript` would read it from the file.
 */
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { issueSentence } from '../../domain/values/issue-sentence.js'
import type { OpenTranscript } from '../../library/ledger.js'
import { LedgerError, problem } from '../../library/problem.js'
import { asJsonOf, conversationIdOf, keptIn, type KeptIn } from '../given.js'

export type { KeptIn }

/** A transcript: a session's, or with a `subpath` that of a sub-agent in it. */
export interface SessionKey {
  /** Whatever the host calls its project or tenant. */
  projectKey: string
  /** The session. */
  sessionId: string
  /** The sub-agent's transcript, such as `subagents/agent-1`. */
  subpath?: string
}

/** A line of a transcript, as it came. */
export interface SessionStoreEntry {
  /** What it is. */
  type: string
  /** The same line has the same. */
  uuid?: string
  /** When it was written. */
  timestamp?: string
  [field: string]: unknown
}

/** What `query({ options: { sessionStore } })` of the Claude Agent SDK takes. */
export interface LedgerSessionStore {
  /** Records lines; a line that comes again is known by its uuid. */
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>
  /** All lines of a transcript in their order, deep-equal to what came; null where there are none. */
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>
  /** The sessions of a project, with the time of their last line. */
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>
  /** The transcripts of sub-agents in a session. */
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>
}

/** The scope of the lines: they are found by no search that does not name it. */
export const TRANSCRIPT_SCOPE = 'claude-agent-sdk'

const wrong = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

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
  throw wrong([field, ...(issue?.path ?? [])].join('.'), issueSentence(issue))
}

/** A name in a path of names; a slash in it is none of the path's. */
const inPath = (name: string): string => name.replaceAll('%', '%25').replaceAll('/', '%2F')
const outOfPath = (name: string): string => name.replaceAll('%2F', '/').replaceAll('%25', '%')

const projectPath = (projectKey: string): string => `${TRANSCRIPT_SCOPE}/${inPath(projectKey)}/`
/** The conversation that holds the lines of a transcript. */
const linesOf = ({ projectKey, sessionId, subpath }: SessionKey): string =>
  conversationIdOf(
    `${projectPath(projectKey)}${inPath(sessionId)}${subpath === undefined ? '' : `/${inPath(subpath)}`}`,
  )

/** The path of the file that the transcript is on the machine of its program. */
const fileOf = ({ projectKey, sessionId, subpath }: SessionKey): string =>
  `${inPath(projectKey)}/${sessionId}${subpath === undefined ? '' : `/${subpath}`}.jsonl`

/** Lines are never compacted: they are what a session is resumed from. */
const POLICY = { modelMaxTokens: 1_000_000_000 }

/** Transcripts that go on from where they are; one that is not among them is told from its beginning. */
const MOST_OPEN = 100

const isUnknown = (error: unknown): boolean =>
  error instanceof LedgerError && error.failure.kind === 'NoSuchConversation'

/** A session store in a ledger: `query({ prompt, options: { sessionStore: ledgerSessionStore({ ledger }) } })`. */
export function ledgerSessionStore(options: KeptIn): LedgerSessionStore {
  const tell = keptIn('ledgerSessionStore', options, ['ledger', 'onProblem'])
  const { ledger } = options
  /** The transcripts that this store has told from their beginning. */
  const open = new LRUCache<string, Promise<OpenTranscript>>({ max: MOST_OPEN })
  /** The last append of each transcript: one waits for the other, so that lines keep their order. */
  const last = new Map<string, Promise<unknown>>()

  async function load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const entries: SessionStoreEntry[] = []
    try {
      for await (const event of ledger.log(linesOf(key))) {
        if (event.type !== 'MessageAppended') continue
        const text = event.data.attributes?.['line']
        const line: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
        const { data } = entriesSchema.element.safeParse(line)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the line as it came, which has a type
        if (data !== undefined) entries.push(line as SessionStoreEntry)
      }
    } catch (error) {
      if (isUnknown(error)) return null
      throw error
    }
    return entries.length === 0 ? null : entries
  }

  /** Tells what the lines say; those before, too, where this store has not told them yet. */
  async function observe(key: SessionKey, id: string, added: readonly SessionStoreEntry[]): Promise<void> {
    const known = open.get(id)
    try {
      if (known !== undefined) {
        await (await known).record(added)
        return
      }
      const opening = ledger.openTranscript(fileOf(key), { from: 'claude-code' })
      open.set(id, opening)
      await (await opening).record((await load(key)) ?? [])
    } catch (error) {
      // The lines are safe. With the next ones they are told from the beginning.
      open.delete(id)
      tell(error)
    }
  }

  async function append(key: SessionKey, entries: readonly SessionStoreEntry[]): Promise<void> {
    const id = linesOf(key)
    const seen = new Set<string>()
    const once = entries.filter(({ uuid }) => uuid === undefined || (!seen.has(uuid) && seen.add(uuid)))
    if (once.length === 0) return
    const { recorded } = await ledger.append(
      id,
      once.map((entry) => ({
        ...(entry.uuid === undefined ? {} : { id: entry.uuid }),
        role: 'user' as const,
        content: entry.type,
        attributes: { line: JSON.stringify(entry) },
      })),
      { scope: TRANSCRIPT_SCOPE, policy: POLICY },
    )
    const isNew = new Set(recorded)
    await observe(
      key,
      id,
      once.filter(({ uuid }) => uuid === undefined || isNew.has(uuid)),
    )
  }

  return {
    async append(key, entries) {
      const to = parsed(keySchema, 'key', key)
      parsed(entriesSchema, 'entries', entries)
      // As they are now, whatever their owner does to them while they wait.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a copy of what was given
      const given = asJsonOf('entries', entries) as SessionStoreEntry[]
      const transcript = sessionKey(to)
      const id = linesOf(transcript)
      const next = (last.get(id) ?? Promise.resolve()).then(() => append(transcript, given))
      const settled = next.catch(() => undefined)
      last.set(id, settled)
      try {
        await next
      } finally {
        if (last.get(id) === settled) last.delete(id)
      }
    },
    async load(key) {
      return await load(sessionKey(parsed(keySchema, 'key', key)))
    },
    async listSessions(projectKey) {
      const path = projectPath(parsed(z.string().min(1), 'projectKey', projectKey))
      const { conversations } = await ledger.list({ scope: TRANSCRIPT_SCOPE, match: path })
      return conversations.flatMap(({ conversationId, lastRecordedAt }) => {
        const name = conversationId.slice(path.length)
        return conversationId.startsWith(path) && !name.includes('/')
          ? [{ sessionId: outOfPath(name), mtime: Math.floor(new Date(lastRecordedAt).getTime()) }]
          : []
      })
    },
    async listSubkeys(key) {
      const path = `${linesOf(sessionKey({ ...parsed(keySchema, 'key', key), subpath: undefined }))}/`
      const { conversations } = await ledger.list({ scope: TRANSCRIPT_SCOPE, match: path })
      return conversations.flatMap(({ conversationId }) =>
        conversationId.startsWith(path) ? [outOfPath(conversationId.slice(path.length))] : [],
      )
    },
  }
}

const sessionKey = ({ projectKey, sessionId, subpath }: z.infer<typeof keySchema>): SessionKey => ({
  projectKey,
  sessionId,
  ...(subpath === undefined ? {} : { subpath }),
})
