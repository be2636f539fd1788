/** The only file that knows every adapter: it makes a ledger out of a store, a summarizer and settings. */
import { compareRows } from '../../projections/compare.js'
import { createArchiveIndex } from '../../projections/archive-index/queries.js'
import { createVectorTable, fillVectors } from '../../projections/archive-index/vectors.js'
import { projections } from '../../projections/index.js'
import { listConversations } from '../../projections/live-messages/queries.js'
import { createProjectionRunner } from '../../projections/runner.js'
import { createOpenAiEmbeddingModel } from '../adapters/openai/embedding-model.js'
import { createOpenAiLanguageModel } from '../adapters/openai/language-model.js'
import { createMemoryClaims } from '../adapters/memory/claims.js'
import { openFolder, openMemory } from '../adapters/pglite/sql.js'
import { createPostgresBodyStore } from '../adapters/postgres/body-store.js'
import { createPostgresClaims } from '../adapters/postgres/claims.js'
import { createPostgresEventStore } from '../adapters/postgres/event-store.js'
import { migrateLog } from '../adapters/postgres/schema.js'
import { openPostgres } from '../adapters/postgres/sql.js'
import { createAppendMessages } from '../application/append-messages.js'
import { createBackground } from '../application/background.js'
import { createCompact, isCompactionDue, type Compaction } from '../application/compact.js'
import { createCompress } from '../application/compress.js'
import { decodeFact } from '../application/facts.js'
import { createConversations } from '../application/handle-command.js'
import { createRegisterPrompt } from '../application/register-prompt.js'
import { search, type SearchHit, type SearchOptions } from '../application/search.js'
import { conversationsOfLog, createVerify } from '../application/verify.js'
import type { Provenance } from '../domain/codec.js'
import type { Command } from '../domain/decide.js'
import { contextOf } from '../domain/context.js'
import type { Conversation } from '../domain/conversation.js'
import { checkId, conversationStream } from '../domain/ids.js'
import { parseMessage, type MessageInput, type NewMessage } from '../domain/message.js'
import { parsePolicySettings, type PolicySettings } from '../domain/policy.js'
import { systemClock, type Clock } from '../ports/clock.js'
import type { Database } from '../ports/sql.js'
import type { Summarizer } from '../ports/summarizer.js'
import { createExtractiveSummarizer, createSummarizer, parseSummarizerConfig, type SummarizerConfig } from '../summarizers/index.js'
import { guarded } from '../summarizers/guarded.js'
import { createAgentTools } from './agent-tools.js'
import { valueOf, type ConversationSummary, type Ledger } from './ledger.js'
import { problem, type Failure } from './problem.js'

export interface EmbeddingConfig {
  readonly model: string
  readonly baseUrl?: string
  readonly apiKey?: string
}

export interface LedgerOptions {
  /** Where the log is: a folder (the embedded Postgres; one process at a time), `memory`, or `postgres://…`. */
  readonly store: string
  /** Where the read models are, where the log is no Postgres. A Postgres log keeps them beside it. */
  readonly database?: string
  /** Who summarizes: `extractive` (no model, no key), the configuration of a model, or a summarizer of your own. */
  readonly summarizer?: 'extractive' | SummarizerConfig | Summarizer
  /** Settings for what is appended through this ledger; they are recorded. Left out, a conversation keeps its own. */
  readonly policy?: PolicySettings
  /** What the summarizer's prompt says of whom it works for. */
  readonly persona?: string
  /** Where it is given, search goes by meaning too. */
  readonly embedding?: EmbeddingConfig
  /** Recorded with every fact as who asked. Default `library`. */
  readonly actor?: string
  readonly clock?: Clock
  /** Hears of what nobody waits for: a compaction that failed behind an append, a read model that stopped. */
  readonly onProblem?: (problem: unknown) => void
}

const bad = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

function summarizerOf(given: LedgerOptions['summarizer']): Summarizer {
  if (given === undefined || given === 'extractive') return createExtractiveSummarizer()
  if (typeof given === 'object' && 'prepare' in given) return guarded(given)
  const config = valueOf(parseSummarizerConfig(given), (left) => bad(`summarizer.${left.field}`, left.detail))
  if (config.kind === 'extractive') return createSummarizer(config)
  const model = valueOf(createOpenAiLanguageModel(config), (left) => bad(left.field, left.detail))
  return createSummarizer(config, model)
}

/** Opens the database that holds the log: a server by its address, a folder by its path. */
async function openStore(store: string): Promise<{ db: Database; shared: boolean }> {
  if (store.trim() === '') throw bad('store', 'is empty: give a folder, or postgres://…')
  if (store === 'memory') return { db: await openMemory(), shared: false }
  if (/^postgres(ql)?:\/\//u.test(store)) return { db: await openPostgres(store), shared: true }
  if (/^[a-z][a-z0-9+.-]+:\/\//iu.test(store)) throw bad('store', `"${store.slice(0, store.indexOf(':'))}" is no kind of store: give a folder, or postgres://…`)
  return { db: await openFolder(store), shared: false }
}

const LIST_PAGE = 500

const isList = (messages: MessageInput | readonly MessageInput[]): messages is readonly MessageInput[] => Array.isArray(messages)
const asList = (messages: MessageInput | readonly MessageInput[]): readonly MessageInput[] => (isList(messages) ? messages : [messages])

function parseMessages(inputs: readonly MessageInput[]): NewMessage[] {
  return inputs.map((input, at) =>
    valueOf(parseMessage(input), (left) => problem(inputs.length === 1 ? left : { ...left, field: `messages[${String(at)}].${left.field}` })),
  )
}

const settingsOf = (policy: PolicySettings | undefined): PolicySettings | undefined =>
  policy === undefined ? undefined : valueOf(parsePolicySettings(policy), problem)

/** Opens a ledger. Throws where the store cannot be opened or a setting is wrong, before anything is written. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { clock = systemClock, actor = 'library', onProblem = () => undefined, persona = '' } = options
  const ledgerSettings = settingsOf(options.policy)
  const summarizer = summarizerOf(options.summarizer)
  const embedding = options.embedding === undefined ? undefined : valueOf(createOpenAiEmbeddingModel(options.embedding), (left) => bad(left.field, left.detail))
  if (options.database !== undefined) throw bad('database', 'is for a log that is no Postgres: this one keeps its read models beside it')
  const { db, shared } = await openStore(options.store)
  try {
    await migrateLog(db)
    if (embedding !== undefined) await createVectorTable(db)
  } catch (error) {
    await db.close()
    throw error
  }

  const log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
  const conversations = createConversations({ log, clock, alone: !shared })
  const decode = (stored: Parameters<typeof decodeFact>[0]): ReturnType<typeof decodeFact> => decodeFact(stored, log.bodies)
  const runner = createProjectionRunner({ db, store: log.store, decode, projections, onFailure: onProblem })
  const index = createArchiveIndex(db)
  const compact = createCompact({
    conversations,
    summarizer,
    standIn: createExtractiveSummarizer(),
    persona,
    // A folder belongs to this process alone: claims in memory die with it, and nobody waits for one that a killed process held.
    claims: shared ? createPostgresClaims(db) : createMemoryClaims(clock),
    clock,
    registerPrompt: createRegisterPrompt(log, clock, actor),
    actor,
  })
  const background = createBackground(
    (conversationId, signal) => compact(conversationId, 'due', signal),
    async (conversationId) => isCompactionDue(await conversations.load(conversationId)),
    (_conversationId, done) => { if (done.failure !== undefined) onProblem(done.failure) },
  )
  const appendMessages = createAppendMessages({ conversations, clock, summarizerWindowTokens: summarizer.windowTokens })
  let closing: Promise<void> | undefined
  let following = false

  const fail = (failure: Failure): Error => problem(failure)
  function open(): void {
    if (closing !== undefined) throw fail({ kind: 'LedgerClosed' })
  }
  function follow(): void {
    if (following) return
    following = true
    runner.start()
  }
  function provenance(given: { actor?: string | undefined; correlationId?: string | undefined } = {}): Provenance {
    const correlationId = given.correlationId ?? clock.newId()
    return { actor: given.actor ?? actor, correlationId, causationId: correlationId }
  }

  async function append(conversationId: string, messages: readonly NewMessage[], settings: PolicySettings | undefined, scope: string | undefined, by: Provenance) {
    open()
    follow()
    const merged = settings === undefined && ledgerSettings === undefined ? undefined : { ...ledgerSettings, ...settings }
    const appended = valueOf(await appendMessages({ conversationId, messages, settings: merged, scope, provenance: by }), fail)
    if (isCompactionDue(appended.state)) background.wake(conversationId)
    return appended
  }

  /** A conversation that is there; a misspelt id is told and not made up. */
  async function existing(conversationId: string): Promise<Conversation> {
    open()
    valueOf(checkId('conversationId', conversationId), fail)
    const state = await conversations.load(conversationId)
    if (state.revision < 0n) throw fail({ kind: 'NoSuchConversation', conversationId })
    return state
  }

  async function pin(type: 'PinMessage' | 'UnpinMessage', conversationId: string, messageId: string): Promise<void> {
    await existing(conversationId)
    const command: Command = { type, messageId }
    valueOf(await conversations.handle(conversationId, [command], provenance()), fail)
  }

  async function compactNow(conversationId: string, force: boolean): Promise<Compaction> {
    await existing(conversationId)
    follow()
    if (ledgerSettings !== undefined) {
      valueOf(await conversations.handle(conversationId, [{ type: 'Configure', settings: ledgerSettings, scope: undefined, summarizerWindowTokens: summarizer.windowTokens }], provenance()), fail)
    }
    return compact(conversationId, force ? 'force' : 'now')
  }

  async function caughtUp(): Promise<void> {
    open()
    await runner.catchUp()
    if (embedding !== undefined) await fillVectors(db, embedding).catch(onProblem)
  }

  async function find(query: string, given: SearchOptions): Promise<readonly SearchHit[]> {
    if (query.trim() === '') throw bad('query', 'is empty')
    await caughtUp()
    return search({ index, ...(embedding === undefined ? {} : { embedding }) }, query, given)
  }

  async function memoryRead(conversationId: string, query: string, limit: number): Promise<readonly SearchHit[]> {
    const state = await existing(conversationId)
    const context = valueOf(contextOf(state), fail)
    // What the agent still sees is the live messages and the batches of the view; a shortened or left-out one it does not see whole.
    const seen = new Set(context.messageIds)
    for (const { id } of context.shortened ?? []) seen.delete(id)
    const shown = new Set(state.view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : [])))
    for (const { id } of context.shortened ?? []) shown.delete(id)
    const hits = await find(query, { within: { conversationId }, limit: limit + seen.size + shown.size })
    return hits.filter((hit) => (hit.kind === 'batch' ? !(hit.batchId !== null && shown.has(hit.batchId)) : !hit.messageIds.every((id) => seen.has(id)))).slice(0, limit)
  }

  const verify = createVerify({
    log,
    conversationIds: () => conversationsOfLog(log),
    async compareRows(conversationId, facts) {
      const compared = await compareRows(db, projections, conversationId, facts)
      return compared.flatMap(({ projection, factsBehind, differences }) => [
        ...(factsBehind === 0 ? [] : [`${projection} is ${String(factsBehind)} facts behind`]),
        ...differences.map(({ table, key, kind, columns }) => `${projection}, table ${table}: the row ${JSON.stringify(key, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))} is ${kind}${columns.length === 0 ? '' : ` (${columns.map(({ column }) => column).join(', ')})`}`),
      ])
    },
  })

  const ledger: Ledger = {
    async append(conversationId, messages, given = {}) {
      const appended = await append(conversationId, parseMessages(asList(messages)), settingsOf(given.policy), given.scope, provenance(given))
      return { conversationId, revision: appended.state.revision, recorded: appended.recorded, position: appended.position }
    },
    async context(conversationId) {
      return valueOf(contextOf(await existing(conversationId)), fail)
    },
    compact: (conversationId, given = {}) => compactNow(conversationId, given.force === true),
    settled: (conversationId) => background.settled(conversationId),
    search(query, { conversationId, scope, ...given } = {}) {
      if (conversationId !== undefined && scope !== undefined) throw bad('scope', 'goes without a conversation: a search stays in one of the two')
      return find(query, { within: conversationId === undefined ? { scope: scope ?? null } : { conversationId }, ...given })
    },
    async *log(conversationId, given = {}) {
      await existing(conversationId)
      for await (const stored of log.store.readStream(conversationStream(conversationId), given)) yield await decode(stored)
    },
    async list(given = {}) {
      await caughtUp()
      const found: ConversationSummary[] = []
      for (;;) {
        const after = found.at(-1)
        const page = await listConversations(db, { ...given, limit: LIST_PAGE, ...(after === undefined ? {} : { after }) })
        found.push(...page)
        if (page.length < LIST_PAGE) return found
      }
    },
    async verify(conversationId, given = {}) {
      if (conversationId !== undefined) await existing(conversationId)
      await caughtUp()
      return verify(conversationId, given.onConversation)
    },
    pin: (conversationId, messageId) => pin('PinMessage', conversationId, messageId),
    unpin: (conversationId, messageId) => pin('UnpinMessage', conversationId, messageId),
    projections: {
      status: () => runner.status(),
      rebuild: (names, given) => runner.rebuild(names, given),
      catchUp: () => runner.catchUp(),
    },
    tools: (conversationId) =>
      createAgentTools({
        memoryRead: (query, limit) => memoryRead(conversationId, query, limit),
        compact: () => compactNow(conversationId, false),
      }),
    compress: createCompress({
      log,
      load: (conversationId) => {
        open()
        valueOf(checkId('conversationId', conversationId), fail)
        return conversations.load(conversationId)
      },
      append: async (conversationId, messages) => (await append(conversationId, messages, undefined, undefined, provenance())).recorded,
      compact: async (conversationId) => {
        await background.settled(conversationId)
        return compact(conversationId, 'due')
      },
      onProblem,
    }),
    async close() {
      closing ??= (async () => {
        await background.settled().catch(onProblem)
        await background.stop()
        await runner.stop()
        await db.close()
      })()
      await closing
    },
  }
  return ledger
}
