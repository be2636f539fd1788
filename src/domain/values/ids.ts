/** Names of streams, and ids derived from what they identify. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { hashOf, uuidOf } from './hash.js'

export const CONVERSATION_PREFIX = 'conversation-'
export const EDITION_PREFIX = 'edition-'
export const PROMPT_PREFIX = 'prompt-'
/** The one stream with the retention rules, holds and runs of the ledger. */
export const RETENTION_STREAM = 'retention-rules'
/** Prefixes of the names of all streams of a ledger. Other applications may use the same log. */
export const LEDGER_PREFIXES = [CONVERSATION_PREFIX, EDITION_PREFIX, PROMPT_PREFIX, RETENTION_STREAM] as const

/** Longest conversation id, in UTF-8 bytes. A stream name must fit in every store and its indexes. */
const MAX_CONVERSATION_ID_BYTES = 512

export const conversationStream = (conversationId: string): string => `${CONVERSATION_PREFIX}${conversationId}`
export const promptStream = (promptSha256: string): string => `${PROMPT_PREFIX}${promptSha256}`

/** An edition's id has no dash, so the name of its stream can be split into edition and conversation. */
const EDITION_STREAM = /^edition-([^-]+)-(.+)$/su

export const editionStream = (editionId: string, conversationId: string): string =>
  `${EDITION_PREFIX}${editionId}-${conversationId}`

/** The edition and conversation that a stream name contains; undefined for other streams. */
export function editionOf(stream: string): { readonly editionId: string; readonly conversationId: string } | undefined {
  const [, editionId, conversationId] = EDITION_STREAM.exec(stream) ?? []
  return editionId === undefined || conversationId === undefined ? undefined : { editionId, conversationId }
}

/** The conversation of a stream; undefined for other streams. */
export function conversationOf(stream: string): string | undefined {
  return stream.startsWith(CONVERSATION_PREFIX) ? stream.slice(CONVERSATION_PREFIX.length) : undefined
}

export type BadId = { readonly kind: 'BadId'; readonly field: string; readonly detail: string }

/**
 * Checks an id from a caller: not empty, not too long, no control characters, no lone surrogates (a store would change
 * them). Everything else is allowed: slashes, spaces, emoji, Chinese.
 */
export function checkId(field: string, id: unknown, maxBytes = MAX_CONVERSATION_ID_BYTES): E.Either<BadId, string> {
  const no = (detail: string): E.Either<BadId, string> => E.left({ kind: 'BadId', field, detail })
  if (typeof id !== 'string') return no(id === undefined ? 'is missing' : 'must be a text')
  if (id.length === 0) return no('is empty')
  if (/\p{Cc}/u.test(id)) return no('has a control character')
  if (!id.isWellFormed()) return no('has a lone surrogate')
  if (Buffer.byteLength(id, 'utf8') > maxBytes) return no(`is longer than ${String(maxBytes)} bytes`)
  return E.right(id)
}

/** The rule of `checkId` as a schema, for names that are recorded or used in queries. */
export const nameSchema = z.string().superRefine((value, context) => {
  const checked = checkId('name', value)
  if (E.isLeft(checked)) context.addIssue(checked.left.detail)
})

/**
 * Event id of `MessageAppended`. It depends only on the message's id, so that the store itself recognizes a repeated
 * message, however late.
 */
export const messageEventId = (stream: string, messageId: string): string =>
  uuidOf(stream, 'MessageAppended', messageId)

/** Event id of all other events, from their position and content. */
export const eventIdOf = (stream: string, revision: number, type: string, data: string): string =>
  uuidOf(stream, revision.toString(), type, data)

/** Id of a message without one, from its conversation and its position, counted from 0. */
export const derivedMessageId = (conversationId: string, place: number): string =>
  `m-${hashOf([conversationId, place]).slice(0, 20)}`

/**
 * The origin of chunks and batches: the first lineage of a conversation, one that a later event started, or an edition.
 * Within a lineage an id depends only on content. In another lineage the same messages and request give another id, so
 * that a new chunk is not mistaken for an undone one.
 */
export interface Lineage {
  readonly conversationId: string
  readonly editionId?: string | undefined
  readonly since?: number | undefined
}

const lineageParts = ({ editionId, since }: Lineage): string[] => [
  ...(editionId === undefined ? [] : [`edition ${editionId}`]),
  ...(since === undefined ? [] : [`since ${since.toString()}`]),
]

/** The request for a summary, as ids depend on it. */
export interface IdentifiedRequest {
  readonly requestHash: string
  /** Replaces `requestHash` in an erasable ledger, where an id must not confirm a guess of the erased text. */
  readonly idSeed?: string | undefined
}

const seedOf = ({ requestHash, idSeed }: IdentifiedRequest): string => idSeed ?? requestHash

/** Id of a chunk, from the messages that it covers and the request for its summary. */
export const chunkIdOf = (lineage: Lineage, messageIds: readonly string[], request: IdentifiedRequest): string =>
  `chunk-${hashOf([lineage.conversationId, messageIds, seedOf(request), ...lineageParts(lineage)]).slice(0, 20)}`

/** Id of the batch that archives a chunk. */
export const batchIdOf = (lineage: Lineage, chunkId: string): string =>
  `batch-${hashOf([lineage.conversationId, chunkId, ...lineageParts(lineage)]).slice(0, 20)}`

/** Id of the batch that several batches were merged into. */
export const resummarizedBatchIdOf = (
  lineage: Lineage,
  sources: readonly string[],
  request: IdentifiedRequest,
): string =>
  `batch-${hashOf([lineage.conversationId, sources, seedOf(request), ...lineageParts(lineage)]).slice(0, 20)}`

/** The id of an imported message without the suffix of its version (`+2`) or of its return after a withdrawal (`~2`). */
export const nameOfMessage = (messageId: string): string => messageId.replace(/(?:[~+]\d+)*$/u, '')
