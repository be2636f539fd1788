/**
 * Finds secrets in recorded events: those from before redaction, or from a conversation without it. Reads every event of
 * a conversation and of its editions, in constant memory except for what it finds.
 */
import type { RecordedEvent } from '../../domain/events/index.js'
import { conversationStream, editionOf } from '../../domain/values/ids.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { redactorFor } from '../recording/redaction.js'
import type { Redactor, SecretMark } from '../secrets/redact.js'
import { ExposureReader, type SecretExposure } from './secret-exposure.js'
import { either as E } from 'fp-ts'

export type { ExposedContext, ExposedSummary, ExposedToolResult, SecretExposure } from './secret-exposure.js'

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
  /** What had it: contexts that a model answered, requests for summaries, and results of tools. */
  readonly seenBy: SecretExposure
}

/** The secrets of one conversation. */
async function scanConversation(
  log: Log,
  conversationId: string,
  streams: readonly string[],
  policy: PolicySettings | undefined,
): Promise<RecordedSecret[]> {
  const secrets = new Map<string, { readonly kind: string; readonly fingerprint: string; places: SecretPlace[] }>()
  let redactor: Redactor | undefined
  let settings: PolicySettings = {}
  const marksIn = (value: unknown): SecretMark[] => [...(redactor?.json(value).replacements.values() ?? [])].flat()
  const exposure = new ExposureReader(log, conversationId, (value) => new Set(marksIn(value).map(nameOf)))
  for (const stream of streams) {
    for await (const stored of log.store.readStream(stream, {})) {
      const event = await decodeEvent(stored, log)
      if (isOfType(event, 'ConversationConfigured')) settings = event.data.settings
      const { secretPatterns, secretAllow } = { ...settings, ...policy }
      const made = await redactorFor(log, { secretPatterns, secretAllow })
      // An older policy may have a pattern that is refused today. The built-in rules remain.
      redactor = E.getOrElse((): Redactor | undefined => undefined)(E.isRight(made) ? made : await redactorFor(log, {}))
      const { actor, correlationId } = event.metadata
      const marks = marksIn({ data: event.data, actor, correlationId })
      for (const { kind, fingerprint } of marks) {
        const name = nameOf({ kind, fingerprint })
        const secret = secrets.get(name) ?? { kind, fingerprint, places: [] }
        secrets.set(name, secret)
        const last = secret.places.at(-1)
        if (last?.revision !== event.revision || last.editionId !== editionOf(event.stream)?.editionId)
          secret.places.push(placeOf(event))
      }
      if (stream === conversationStream(conversationId)) await exposure.take(event, new Set(marks.map(nameOf)))
    }
  }
  return [...secrets].map(([name, secret]) => ({ conversationId, ...secret, seenBy: exposure.of(name) }))
}

/** Kind and fingerprint in one text. */
const nameOf = ({ kind, fingerprint }: SecretMark): string => `${kind} ${fingerprint}`

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
