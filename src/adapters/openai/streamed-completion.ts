/** Joins the events of a server that streams its answer although the request did not ask for it. */
import { z } from 'zod'
import { createSentEventReader } from '../../domain/text/sent-events.js'

/** The finish reason of a stream that ended before its answer did. */
export const INTERRUPTED = 'interrupted'

const partSchema = z
  .looseObject({
    content: z.string().nullish(),
    refusal: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(z.unknown()).nullish(),
  })
  .optional()
const chunkSchema = z.looseObject({
  id: z.string().nullish(),
  choices: z
    .array(
      z.looseObject({
        index: z.number().optional(),
        finish_reason: z.string().nullish(),
        delta: partSchema,
        message: partSchema,
      }),
    )
    .optional(),
  usage: z.unknown().optional(),
  error: z.unknown().optional(),
})
type Chunk = z.infer<typeof chunkSchema>

/** The chunks of a stream, and whether its end was announced; undefined if an event is no chunk of a completion. */
function chunksOf(text: string): { readonly chunks: readonly Chunk[]; readonly isEnded: boolean } | undefined {
  const events = createSentEventReader().take(new TextEncoder().encode(`${text}\n\n`))
  const data = events.map((event) => event.data).filter((each) => each !== '')
  const chunks: Chunk[] = []
  for (const [at, each] of data.entries()) {
    if (each.trim() === '[DONE]') return { chunks, isEnded: true }
    let parsed
    try {
      parsed = chunkSchema.safeParse(JSON.parse(each)).data
    } catch {
      // The last event may be cut in the middle.
      return at === data.length - 1 ? { chunks, isEnded: false } : undefined
    }
    if (parsed === undefined) return undefined
    chunks.push(parsed)
  }
  return { chunks, isEnded: false }
}

/**
 * The body that the answer would have without streaming, with its first choice. Undefined if the events are not a chat
 * completion. A stream that ended early has the finish reason `INTERRUPTED`.
 */
export function completionOfEvents(text: string): unknown {
  const stream = chunksOf(text)
  if (stream === undefined) return undefined
  const failed = stream.chunks.find(({ error }) => error !== undefined && error !== null)
  if (failed !== undefined) return { error: failed.error }
  const choices = stream.chunks.flatMap((chunk) => (chunk.choices ?? []).filter(({ index = 0 }) => index === 0))
  if (choices.length === 0) return undefined
  const parts = choices.flatMap(({ delta, message }) => [delta ?? message ?? {}])
  const joined = (key: 'content' | 'refusal' | 'reasoning_content'): string =>
    parts.map((part) => part[key] ?? '').join('')
  const finishReason = choices.findLast((choice) => typeof choice.finish_reason === 'string')?.finish_reason
  return {
    id: stream.chunks.find(({ id }) => typeof id === 'string')?.id,
    choices: [
      {
        finish_reason: finishReason ?? (stream.isEnded ? 'stop' : INTERRUPTED),
        message: {
          content: joined('content'),
          refusal: joined('refusal'),
          reasoning_content: joined('reasoning_content'),
          tool_calls: parts.flatMap((part) => part.tool_calls ?? []),
        },
      },
    ],
    usage: stream.chunks.findLast(({ usage }) => usage !== undefined && usage !== null)?.usage,
  }
}
