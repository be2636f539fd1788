/** The data of an event without texts of a conversation: ids, roles, counts, hashes and times. */
import { definitionOf, type RecordedEvent } from '../../../domain/events/index.js'

/** How a summary was made, without rejected answers and full texts. */
const SUMMARIZER = [
  'strategy',
  'provider',
  'model',
  'requestHash',
  'responseId',
  'usage',
  'durationMs',
  'fallback',
  'reused',
]

const pick = (data: object, names: readonly PropertyKey[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([name, value]) => value !== undefined && names.includes(name)))

/** The data of an event without content. */
export function withoutContent({ type, data }: RecordedEvent): Record<string, unknown> {
  const picked = pick(data, definitionOf(type).withoutContent)
  return 'summarizer' in data && !('summarizer' in picked)
    ? { ...picked, summarizer: pick(data.summarizer, SUMMARIZER) }
    : picked
}
