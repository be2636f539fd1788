/**
 * The texts of templates and personas, recorded once under their hash, so that a summary's origin can be shown for
 * ever.
 */
import { either as E } from 'fp-ts'
import { encode, encodeData, GENESIS_HASH, type Provenance } from '../domain/events/codec.js'
import type { Event } from '../domain/events/index.js'
import { eventIdOf, promptStream } from '../domain/values/ids.js'
import { recordable } from '../domain/events/recordable.js'
import type { Clock } from '../ports/clock.js'
import type { PreparedSummary } from '../ports/summarizer.js'
import type { Log } from './load-conversation.js'

export type RegisterPrompt = (prepared: PreparedSummary) => Promise<void>

/** Builds the use case; what this process registered once is not asked for again. */
export function createRegisterPrompt(log: Log, clock: Clock, actor: string): RegisterPrompt {
  const known = new Set<string>()

  async function register(name: string, kind: 'template' | 'persona', sha256: string, text: string): Promise<void> {
    if (known.has(sha256)) return
    const stream = promptStream(sha256)
    const event: Event = { type: 'PromptRegistered', data: { name, kind, sha256, text } }
    const data = encodeData(event)
    const correlationId = clock.newId()
    const provenance: Provenance = { actor, correlationId, causationId: correlationId }
    const recordedAt = clock.now().toISOString()
    const read = recordable(event, data, { ...provenance, recordedAt })
    if (E.isLeft(read)) throw new Error(`the prompt ${name} cannot be recorded: ${read.left.field} ${read.left.detail}`)
    const place = {
      stream,
      revision: 0n,
      id: eventIdOf(stream, 0n, event.type, data),
      previousHash: GENESIS_HASH,
      recordedAt,
    }
    const { toStore: stored, body } = encode(event, data, place, provenance)
    if (body !== undefined) await log.bodies.put(body.sha256, body.text)
    const appended = await log.store.append(stream, 'no_stream', [stored])()
    // A conflict says that the text is there already, perhaps under another name.
    if (E.isLeft(appended) && appended.left.kind !== 'RevisionConflict')
      throw new Error(`the prompt ${name} could not be recorded: ${appended.left.kind}`)
    known.add(sha256)
  }

  return async ({ prompt, persona }) => {
    await register(prompt.name, 'template', prompt.sha256, prompt.text)
    if (persona !== undefined) await register('persona', 'persona', persona.sha256, persona.text)
  }
}
