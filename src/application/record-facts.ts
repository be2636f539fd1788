/** Decided facts on their way into a stream: encoded for their places, and appended until the outcome is known. */
import { either as E } from 'fp-ts'
import { encode, encodeData, type Provenance } from '../domain/codec.js'
import type { Conversation } from '../domain/conversation.js'
import { factSchemas, type Fact, type RecordedFact } from '../domain/events.js'
import { conversationStream, editionStream, factEventId, messageEventId } from '../domain/ids.js'
import { sleep } from '../ports/clock.js'
import type { AppendFailure, Appended, EventToAppend } from '../ports/event-store.js'
import type { Log } from './load-conversation.js'

/** Facts that are ready to be appended together, and the bodies that have to be put beside the log before them. */
export interface EncodedFacts {
  readonly events: EventToAppend[]
  readonly bodies: { readonly sha256: string; readonly text: string }[]
  readonly facts: RecordedFact[]
}

/** The stream that a state is recorded in. */
export const streamOf = ({ conversationId, editionId }: Pick<Conversation, 'conversationId' | 'editionId'>): string =>
  editionId === undefined ? conversationStream(conversationId) : editionStream(editionId, conversationId)

/** Encodes facts for the places behind `state`. */
export function encodeFacts(state: Conversation, facts: readonly Fact[], now: string, provenance: Provenance): EncodedFacts {
  const stream = streamOf(state)
  const recordedAt = state.recordedAt !== undefined && state.recordedAt > now ? state.recordedAt : now
  const encoded: EncodedFacts = { events: [], bodies: [], facts: [] }
  let previousHash = state.hash
  for (const [at, fact] of facts.entries()) {
    const revision = state.revision + 1n + BigInt(at)
    const data = encodeData(fact)
    // Messages were parsed at the door; what a summarizer of somebody's own says of itself was not, and one fact that nobody can read stops every reader.
    if (fact.type !== 'MessageAppended') {
      const readable = factSchemas[fact.type].schema.safeParse(JSON.parse(data))
      if (!readable.success) throw new Error(`a ${fact.type} that could not be read again is not recorded: ${readable.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')}`)
    }
    const id = fact.type === 'MessageAppended' ? messageEventId(stream, fact.data.messageId) : factEventId(stream, revision, fact.type, data)
    const { event, metadata, hash, body } = encode(fact, data, { stream, revision, id, previousHash, recordedAt }, provenance)
    encoded.events.push(event)
    if (body !== undefined) encoded.bodies.push(body)
    encoded.facts.push({ ...fact, stream, revision, position: -1n, id, metadata })
    previousHash = hash
  }
  return encoded
}

/** After an unknown outcome the same events are appended again. */
const UNKNOWN_OUTCOME_DELAYS_MS = [20, 100, 500]

/** Appends at an expected revision. `ours`: recorded by this call, by an attempt whose outcome was not known at first included. */
export async function appendUntilKnown(log: Log, stream: string, expected: bigint, encoded: EncodedFacts): Promise<E.Either<AppendFailure, Appended & { readonly ours: boolean }>> {
  for (const body of encoded.bodies) await log.bodies.put(body.sha256, body.text)
  const append = log.store.append(stream, expected < 0n ? 'no_stream' : expected, encoded.events)
  let result = await append()
  let tries = 1
  for (const delay of UNKNOWN_OUTCOME_DELAYS_MS) {
    if (E.isRight(result) || result.left.kind !== 'StoreUnavailable') break
    await sleep(delay)
    result = await append()
    tries += 1
  }
  // Where they are repeated from long ago, they stand at an older revision than the one that was asked for.
  const last = expected + BigInt(encoded.events.length)
  const retried = tries > 1
  return E.map((appended: Appended) => ({ ...appended, ours: !appended.repeated || (retried && appended.revision === last) }))(result)
}
