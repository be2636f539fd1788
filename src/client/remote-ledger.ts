/**
 * A `Ledger` over a service, so that programs and the command line work with both. A function that the service
 * cannot offer throws an error that says so.
 */
import { isLedgerError } from '../lib/ledger-error.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import type { RecordedEvent } from '../domain/events/index.js'
import { eventTypes, isEventType } from '../domain/events/index.js'
import { createAgentTools } from '../library/agent-tools.js'
import type {
  ActorOptions,
  AppendOptions,
  At,
  Compressed,
  ContextAsOf,
  ConversationList,
  ConversationSummary,
  ForgottenCycle,
  Ledger,
  ListOptions,
  LogOptions,
} from '../library/ledger.js'
import { dataOfProblem, problem } from '../library/problem.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { storeError } from '../ports/store-error.js'
import { createClient, type Client, type Job } from './client.js'
import { type ClientOptions } from './transport.js'
import { withWholeNumbers } from './whole-numbers.js'

/** How to reach the service, and what goes with what is appended. */
export interface RemoteLedgerOptions extends ClientOptions {
  /** Settings for what is appended through this ledger; they are recorded. */
  readonly policy?: AppendOptions['policy']
}

/** Tool definitions for the model; the service answers the calls. */
const toolDefinitions = createAgentTools({
  memoryRead: () => Promise.resolve([]),
  compact: () => Promise.reject(new Error('the service answers it')),
})

/** Everything that a page has at most. */
const PAGE = 1_000
const MESSAGES_PAGE = 10_000
const CHAT_FIELDS: ReadonlySet<string> = new Set(['messages'])

/**
 * Opens a ledger over a service. It sends no request before the first call.
 * @throws TypeError if an option is invalid
 */
export function openRemoteLedger({ policy, ...reach }: RemoteLedgerOptions): Ledger {
  const client = createClient(reach)
  const { calls } = client
  let isClosed = false

  /** What a call of the service gives, its failures as a ledger's own. */
  async function callService<T>(call: (client: Client) => Promise<T>): Promise<T> {
    if (isClosed) throw problem({ kind: 'LedgerClosed' })
    try {
      return await call(client)
    } catch (error) {
      throw asStoreError(error)
    }
  }

  /** A value of the service as the library's type of the same name. */
  async function value<T>(call: () => Promise<{ readonly value: unknown }>, own?: ReadonlySet<string>): Promise<T> {
    // The law of test/client holds each of them against the ledger's own.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return withWholeNumbers((await callService(call)).value, own) as T
  }

  /** What came of a job. */
  async function job<T>(
    begin: () => Promise<{ readonly value: Job }>,
    how: {
      readonly signal?: AbortSignal | undefined
      readonly onProgress?: ((progress: never) => void) | undefined
    } = {},
  ): Promise<T> {
    const { signal, onProgress } = how
    const ended = await callService(async () =>
      client.ended((await begin()).value, {
        signal,
        // Errors of a listener are ignored.
        ...(onProgress === undefined ? {} : { onProgress: (progress) => callListener(onProgress, progress) }),
      }),
    )
    if (ended.result === undefined) signal?.throwIfAborted()
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return withWholeNumbers(ended.result) as T
  }

  async function* log(
    conversationId: string,
    { from, limit, direction }: LogOptions = {},
  ): AsyncGenerator<RecordedEvent> {
    let left = limit ?? Number.POSITIVE_INFINITY
    let cursor: string | undefined
    while (left > 0) {
      const page = (
        await callService(() =>
          calls.getLog({
            params: { conversation: conversationId },
            query: withoutUndefined({
              from: cursor === undefined ? from : undefined,
              cursor,
              direction,
              limit: Math.min(PAGE, left),
            }),
          }),
        )
      ).value
      for (const fact of page.facts) yield factOf(fact)
      left -= page.facts.length
      cursor = page.next
      if (cursor === undefined) return
    }
  }

  async function list({
    waitFor,
    timeout,
    since,
    until,
    sort = 'updated',
    limit,
    after,
    ...rest
  }: ListOptions = {}): Promise<ConversationList> {
    const within = withoutUndefined({ ...rest, since: timeOf(since), until: timeOf(until), waitFor, timeout })
    // The service gives pages by id alone; a short list it gives in any order.
    if (sort !== 'id' && limit !== undefined && limit <= PAGE)
      return await value(() => calls.listConversations({ query: { ...within, sort, limit } }))
    const conversations: ConversationSummary[] = []
    let first: ConversationList | undefined
    let cursor: string | undefined
    const maxCount = sort === 'id' ? (limit ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    do {
      const page: ConversationList & { readonly next?: string } = await value(() =>
        calls.listConversations({
          query: withoutUndefined({
            ...within,
            cursor,
            limit: Math.min(PAGE, Math.max(1, maxCount - conversations.length)),
          }),
        }),
      )
      conversations.push(...page.conversations.filter((each) => after === undefined || isAfter(after, each)))
      first ??= page
      cursor = page.next
    } while (cursor !== undefined && conversations.length < maxCount)
    const sorted = sort === 'id' ? conversations : conversations.toSorted(ORDERS[sort])
    return withoutUndefined({
      conversations: sorted.slice(0, limit),
      unlisted: first.unlisted,
      behind: first.behind,
    })
  }

  const ledger: Ledger = {
    async append(conversationId, messages, { actor, together, expectedRevision, ...rest } = {}) {
      withoutActor(actor)
      if (together !== undefined) throw elsewhere('together', 'an idempotency-key is for that')
      const settings = policy === undefined && rest.policy === undefined ? undefined : { ...policy, ...rest.policy }
      return await value(() =>
        calls.appendMessages({
          params: { conversation: conversationId },
          body: bodyOf({
            ...rest,
            policy: settings,
            messages: Array.isArray(messages) ? messages : [messages],
          }),
          headers: expectedOf(expectedRevision),
        }),
      )
    },
    async amend(conversationId, { actor, expectedRevision, ...rest }) {
      withoutActor(actor)
      return await value(() =>
        calls.amend({
          params: { conversation: conversationId },
          body: bodyOf(rest),
          headers: expectedOf(expectedRevision),
        }),
      )
    },
    async observe(conversationId, observation, { actor, ...rest } = {}) {
      withoutActor(actor)
      const settings = policy === undefined && rest.policy === undefined ? undefined : { ...policy, ...rest.policy }
      return await value(() =>
        calls.observe({
          params: { conversation: conversationId },
          body: bodyOf({ ...rest, policy: settings, observation }),
        }),
      )
    },
    openTranscript: () => Promise.reject(elsewhere('openTranscript', 'record where the store is')),
    importTranscript: () =>
      Promise.reject(elsewhere('importTranscript', 'import where the store is, or give the messages to append')),
    async context(conversationId, { at, view, ...wait } = {}) {
      type Wire = Omit<ContextAsOf, 'messageIds'> & { readonly messageIds: readonly (string | null)[] }
      const params = { conversation: conversationId }
      const context: Wire = await value(
        () => calls.getContext({ params, query: withoutUndefined({ at: momentOf(at), view, ...wait }) }),
        CHAT_FIELDS,
      )
      return { ...context, messageIds: context.messageIds.map((id) => id ?? undefined) }
    },
    async messages(conversationId, { at, ...wait } = {}) {
      type Page = Awaited<ReturnType<Ledger['messages']>> & { readonly next?: string }
      const page = async (cursor: string | undefined): Promise<Page> =>
        await value(() =>
          calls.getMessages({
            params: { conversation: conversationId },
            query: withoutUndefined({
              at: cursor === undefined ? momentOf(at) : undefined,
              cursor,
              limit: MESSAGES_PAGE,
              ...wait,
            }),
          }),
        )
      const { next: second, ...first } = await page(undefined)
      const messages = [...first.messages]
      for (let next = second; next !== undefined;) {
        const more = await page(next)
        messages.push(...more.messages)
        next = more.next
      }
      return { ...first, messages }
    },
    async diff(conversationId, options) {
      const { waitFor, timeout } = options
      const between =
        'cycle' in options ? { cycle: options.cycle } : { from: momentOf(options.from), to: momentOf(options.to) }
      return await value(() =>
        calls.diff({
          params: { conversation: conversationId },
          query: withoutUndefined({ ...between, waitFor, timeout }),
        }),
      )
    },
    compact: async (conversationId, options = {}) => {
      const body = withoutUndefined(ofKey(options))
      return await job(() => calls.compact({ params: { conversation: conversationId }, body }))
    },
    undo: async (conversationId, undone) =>
      await value(() => calls.undo({ params: { conversation: conversationId }, body: bodyOf(ofKey(undone)) })),
    async settled(conversationId) {
      if (conversationId === undefined) return
      await callService(() => calls.settle({ params: { conversation: conversationId } }))
    },
    search: async (query, searched = {}) =>
      await value(() =>
        calls.search({ body: withoutUndefined({ query, ...searched, waitFor: searched.waitFor?.toString() }) }),
      ),
    log,
    async *follow({ after = -1n, untilHead = false, signal }) {
      if (untilHead) throw elsewhere('follow with untilHead', 'read the logs of the conversations')
      if (isClosed) throw problem({ kind: 'LedgerClosed' })
      try {
        const events = client.events({ ...(after === 'head' ? {} : { from: after + 1n }), signal })
        for await (const { subject, sequence, revision, id, data, type, ...rest } of events)
          yield {
            kind: 'event',
            event: factOf({
              type: nameOf(type),
              data,
              stream: `conversation-${subject}`,
              revision,
              position: sequence,
              id,
              metadata: {
                schemaVersion: Number(type.slice(type.lastIndexOf('.v') + 2)),
                correlationId: rest.correlationid,
                causationId: rest.causationid,
                actor: rest.actor,
                recordedAt: rest.time,
                hash: rest.hash,
                previousHash: rest.previoushash,
              },
            }),
          }
      } catch (error) {
        throw asStoreError(error)
      }
    },
    explain: async (conversationId, options = {}) =>
      await value(() =>
        calls.explain({ params: { conversation: conversationId }, body: withoutUndefined({ ...options }) }),
      ),
    async forgotten(conversationId, { cycle, onCycle } = {}) {
      interface Found extends Awaited<ReturnType<Ledger['forgotten']>> {
        readonly cycles: readonly ForgottenCycle[]
      }
      const { cycles, ...found }: Found =
        conversationId === undefined
          ? await job(() => calls.forgottenAll({}))
          : await value(() =>
              calls.forgotten({ params: { conversation: conversationId }, query: withoutUndefined({ cycle }) }),
            )
      for (const each of cycles) await onCycle?.(each)
      return found
    },
    async stats(conversationId, { prices, onConversation } = {}) {
      type Total = Awaited<ReturnType<Ledger['stats']>>
      type Counted = Parameters<NonNullable<typeof onConversation>>[0]
      const { conversations, total }: { readonly conversations: readonly Counted[]; readonly total: Total } = await job(
        () => calls.statsAll({ body: withoutUndefined({ prices, conversationId }) }),
      )
      for (const each of conversations) await onConversation?.(each)
      return total
    },
    list,
    async verify(conversationId, { onProgress, onStream, against } = {}) {
      if (onStream !== undefined || against !== undefined)
        throw elsewhere('a manifest', 'take it, and hold the log against it, beside the store')
      return await job(
        () =>
          conversationId === undefined
            ? calls.verifyAll({})
            : calls.verify({ params: { conversation: conversationId } }),
        { onProgress },
      )
    },
    identity: async () => await value(() => calls.getLedger({})),
    async pin(conversationId, messageId, request = {}) {
      const params = { conversation: conversationId, message: messageId }
      const query = withoutUndefined(ofKey(request))
      await callService(() => calls.pinMessage({ params, query }))
    },
    async unpin(conversationId, messageId, request = {}) {
      const params = { conversation: conversationId, message: messageId }
      const query = withoutUndefined(ofKey(request))
      await callService(() => calls.unpinMessage({ params, query }))
    },
    editions: {
      estimate: async ({ signal, ...request }) =>
        await job(() => calls.estimateReplay({ body: bodyOf(request) }), { signal }),
      replay: async ({ signal, onProgress, ...request }) =>
        await job(() => calls.replay({ body: bodyOf(ofKey(request)) }), { signal, onProgress }),
      async list() {
        return (
          await value<{ readonly editions: Awaited<ReturnType<Ledger['editions']['list']>> }>(() =>
            calls.listEditions({}),
          )
        ).editions
      },
      show: async (editionId) => await value(() => calls.getEdition({ params: { edition: editionId } })),
      adopt: async (conversationId, editionId, { signal, ...rest } = {}) =>
        await job(
          () =>
            calls.adoptEdition({
              params: { conversation: conversationId, edition: editionId },
              body: bodyOf(ofKey(rest)),
            }),
          { signal },
        ),
      async revert(conversationId, editionId, { actor } = {}) {
        withoutActor(actor)
        const params = { conversation: conversationId }
        return await value(() => calls.revertEdition({ params, body: withoutUndefined({ editionId }) }))
      },
      async drop(conversationId, editionId, { actor } = {}) {
        withoutActor(actor)
        return await value(() => calls.dropEdition({ params: { conversation: conversationId, edition: editionId } }))
      },
      estimateEvaluation: () => Promise.reject(elsewhere('editions.estimateEvaluation', EVALUATED_AT_THE_STORE)),
      evaluate: () => Promise.reject(elsewhere('editions.evaluate', EVALUATED_AT_THE_STORE)),
      compare: async (conversations, editionId, { onConversation, waitFor, timeout, ...rest } = {}) => {
        if (waitFor !== undefined || timeout !== undefined)
          throw elsewhere('waitFor', 'a job waits for what the service recorded')
        return await job(
          () =>
            calls.compareEdition({ params: { edition: editionId }, body: bodyOf({ ...ofKey(rest), conversations }) }),
          { onProgress: onConversation === undefined ? undefined : doneOf(onConversation) },
        )
      },
    },
    prompts: {
      list: async () => await value(() => calls.listPrompts({})),
      show: async (which) => await value(() => calls.getPrompt({ params: { prompt: which } })),
    },
    projections: {
      async status() {
        type Status = Awaited<ReturnType<Ledger['projections']['status']>>
        return (await value<{ readonly projections: Status }>(() => calls.getProjections({}))).projections
      },
      async rebuild(names, { signal, onProgress, fresh, batchSize } = {}) {
        if (batchSize !== undefined) throw elsewhere('batchSize', 'the service has its own')
        await job(() => calls.rebuildProjections({ body: bodyOf({ names, fresh }) }), { signal, onProgress })
      },
      async catchUp() {
        return (await value<{ readonly position: bigint }>(() => calls.catchUpProjections({}))).position
      },
      fillVectors: async ({ limit, signal, onProgress } = {}) =>
        await job(() => calls.fillVectors({ body: withoutUndefined({ limit }) }), { signal, onProgress }),
    },
    whatIf: async (conversations, { onConversation, ...rest }) =>
      await job(() => calls.whatIf({ body: bodyOf({ ...rest, conversations }) }), {
        onProgress: onConversation === undefined ? undefined : doneOf(onConversation),
      }),
    tools(conversationId, options = {}) {
      const limits = ofKey(options)
      return toolDefinitions.map((tool) => {
        const use = async (body: object): Promise<string> => {
          const params = { conversation: conversationId, tool: tool.name }
          return (await callService(() => calls.useTool(bodyOf({ params, query: withoutUndefined(limits), body }))))
            .value.content
        }
        return {
          ...tool,
          async execute(args) {
            try {
              const body: unknown = typeof args === 'string' ? JSON.parse(args === '' ? '{}' : args) : (args ?? {})
              return await use(objectOf(body))
            } catch (error) {
              return JSON.stringify({ error: thrownSentence(error) })
            }
          },
          async call(args) {
            const answer: unknown = JSON.parse(await use(objectOf(args)))
            if (typeof answer === 'object' && answer !== null && 'error' in answer)
              throw problem({ kind: 'BadInput', field: tool.name, detail: `says: ${String(answer.error)}` })
            return answer
          },
        }
      })
    },
    async compress(history, conversationId, { actor } = {}) {
      try {
        withoutActor(actor)
        const { value: compressed } = await callService(() =>
          calls.compress({ params: { conversation: conversationId }, body: bodyOf({ messages: history }) }),
        )
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the service's own ledger gave it
        return compressed as unknown as Compressed<(typeof history)[number]>
      } catch (error) {
        return {
          history: [...history],
          batchesCreated: 0,
          messagesCompressed: 0,
          tokensEstimateBefore: 0,
          tokensEstimateAfter: 0,
          error: dataOfProblem(error),
        }
      }
    },
    close() {
      isClosed = true
      return Promise.resolve()
    },
    async [Symbol.asyncDispose]() {
      await ledger.close()
    },
  }
  return ledger
}

/** The arguments of a tool. */
function objectOf(args: unknown): object {
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args
  throw problem({ kind: 'BadInput', field: 'the arguments', detail: 'must be an object' })
}

/** The headers of a revision that is expected. */
function expectedOf(revision: bigint | undefined): Readonly<Record<string, string>> {
  if (revision === undefined) return {}
  return revision === -1n ? { 'if-none-match': '*' } : { 'if-match': `"${revision.toString()}"` }
}

/** A body for the service, which says what is wrong with it. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion, typescript/no-unnecessary-type-parameters
const bodyOf = <T>(body: object): T => withoutUndefined(body) as T

/** What a service cannot do, and what does it. */
const EVALUATED_AT_THE_STORE = 'evaluate on the machine of the store: the candidates have models and keys of their own'

const elsewhere = (field: string, detail: string): Error =>
  problem({ kind: 'BadInput', field, detail: `does not go through a service: ${detail}` })

/** Throws if the caller names an actor: the service takes it from the key. */
function withoutActor(actor: string | undefined): void {
  if (actor !== undefined) throw elsewhere('actor', 'the service records the name of the key')
}

/** The options without `actor`. */
function ofKey<Options extends ActorOptions>({ actor, ...rest }: Options): Omit<Options, 'actor'> {
  withoutActor(actor)
  return rest
}

/** A listener that throws ends nothing. */
function callListener(listener: (progress: never) => void, progress: unknown): void {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the service says of this job
    listener(withWholeNumbers(progress) as never)
  } catch {
    // Its own affair, as with a ledger on a store.
  }
}

const doneOf =
  (listener: (done: number, of: number) => void) =>
  ({ done, of }: { readonly done: number; readonly of: number }): void => {
    listener(done, of)
  }

/** A service that cannot be reached is the store of this ledger. */
const asStoreError = (error: unknown): unknown =>
  isLedgerError(error, 'ServiceUnreachable', 'NotAService')
    ? storeError('StoreUnavailable', error.message, error)
    : error

const timeOf = (time: Date | string | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time

const momentOf = (at: At | undefined): string | undefined =>
  at === undefined ? undefined : at instanceof Date ? at.toISOString() : String(at)

const isAfter = (id: string, { conversationId }: ConversationSummary): boolean =>
  Buffer.compare(Buffer.from(conversationId), Buffer.from(id)) > 0

const byId = (a: ConversationSummary, b: ConversationSummary): number =>
  Buffer.compare(Buffer.from(a.conversationId), Buffer.from(b.conversationId))

/** The orders of a list, as the ledger has them. */
const ORDERS = {
  updated: (a, b) => (b.lastRecordedAt < a.lastRecordedAt ? -1 : b.lastRecordedAt > a.lastRecordedAt ? 1 : byId(b, a)),
  messages: (a, b) => b.messages - a.messages || byId(a, b),
  tokens: (a, b) => b.liveTokens - a.liveTokens || byId(a, b),
} satisfies Record<string, (a: ConversationSummary, b: ConversationSummary) => number>

/** `org.context-ledger.MessageAppended.v1` → `MessageAppended` */
const nameOf = (type: string): string => type.replace(/^.*\.(?=[A-Z])/u, '').replace(/\.v\d+$/u, '')

/** A fact of the service, read as one of a store is. */
function factOf(fact: {
  readonly type: string
  readonly data: object
  readonly revision: string
  readonly position: string
  readonly [field: string]: unknown
}): RecordedEvent {
  if (!isEventType(fact.type))
    throw storeError(
      'StoreUnavailable',
      `the service has facts of the type "${fact.type}", which is not known here: a newer version reads them`,
    )
  const data = eventTypes[fact.type].schema.parse(fact.data)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema was chosen by the type, which the union cannot follow
  return { ...fact, data, revision: BigInt(fact.revision), position: BigInt(fact.position) } as unknown as RecordedEvent
}
