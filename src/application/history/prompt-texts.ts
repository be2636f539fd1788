/** The prompts and personas that the summaries of an explanation were made with. */
import { promptStream } from '../../domain/values/ids.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { summarizersOf } from './batch-tree.js'
import type { BatchOrigin, PromptText } from './explanation.js'

export async function promptsOf(log: Log, batches: readonly BatchOrigin[]): Promise<PromptText[]> {
  const kinds = new Map<string, PromptText['kind']>()
  for (const batch of batches) {
    for (const { prompt, persona } of summarizersOf(batch)) {
      kinds.set(prompt.sha256, 'template')
      if (persona !== undefined) kinds.set(persona.sha256, 'persona')
    }
  }
  const prompts: PromptText[] = []
  for (const [sha256, kind] of kinds) {
    let text: string | undefined
    for await (const stored of log.store.readStream(promptStream(sha256), { limit: 1 })) {
      const event = await decodeEvent(stored, log)
      if (isOfType(event, 'PromptRegistered')) text = event.data.text
    }
    prompts.push({ sha256, kind, text })
  }
  return prompts
}
