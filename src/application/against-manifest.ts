/** A log held against a manifest that was taken of it before: every stream is there, at least as long, and at that revision the very event that it had. */
import { either as E } from 'fp-ts'
import { decodeMetadata, eventHash } from '../domain/codec.js'
import { conversationOf } from '../domain/ids.js'
import type { LogOrigin, Manifest, StreamHead } from '../ports/manifest.js'
import type { Problem } from './check-stream.js'
import type { Log } from './load-conversation.js'

/** The first event of a log; undefined where it is empty. */
export async function originOf(log: Log): Promise<LogOrigin | undefined> {
  for await (const { stream, id } of log.store.readAll({ limit: 1 })) return { stream, id }
  return undefined
}

async function headProblem(log: Log, { stream, revision, hash }: StreamHead): Promise<string | undefined> {
  const [event] = await log.store.readRevisions(stream, [revision])
  if (event === undefined) {
    const last = await log.store.streamRevision(stream)
    return last < 0n ? 'the stream is gone' : `the facts from revision ${(last + 1n).toString()} to ${revision.toString()} are gone: the stream was cut`
  }
  const metadata = decodeMetadata(event)
  if (E.isLeft(metadata)) return metadata.left.detail
  if (metadata.right.hash !== hash) return 'its hash is not the one that it had then: something at or before it was changed, and the chain computed anew'
  return eventHash(event, metadata.right) === hash ? undefined : 'it is not what its hash says'
}

/**
 * What is wrong with a log by a manifest.
 * @param only the stream to look at; default: every one that the manifest names
 */
export async function* againstManifest(log: Log, { header, heads }: Pick<Manifest, 'header' | 'heads'>, only?: string): AsyncIterable<Problem> {
  const found = (stream: string, revision: bigint, detail: string): Problem => ({ stream, conversationId: conversationOf(stream), revision, rule: 'manifest', detail: `${detail} (manifest of ${header.takenAt})` })
  const origin = await originOf(log)
  // Of another log every stream would be missing: said once.
  if (origin?.stream !== header.origin.stream || origin.id !== header.origin.id) {
    yield found(header.origin.stream, 0n, `the log does not begin with the event ${header.origin.id}: it is another log, or its beginning was changed`)
    return
  }
  for await (const head of heads()) {
    if (only !== undefined && head.stream !== only) continue
    const problem = await headProblem(log, head)
    if (problem !== undefined) yield found(head.stream, head.revision, problem)
  }
}
