/** Names of streams, and ids that derive from what they name. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { hashOf, uuidOf } from './hash.js'

export const CONVERSATION_PREFIX = 'conversation-'
export const EDITION_PREFIX = 'edition-'
export const PROMPT_PREFIX = 'prompt-'
/** How the names of all streams of a ledger begin. Others may use the same log. */
export const LEDGER_PREFIXES = [CONVERSATION_PREFIX, EDITION_PREFIX, PROMPT_PREFIX] as const

/** Longest conversation id, in UTF-8 bytes: a stream name has to fit every store and its indexes. */
const MAX_CONVERSATION_ID_BYTES = 512

export const conversationStream = (conversationId: string): string => `${CONVERSATION_PREFIX}${conversationId}`
export const promptStream = (promptSha256: string): string => `${PROMPT_PREFIX}${promptSha256}`

/** An edition's id has no dash, so that its streams tell which conversation they are of. */
const EDITION_STREAM = /^edition-([^-]+)-(.+)$/su

export const editionStream = (editionId: string, conversationId: string): string =>
  `${EDITION_PREFIX}${editionId}-${conversationId}`

/** The edition that a stream is of, and of which conversation; undefined where it is no edition's. */
export function editionOf(stream: string): { readonly editionId: string; readonly conversationId: string } | undefined {
  const [, editionId, conversationId] = EDITION_STREAM.exec(stream) ?? []
  return editionId === undefined || conversationId === undefined ? undefined : { editionId, conversationId }
}

/** The conversation whose stream this is, or undefined where it is no conversation's. */
export function conversationOf(stream: string): string | undefined {
  return stream.startsWith(CONVERSATION_PREFIX) ? stream.slice(CONVERSATION_PREFIX.length) : undefined
}

export type BadId = { readonly kind: 'BadId'; readonly field: string; readonly detail: string }

/**
 * Checks an id that somebody gave: not empty, no control characters, no lone surrogates (a store would change them),
 * not too long. Everything else is allowed: slashes, spaces, emoji, Chinese.
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

/** A name that is recorded or that tables are asked for, in a schema of what somebody gives: the same rule. */
export const nameSchema = z.string().superRefine((value, context) => {
  const checked = checkId('name', value)
  if (E.isLeft(checked)) context.addIssue(checked.left.detail)
})

/**
 * Event id of the fact that a message was appended. It derives from the message's id alone, so that the store itself
 * notices one that comes back, however late.
 */
export const messageEventId = (stream: string, messageId: string): string =>
  uuidOf(stream, 'MessageAppended', messageId)

/** Event id of any other fact: from its place and its content. */
export const eventIdOf = (stream: string, revision: bigint, type: string, data: string): string =>
  uuidOf(stream, revision.toString(), type, data)

/** Id of a message that came without one: from its conversation and its place in it, counted from 0. */
export const derivedMessageId = (conversationId: string, place: number): string =>
  `m-${hashOf([conversationId, place]).slice(0, 20)}`

/**
 * Where chunks and batches come from: a conversation's first lineage, one that a later event began, or an edition.
 * Within a lineage an id derives from what it names. The same messages under the same request are another chunk in
 * another lineage, so that what was undone is not taken for what was made anew.
 */
export interface Lineage {
  readonly conversationId: string
  readonly editionId?: string | undefined
  readonly since?: bigint | undefined
}

const lineageParts = ({ editionId, since }: Lineage): string[] => [
  ...(editionId === undefined ? [] : [`edition ${editionId}`]),
  ...(since === undefined ? [] : [`since ${since.toString()}`]),
]

/** Id of a chunk: from the messages it covers and the request that was made for it. */
export const chunkIdOf = (lineage: Lineage, messageIds: readonly string[], requestHash: string): string =>
  `chunk-${hashOf([lineage.conversationId, messageIds, requestHash, ...lineageParts(lineage)]).slice(0, 20)}`

/** Id of the batch that archives a chunk. */
export const batchIdOf = (lineage: Lineage, chunkId: string): string =>
  `batch-${hashOf([lineage.conversationId, chunkId, ...lineageParts(lineage)]).slice(0, 20)}`

/** Id of the batch that several became. */
export const resummarizedBatchIdOf = (lineage: Lineage, sources: readonly string[], requestHash: string): string =>
  `batch-${hashOf([lineage.conversationId, sources, requestHash, ...lineageParts(lineage)]).slice(0, 20)}`
