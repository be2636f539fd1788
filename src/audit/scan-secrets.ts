/**
 * Finds secrets in recorded events: those from before redaction, or from a conversation without it. Reads every event of
 * a conversation and of its editions, in constant memory except for what it finds.
 */
import type { RecordedEvent } from '../domain/events/index.js'
import { conversationStream, editionOf } from '../domain/values/ids.js'
import type { PolicySettings } from '../domain/values/policy.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { redactorFor } from '../recording/redaction.js'
import { either as E } from 'fp-ts'

/** An event that contains a secret. */
export interface SecretPlace {
  /** Revision of the event. */
  readonly revision: number
  /** Type of the event. */
  readonly type: RecordedEvent['type']
  /** The message, if the event is one. */
  readonly messageId?: string
  /** The edition, if the event belongs to one. */
  readonly editionId?: string
  /** Time of the event, ISO 8601 in UTC. */
  readonly recordedAt: string
}

/** A secret in the recorded events of a conversation. Its text is not repeated. */
export interface RecordedSecret {
  /** The conversation that has it. */
  readonly conversationId: string
  /** The kind of secret, for example `aws-access-key`. */
  readonly kind: string
  /** Keyed: equal for the same secret of a ledger. */
  readonly fingerprint: string
  /** The events that contain it, oldest first. */
  readonly places: readonly SecretPlace[]
  /** Answers and summaries that had it. Searches and exports are not recorded. */
  readonly seenBy: {
    /** Answers of a model while the message was in the context, by the revision of the answer. */
    readonly answers: readonly number[]
    /** Summaries of messages with the secret, by the revision of the summary. */
    readonly summaries: readonly number[]
  }
}

/** The messages of a conversation that have secrets, and how long they were in the context. */
class Exposure {
  /** Message id → the revisions from which on and before which it was in the context. */
  private readonly spans = new Map<string, { readonly from: number; until: number | undefined }>()
  private readonly answers: number[] = []
  private readonly summaries: { readonly revision: number; readonly messageIds: ReadonlySet<string> }[] = []

  appended(messageId: string, revision: number): void {
    this.spans.set(messageId, { from: revision, until: undefined })
  }

  see(event: RecordedEvent): void {
    if (isOfType(event, 'MessageAppended')) {
      if (event.data.role === 'assistant') this.answers.push(event.revision)
    } else if (isOfType(event, 'ChunkSummarized'))
      this.summaries.push({ revision: event.revision, messageIds: new Set(event.data.messageIds) })
    else if (isOfType(event, 'MessagesPruned'))
      this.leave(
        event.data.pruned.flatMap(({ messageIds }) => messageIds),
        event.revision,
      )
    else if (isOfType(event, 'MessagesWithdrawn'))
      this.leave(
        event.data.messages.map(({ messageId }) => messageId),
        event.revision,
      )
  }

  private leave(messageIds: readonly string[], revision: number): void {
    for (const id of messageIds) {
      const span = this.spans.get(id)
      if (span !== undefined) span.until ??= revision
    }
  }

  seenBy(messageIds: readonly string[]): RecordedSecret['seenBy'] {
    const spans = messageIds.flatMap((id) => this.spans.get(id) ?? [])
    return {
      answers: this.answers.filter((answer) =>
        spans.some(({ from, until }) => answer > from && (until === undefined || answer < until)),
      ),
      summaries: this.summaries.flatMap(({ revision, messageIds: covered }) =>
        messageIds.some((id) => covered.has(id)) ? [revision] : [],
      ),
    }
  }
}

/** The secrets of one conversation. */
async function scanConversation(
  log: Log,
  conversationId: string,
  streams: readonly string[],
  policy: PolicySettings | undefined,
): Promise<RecordedSecret[]> {
  const found = new Map<string, { readonly kind: string; readonly fingerprint: string; places: SecretPlace[] }>()
  const exposure = new Exposure()
  let settings: PolicySettings = {}
  for (const stream of streams) {
    for await (const stored of log.store.readStream(stream, {})) {
      const event = await decodeEvent(stored, log.bodies)
      if (isOfType(event, 'ConversationConfigured')) settings = event.data.settings
      const { secretPatterns, secretAllow } = { ...settings, ...policy }
      const redactor = await redactorFor(log, { secretPatterns, secretAllow })
      if (stream === conversationStream(conversationId)) exposure.see(event)
      if (E.isLeft(redactor) || redactor.right === undefined) continue
      for (const marks of redactor.right.json(event.data).replacements.values())
        for (const { kind, fingerprint } of marks) {
          const name = `${kind} ${fingerprint}`
          const secret = found.get(name) ?? { kind, fingerprint, places: [] }
          found.set(name, secret)
          if (secret.places.at(-1)?.revision !== event.revision) secret.places.push(placeOf(event))
          if (isOfType(event, 'MessageAppended')) exposure.appended(event.data.messageId, event.revision)
        }
    }
  }
  return [...found.values()].map((secret) => ({
    conversationId,
    ...secret,
    seenBy: exposure.seenBy(secret.places.flatMap(({ messageId }) => messageId ?? [])),
  }))
}

function placeOf(event: RecordedEvent): SecretPlace {
  const editionId = editionOf(event.stream)?.editionId
  return {
    revision: event.revision,
    type: event.type,
    ...(isOfType(event, 'MessageAppended') ? { messageId: event.data.messageId } : {}),
    ...(editionId === undefined ? {} : { editionId }),
    recordedAt: event.metadata.recordedAt,
  }
}

/** The secrets in the recorded events of conversations, one conversation after the other. */
export async function* scanSecrets(
  log: Log,
  conversationIds: Iterable<string> | AsyncIterable<string>,
  policy: PolicySettings | undefined,
): AsyncIterable<{ readonly conversationId: string; readonly secrets: readonly RecordedSecret[] }> {
  const editions = await editionStreams(log)
  for await (const conversationId of conversationIds)
    yield {
      conversationId,
      secrets: await scanConversation(log, conversationId, streamsOf(conversationId, editions), policy),
    }
}
