/** What a message reports of the answer of which it is a part. */
import { ANSWER } from '../../../src/domain/conversation/observed.js'
import { reportedUsageSchema } from '../../../src/domain/events/source.js'
import { storable } from '../../../src/domain/text/terms.js'
import type { EventData } from '../../../src/domain/events/index.js'
import type { Row } from '../../engine/projection.js'

export const textCell = (value: unknown): string | null => (typeof value === 'string' ? storable(value) : null)

/** The cells of usage that another program reports; none if it reports no tokens and no cost. */
export function reportedCells(value: unknown): Row {
  const parsed = reportedUsageSchema.safeParse(value)
  if (!parsed.success) return {}
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost } = parsed.data
  if (inputTokens === undefined && outputTokens === undefined && cost === undefined) return {}
  return {
    prompt_tokens: inputTokens ?? 0,
    completion_tokens: outputTokens ?? 0,
    cached_tokens: cacheReadTokens ?? 0,
    cache_write_tokens: cacheWriteTokens ?? 0,
    cost: cost ?? null,
  }
}

/** The cells of an answer: which one it is, and the usage that its program reported; undefined if nothing is recorded. */
export function answerCells(attributes: Readonly<Record<string, unknown>>): Row | undefined {
  const answer_id = textCell(attributes[ANSWER])
  const model = textCell(attributes['model'])
  const reported = reportedCells(attributes['usage'])
  if (answer_id === null && model === null && Object.keys(reported).length === 0) return undefined
  return { is_answer: attributes['byProgram'] !== true, answer_id, model, ...reported }
}

/** Whether a message is an answer of which only the message is recorded: no id, model or usage. */
export const isPlainAnswer = ({
  role,
  attributes,
}: Pick<EventData<'MessageAppended'>, 'role' | 'attributes'>): boolean =>
  role === 'assistant' &&
  (attributes === undefined || (attributes['byProgram'] !== true && answerCells(attributes) === undefined))
