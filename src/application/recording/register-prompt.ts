/** Records the texts of templates and personas once, by hash, so that the origin of a summary can always be shown. */
import { either as E } from 'fp-ts'
import { encode, encodeData, GENESIS_HASH, type Provenance } from '../../domain/events/codec.js'
import type { Event, EventData } from '../../domain/events/index.js'
import { eventIdOf, promptStream } from '../../domain/values/ids.js'
import { recordable } from '../../domain/events/recordable.js'
import type { Clock } from '../../ports/clock.js'
import type { PreparedSummary } from '../../ports/summarizer.js'
import type { Log } from './load-conversation.js'
import { redactorFor, type RedactionSettings } from './redaction.js'

/**
 * Records the texts of a request if they are new, with the provenance of the request. Throws if the settings of the
 * conversation find a secret in one of them.
 */
export type RegisterPrompt = (
  prepared: Pick<PreparedSummary, 'prompt' | 'persona'>,
  provenance: Provenance,
  settings: RedactionSettings | undefined,
) => Promise<void>

/** Creates the use case. A text that this process registered once is not recorded again. */
export function createRegisterPrompt(log: Log, clock: Clock): RegisterPrompt {
  const known = new Set<string>()

  async function register(
    { name, kind, sha256, text }: EventData<'PromptRegistered'>,
    provenance: Provenance,
    settings: RedactionSettings | undefined,
  ): Promise<void> {
    // A redacted text would have another hash than the summaries that were made with it. Each conversation has its own
    // patterns, so a text that is registered is checked again.
    const redactor = await redactorFor(log, settings)
    const [found] = E.isRight(redactor) ? (redactor.right?.find(text) ?? []) : []
    if (found !== undefined)
      throw new Error(`the ${kind} ${name} contains a secret (${found.kind}): remove it; nothing was recorded`)
    if (known.has(sha256)) return
    const stream = promptStream(sha256)
    const event: Event = { type: 'PromptRegistered', data: { name, kind, sha256, text } }
    const data = encodeData(event)
    const recordedAt = clock.now().toISOString()
    const read = recordable(event, data, { ...provenance, recordedAt })
    if (E.isLeft(read)) throw new Error(`the prompt ${name} cannot be recorded: ${read.left.field} ${read.left.detail}`)
    const position = {
      stream,
      revision: 0,
      id: eventIdOf(stream, 0, event.type, data),
      previousHash: GENESIS_HASH,
      recordedAt,
    }
    const { toStore: stored, body } = encode(event, data, position, provenance)
    if (body !== undefined) await log.bodies.put(body.sha256, body.text)
    const appended = await log.store.append(stream, 'no_stream', [stored])()
    // A conflict means that the text is recorded already, perhaps under another name.
    if (E.isLeft(appended) && appended.left.kind !== 'RevisionConflict')
      throw new Error(`the prompt ${name} could not be recorded: ${appended.left.kind}`)
    known.add(sha256)
  }

  return async ({ prompt: { name, sha256, text }, persona }, provenance, settings) => {
    await register({ name, kind: 'template', sha256, text }, provenance, settings)
    if (persona !== undefined) await register({ name: 'persona', kind: 'persona', ...persona }, provenance, settings)
  }
}
