/**
 * Compares a log with an earlier manifest of it: every stream must exist, be at least as long, and have the same event
 * at the recorded revision.
 */
import { either as E } from 'fp-ts'
import { decodeMetadata, eventHash } from '../../domain/events/codec.js'
import { conversationOf, conversationStream, editionOf, LEDGER_PREFIXES } from '../../domain/values/ids.js'
import type { LogOrigin, Manifest, StreamHead } from '../../ports/manifest.js'
import type { Problem } from './stream-report.js'
import type { Log } from '../recording/load-conversation.js'

/** The first event of a log; undefined if it is empty. */
export async function originOf(log: Log): Promise<LogOrigin | undefined> {
  for await (const { stream, id } of log.store.readAll({ prefix: LEDGER_PREFIXES, limit: 1 })) return { stream, id }
  return undefined
}

async function headProblem(log: Log, { stream, revision, hash }: StreamHead): Promise<string | undefined> {
  const [event] = await log.store.readRevisions(stream, [revision])
  if (event === undefined) {
    // Reads the events themselves, since the stored end of a stream may be wrong too.
    for await (const last of log.store.readStream(stream, { direction: 'backwards', limit: 1 })) {
      return last.revision >= revision
        ? 'the event at this revision is missing'
        : `the events from revision ${(last.revision + 1).toString()} to ${revision.toString()} are missing: the stream was cut`
    }
    return 'the stream is missing'
  }
  const metadata = decodeMetadata(event)
  if (E.isLeft(metadata)) return metadata.left.detail
  if (metadata.right.hash !== hash)
    return 'its hash differs from the manifest: an event at or before it was changed, and the hash chain recomputed'
  return eventHash(event, metadata.right) === hash ? undefined : 'it is not what its hash says'
}

/** Whether a stream contains events of a conversation: its own, or those of an edition. */
const isOf = (stream: string, conversationId: string): boolean =>
  stream === conversationStream(conversationId) || editionOf(stream)?.conversationId === conversationId

/** Whether a manifest names a conversation. */
export async function isNamed({ heads }: Pick<Manifest, 'heads'>, conversationId: string): Promise<boolean> {
  for await (const { stream } of heads()) if (stream === conversationStream(conversationId)) return true
  return false
}

/** How much of a manifest was compared. */
export interface ManifestCoverage {
  readonly streams: number
  readonly events: number
}

/**
 * Compares a log with a manifest and returns how much was compared.
 * @param conversationId the conversation whose streams are compared, including its editions; undefined: every stream of
 * the manifest
 * @param report called with each problem
 */
export async function againstManifest(
  log: Log,
  { header, heads }: Pick<Manifest, 'header' | 'heads'>,
  conversationId: string | undefined,
  report: (problem: Problem) => void,
): Promise<ManifestCoverage> {
  const found = (stream: string, revision: number, detail: string): void => {
    report({
      stream,
      conversationId: conversationOf(stream),
      revision,
      rule: 'manifest',
      detail: `${detail} (manifest of ${header.takenAt})`,
    })
  }
  const origin = await originOf(log)
  // In another log every stream would be missing, so this is reported once.
  if (origin?.stream !== header.origin.stream || origin.id !== header.origin.id) {
    found(
      header.origin.stream,
      0,
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
    events += head.revision + 1
    const problem = await headProblem(log, head)
    if (problem !== undefined) found(head.stream, head.revision, problem)
  }
  // A missing conversation must not look like a successful check.
  if (!named && conversationId !== undefined)
    found(
      conversationStream(conversationId),
      -1,
      'the manifest does not name this conversation, so its events were not compared',
    )
  return { streams, events }
}
