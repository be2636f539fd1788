/**
 * A log held against a manifest that was taken of it before: every stream is there, at least as long, and at that
 * revision the very event that it had.
 */
import { either as E } from 'fp-ts'
import { decodeMetadata, eventHash } from '../domain/events/codec.js'
import { conversationOf, conversationStream, editionOf, LEDGER_PREFIXES } from '../domain/values/ids.js'
import type { LogOrigin, Manifest, StreamHead } from '../ports/manifest.js'
import type { Problem } from './check-stream.js'
import type { Log } from '../recording/load-conversation.js'

/** The first event of a log; undefined where it is empty. */
export async function originOf(log: Log): Promise<LogOrigin | undefined> {
  for await (const { stream, id } of log.store.readAll({ prefix: LEDGER_PREFIXES, limit: 1 })) return { stream, id }
  return undefined
}

async function headProblem(log: Log, { stream, revision, hash }: StreamHead): Promise<string | undefined> {
  const [event] = await log.store.readRevisions(stream, [revision])
  if (event === undefined) {
    // By the events alone: what the store says of a stream's end may be as untrue as the rest.
    for await (const last of log.store.readStream(stream, { direction: 'backwards', limit: 1 })) {
      return last.revision >= revision
        ? 'the fact that stood here is gone'
        : `the facts from revision ${(last.revision + 1n).toString()} to ${revision.toString()} are gone: the stream was cut`
    }
    return 'the stream is gone'
  }
  const metadata = decodeMetadata(event)
  if (E.isLeft(metadata)) return metadata.left.detail
  if (metadata.right.hash !== hash)
    return 'its hash is not the one that it had then: something at or before it was changed, and the chain computed anew'
  return eventHash(event, metadata.right) === hash ? undefined : 'it is not what its hash says'
}

/** Whether a stream holds facts of a conversation: its own, or one of its editions'. */
const isOf = (stream: string, conversationId: string): boolean =>
  stream === conversationStream(conversationId) || editionOf(stream)?.conversationId === conversationId

/** Whether a manifest names a conversation. */
export async function isNamed({ heads }: Pick<Manifest, 'heads'>, conversationId: string): Promise<boolean> {
  for await (const { stream } of heads()) if (stream === conversationStream(conversationId)) return true
  return false
}

/** What of a manifest a log was held against. */
export interface HeldAgainst {
  readonly streams: number
  readonly events: number
}

/**
 * Holds a log against a manifest; says how much of it that was.
 * @param conversationId the one whose streams are looked at, its editions' too; undefined: every stream that the
 * manifest names
 * @param tell hears what is wrong
 */
export async function againstManifest(
  log: Log,
  { header, heads }: Pick<Manifest, 'header' | 'heads'>,
  conversationId: string | undefined,
  tell: (problem: Problem) => void,
): Promise<HeldAgainst> {
  const found = (stream: string, revision: bigint, detail: string): void => {
    tell({
      stream,
      conversationId: conversationOf(stream),
      revision,
      rule: 'manifest',
      detail: `${detail} (manifest of ${header.takenAt})`,
    })
  }
  const origin = await originOf(log)
  // Of another log every stream would be missing: said once.
  if (origin?.stream !== header.origin.stream || origin.id !== header.origin.id) {
    found(
      header.origin.stream,
      0n,
      `the log does not begin with the event ${header.origin.id}: it is another log, or its beginning was changed`,
    )
    return { streams: 0, events: 0 }
  }
  let streams = 0
  let events = 0
  let named = conversationId === undefined
  for await (const head of heads()) {
    if (conversationId !== undefined && !isOf(head.stream, conversationId)) continue
    named ||= conversationOf(head.stream) !== undefined
    streams += 1
    events += Number(head.revision) + 1
    const problem = await headProblem(log, head)
    if (problem !== undefined) found(head.stream, head.revision, problem)
  }
  // Who asks for this conversation must not take silence for a proof of it.
  if (!named && conversationId !== undefined)
    found(
      conversationStream(conversationId),
      -1n,
      'the manifest does not name this conversation, so its facts were held against nothing',
    )
  return { streams, events }
}
