/**
 * Ids for records and runs to which a program gives none, made from their content. A plain hash would confirm a guess of
 * an erased text, so in an erasable ledger they are keyed.
 */
import { sha256 } from '../../domain/values/hash.js'

/** Makes an id of 16 characters. Equal texts have equal ids. */
export type ContentId = (text: string) => string

/** Characters of a `ContentId`. */
export const CONTENT_ID_LENGTH = 16

/** A plain hash, for a ledger in which nothing is erased. */
export const plainContentId: ContentId = (text) => sha256(text).slice(0, CONTENT_ID_LENGTH)

/** @param fingerprint a keyed hash that outlives the keys of texts */
export const keyedContentId =
  (fingerprint: (...parts: readonly string[]) => string): ContentId =>
  (text) =>
    fingerprint('content id', text).slice(0, CONTENT_ID_LENGTH)
