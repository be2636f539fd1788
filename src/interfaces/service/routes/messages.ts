/** Messages: appended, read, pinned, searched. */
import { parseRevision } from '../../../domain/values/revision.js'
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { createHash } from 'node:crypto'
import type { AmendOptions, AppendResult, Ledger, MessageInput, Observation } from '../../../library/ledger.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import { problem } from '../../../library/problem.js'
import { cursorOf, placeOf, wrongCursor } from '../cursors.js'
import { Refused } from '../problems.js'
import { scopeWithin, type Access } from '../access.js'
import { etagOf, type Answer, type Handlers } from '../service.js'

const PAGE = 1_000

/** The revision that the headers expect; -1 where the conversation is to be a new one. */
function expectedOf(headers: Readonly<Record<string, string | undefined>>): number | undefined {
  const match = headers['if-match']
  const none = headers['if-none-match']
  if (match !== undefined && none !== undefined)
    throw new Refused('BadRequest', 'if-match goes without if-none-match', { field: 'if-match' })
  if (none !== undefined) {
    if (none.trim() !== '*')
      throw new Refused('BadRequest', 'if-none-match of an append is `*`: the conversation is to be a new one', {
        field: 'if-none-match',
      })
    return -1
  }
  if (match === undefined) return undefined
  const [, digits = ''] = /^"(\d+)"$/u.exec(match.trim()) ?? []
  const revision = parseRevision(digits)
  if (revision === undefined)
    throw new Refused(
      'BadRequest',
      'if-match is the ETag that the revision was given as, for instance "12" with its quotes',
      { field: 'if-match' },
    )
  return revision
}

/** The key of a request that may be sent again; the same of another caller is another one. */
function idempotencyOf(access: Access, conversationId: string, header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (header.trim() === '' || header.length > 200 || /\p{Cc}/u.test(header))
    throw new Refused('BadRequest', 'idempotency-key has to be 1 to 200 characters, none of them a control character', {
      field: 'idempotency-key',
    })
  return createHash('sha256')
    .update(JSON.stringify([access.keyId ?? '', conversationId, header]))
    .digest('hex')
    .slice(0, 32)
}

const reused = (): Refused =>
  new Refused(
    'IdempotencyKeyReused',
    'this idempotency-key came before with other messages: a key stands for one request',
    { field: 'idempotency-key' },
  )

/** The answer of the first request, for one that was recorded already. */
async function answerOfFirst(
  ledger: Ledger,
  conversationId: string,
  ids: readonly string[],
  ownCorrelation: string | undefined,
): Promise<AppendResult> {
  const { revision } = await ledger.messages(conversationId, { at: `message:${ids.at(-1) ?? ''}` })
  let position: number | undefined
  for await (const event of ledger.log(conversationId, { from: revision, limit: 2 })) {
    if (event.revision === revision) ({ position } = event)
    else if (event.type === 'MessageAppended' && event.metadata.correlationId === ownCorrelation) throw reused()
  }
  return { conversationId, revision, recorded: ids, position }
}

/** Ids of messages that came without one, in a request with an idempotency key. */
const idPrefix = (key: string): string => `k-${key}-`

/** Whether an append failed because its idempotency key was used for other messages. */
const isReuse = (error: unknown, key: string): boolean =>
  isLedgerError(error, 'PartlyRecorded') ||
  (isLedgerError(error, 'MessageIdTaken') && String(error.details['messageId']).startsWith(idPrefix(key)))

/** Rethrows the error of an append as the caller of a route may see it. */
function throwAppendError(error: unknown, { bound }: Access, conversationId: string, key: string | undefined): never {
  // Another process began it in another scope, a moment ago.
  if (isLedgerError(error, 'ScopeChanged') && bound !== undefined)
    throw problem({ kind: 'NoSuchConversation', conversationId })
  throw key !== undefined && isReuse(error, key) ? reused() : error
}

const appended = (result: AppendResult, { positions }: Access): Answer<AppendResult> => ({
  body: { ...result, position: result.position === undefined ? undefined : positions.encode(result.position) },
  headers: etagOf(result.revision),
})

/** The handlers. */
export const messageHandlers = {
  async appendMessages({ ledger, recorded: countRecorded }, { params: { conversation }, body, raw, headers, access }) {
    const key = idempotencyOf(access, conversation, headers['idempotency-key'])
    // As received, because parsed values have the keys of parts and calls in another order.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ledger parses them
    const rawMessages = (raw as { readonly messages: readonly MessageInput[] }).messages
    const messages =
      key === undefined
        ? rawMessages
        : rawMessages.map((message, at) => ({ ...message, id: message.id ?? `${idPrefix(key)}${String(at)}` }))
    const ownCorrelation = key === undefined || body.correlationId !== undefined ? undefined : `idempotency-${key}`
    const options = withoutUndefined({
      policy: body.policy,
      scope: scopeWithin(access, body.scope),
      correlationId: body.correlationId ?? ownCorrelation,
      expectedRevision: expectedOf(headers),
      actor: access.actor,
      atomic: key === undefined ? undefined : true,
    })
    const result = await ledger
      .append(conversation, messages, options)
      .catch((error: unknown) => throwAppendError(error, access, conversation, key))
    countRecorded(result.recorded.length)
    if (key === undefined || result.recorded.length > 0) return appended(result, access)
    const ids = messages.map(({ id = '' }) => id)
    return appended(await answerOfFirst(ledger, conversation, ids, ownCorrelation), access)
  },

  async amend({ ledger, recorded: countRecorded }, { params: { conversation }, body, raw, headers, access }) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as it came, and the ledger parses it
    const { append, compaction } = raw as Pick<AmendOptions, 'append' | 'compaction'>
    const result = await ledger.amend(
      conversation,
      withoutUndefined({ ...body, append, compaction, expectedRevision: expectedOf(headers), actor: access.actor }),
    )
    countRecorded(result.recorded.length)
    return appended(result, access)
  },

  async observe({ ledger, recorded: countRecorded }, { params: { conversation }, body, raw, access }) {
    const { policy, scope, correlationId } = body
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as it came, and the ledger parses it
    const { observation } = raw as { readonly observation: Observation }
    const result = await ledger.transcripts.observe(
      conversation,
      observation,
      withoutUndefined({ policy, scope: scopeWithin(access, scope), correlationId, actor: access.actor }),
    )
    countRecorded(result.recorded.length)
    return appended(result, access)
  },

  async getMessages({ ledger }, { params: { conversation }, query: { at, cursor, limit = PAGE, ...wait } }) {
    const cursorParts = placeOf(cursor, 2)
    if (cursorParts !== undefined && !cursorParts.every((part) => /^\d{1,18}$/u.test(part))) throw wrongCursor()
    // Pages are of one moment, so that none is missed while messages come and go.
    const [moment, after] = cursorParts?.map(Number) ?? []
    const live = await ledger.messages(conversation, withoutUndefined({ at: moment ?? at, ...wait }))
    const left = after === undefined ? live.messages : live.messages.filter(({ revision }) => revision > after)
    const page = left.slice(0, limit)
    const last = page.at(-1)
    const next =
      left.length > limit && last !== undefined ? cursorOf(String(live.revision), String(last.revision)) : undefined
    return { body: withoutUndefined({ ...live, messages: page, next }), headers: etagOf(live.revision) }
  },

  async pinMessage({ ledger }, { params: { conversation, message }, query, access: { actor } }) {
    await ledger.conversation(conversation).pin(message, withoutUndefined({ ...query, actor }))
    return {}
  },

  async unpinMessage({ ledger }, { params: { conversation, message }, query, access: { actor } }) {
    await ledger.conversation(conversation).unpin(message, withoutUndefined({ ...query, actor }))
    return {}
  },

  async search({ ledger, bounds }, { body: { query, scope, ...options }, access }) {
    const { bound } = access
    const { conversationId } = options
    if (conversationId !== undefined) await bounds.check(access, conversationId)
    else if (bound !== undefined && 'prefix' in bound)
      throw new Refused('KeyBound', 'the key is bound to a prefix of ids: name a conversation to search', {
        field: 'conversationId',
      })
    if (bound !== undefined && 'scope' in bound && scope !== undefined && scope !== bound.scope)
      throw new Refused('KeyBound', 'the key is bound to another scope', { field: 'scope' })
    const within = conversationId === undefined && bound !== undefined && 'scope' in bound ? bound.scope : scope
    return { body: await ledger.search(query, withoutUndefined({ ...options, scope: within })) }
  },
} satisfies Partial<Handlers>
