/**
 * Writes long conversations to a log quickly: the real decider, plan and cycle run in memory, and their events are
 * written in bulk. The events are those that the ledger itself would write, with hash chain and checkpoint events
 * (`load` verifies them). Only the summaries are artificial, because their text is not measured.
 */
import { Readable } from 'node:stream'
import { either as E } from 'fp-ts'
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { createAppendMessages } from '../../src/application/recording/append-messages.js'
import { createCompact, isCompactionDue } from '../../src/application/compaction/compact.js'
import { createConversations } from '../../src/application/recording/handle-command.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import type { MessageInput } from '../../src/domain/values/chat-message.js'
import { sha256 } from '../../src/domain/values/hash.js'
import type { NewMessage } from '../../src/domain/values/message.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import { systemClock } from '../../src/ports/clock.js'
import type { EventStore, EventToAppend } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import type { SummaryJob, Summarizer } from '../../src/ports/summarizer.js'
import { prose, randomOf } from './text.js'

const TEXT_CHARACTERS = 400

/** The n-th message of a conversation: questions and answers alternate, half a minute apart. */
export function messageAt(
  at: number,
  random: () => number,
  characters = TEXT_CHARACTERS,
): NewMessage & { readonly messageId: string; readonly content: string } {
  return {
    messageId: `m${String(at).padStart(7, '0')}`,
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: prose(random, characters),
    createdAt: new Date(Date.UTC(2025, 0, 1) + at * 30_000).toISOString(),
  }
}

/** The same message in the form in which a host passes it. */
export function givenAt(at: number, random: () => number): MessageInput {
  const { messageId, content, createdAt } = messageAt(at, random)
  return { id: messageId, role: at % 2 === 0 ? 'user' : 'assistant', content, created_at: createdAt }
}

const PROMPT = {
  name: 'bench',
  text: 'No prompt: the beginning of the first messages.',
  sha256: sha256('No prompt: the beginning of the first messages.'),
}

const spokenOf = (job: SummaryJob): string[] =>
  job.kind === 'chunk'
    ? job.messages.map(({ content }) => (typeof content === 'string' ? content : ''))
    : job.summaries.map(({ text }) => text)

/** Returns summaries of the maximum length without delay. */
export const quickSummarizer: Summarizer = {
  strategy: 'bench',
  provider: 'none',
  model: 'bench-1',
  windowTokens: 128_000,
  prepare(job) {
    const texts = spokenOf(job)
    const request = {
      kind: job.kind,
      texts: texts.length,
      first: texts[0]?.slice(0, 100),
      last: texts.at(-1)?.slice(0, 100),
    }
    return {
      job,
      strategy: 'bench',
      provider: 'none',
      model: 'bench-1',
      parameters: {},
      prompt: PROMPT,
      formatterVersion: 1,
      requestHash: sha256(JSON.stringify(request)),
      request,
    }
  },
  summarize({ job }) {
    const texts = spokenOf(job)
    const share = Math.floor((job.maxSummaryTokens * 4) / texts.length)
    const text = texts
      .map((each) => each.slice(0, Math.max(1, share - 1)))
      .join(' ')
      .slice(0, job.maxSummaryTokens * 4)
    return Promise.resolve({ text, durationMs: 0 })
  },
}

interface WrittenEvent extends EventToAppend {
  readonly stream: string
  readonly revision: number
  readonly position: number
}

const ROWS_A_STATEMENT = 2_000
const INSERT = `
  insert into events (position, revision, id, stream, type, data, metadata)
  select * from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[])`

export interface BulkLog {
  /** Writes a conversation of that many messages. */
  write(
    conversationId: string,
    messages: number,
    settings: PolicySettings,
    options?: { readonly scope?: string; readonly seed?: number; readonly characters?: number },
  ): Promise<void>
  /**
   * Writes a conversation of these messages. Conversations that are written concurrently are interleaved in the log, as
   * in real use.
   */
  record(
    conversationId: string,
    messages: readonly NewMessage[],
    settings: PolicySettings,
    scope?: string,
  ): Promise<void>
  /** Writes the remaining events and updates the log's position. Do not append in another way before this. */
  finish(): Promise<{ readonly events: number }>
}

/** Fills the log of a new database; creates its tables. */
export async function createBulkLog(db: Database, summarizer = quickSummarizer): Promise<BulkLog> {
  await migrateLog(db)
  const revisions = new Map<string, number>()
  let rows: WrittenEvent[] = []
  let head = -1
  let flushing: Promise<void> | undefined

  async function flush(): Promise<void> {
    if (rows.length === 0) return
    const sent = rows
    rows = []
    await db.query(INSERT, [
      sent.map((row) => row.position),
      sent.map((row) => row.revision),
      sent.map((row) => row.id),
      sent.map((row) => row.stream),
      sent.map((row) => row.type),
      sent.map((row) => row.data),
      sent.map((row) => row.metadata),
    ])
  }

  const unread = (): never => {
    throw new Error('a log that is being filled is not read')
  }
  const store: EventStore = {
    append: (stream, expected, events) => async () => {
      let revision = revisions.get(stream) ?? -1
      // Conversations that are written concurrently register the same prompt.
      if (expected === 'no_stream' && revision >= 0)
        return E.left({ kind: 'RevisionConflict', stream, expected, actual: revision })
      for (const event of events) {
        revision += 1
        head += 1
        rows.push({ ...event, stream, revision, position: head })
      }
      revisions.set(stream, revision)
      if (rows.length >= ROWS_A_STATEMENT) {
        flushing ??= flush().finally(() => {
          flushing = undefined
        })
      }
      // All concurrent writers wait here; otherwise none would let the database run.
      await flushing
      return E.right({ revision, position: head, repeated: false })
    },
    // A new conversation has nothing to read, and one that is being written is in memory.
    readStream: (stream) => (revisions.has(stream) ? unread() : Readable.from([])),
    recognizes: 'always',
    readRevisions: unread,
    findByIds: unread,
    eventAt: unread,
    readAll: unread,
    readPositions: unread,
    readHashes: unread,
    streams: unread,
    subscribe: unread,
    head: () => Promise.resolve(head),
    streamRevision: (stream) => Promise.resolve(revisions.get(stream) ?? -1),
  }
  const log = { store, bodies: createPostgresBodyStore(db) }
  const clock = systemClock
  const registerPrompt = createRegisterPrompt(log, clock)

  /** `messages` returns the n-th message, which is created on demand. */
  async function record(
    conversationId: string,
    count: number,
    messages: (at: number) => NewMessage,
    settings: PolicySettings,
    scope: string | undefined,
  ): Promise<void> {
    const conversations = createConversations({ log, clock, alone: true })
    const appendMessages = createAppendMessages({
      conversations,
      clock,
      summarizerWindowTokens: summarizer.windowTokens,
    })
    const compact = createCompact({
      conversations,
      summarizer,
      fallback: summarizer,
      persona: '',
      claims: createMemoryClaims(clock),
      clock,
      registerPrompt,
      actor: 'bench',
    })
    const request = clock.newId()
    const provenance = { actor: 'bench', correlationId: request, causationId: request }
    const A_CALL = 8
    for (let at = 0; at < count; at += A_CALL) {
      const some = Array.from({ length: Math.min(A_CALL, count - at) }, (_unused, offset) => messages(at + offset))
      const appended = await appendMessages({
        conversationId,
        messages: some,
        settings: at === 0 ? settings : undefined,
        scope: at === 0 ? scope : undefined,
        provenance,
      })
      if (E.isLeft(appended)) throw new Error(`the message could not be written: ${appended.left.kind}`)
      if (!isCompactionDue(appended.right.state)) continue
      const compacted = await compact(conversationId, 'due')
      if (compacted.failure !== undefined) throw new Error(`the cycle failed: ${compacted.failure.kind}`)
    }
  }

  return {
    async write(conversationId, messages, settings, { scope, seed = 1, characters = TEXT_CHARACTERS } = {}) {
      const random = randomOf(seed)
      await record(conversationId, messages, (at) => messageAt(at, random, characters), settings, scope)
    },
    async record(conversationId, messages, settings, scope) {
      const messageOf = (at: number): NewMessage => {
        const message = messages[at]
        if (message === undefined) throw new Error(`there is no message ${String(at)}`)
        return message
      }
      await record(conversationId, messages.length, messageOf, settings, scope)
    },
    async finish() {
      await flush()
      await db.query('insert into streams (stream, revision) select * from unnest($1::text[], $2::bigint[])', [
        [...revisions.keys()],
        [...revisions.values()],
      ])
      await db.query('update log_head set position = $1', [head])
      await db.script('analyze events; analyze streams')
      return { events: head + 1 }
    },
  }
}
