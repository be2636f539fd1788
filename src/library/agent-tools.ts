/**
 * The tools of the agent itself: to read what left its context, and to compact it. Bound to one conversation when they
 * are made; the arguments that a model writes can name no other.
 */
import { z } from 'zod'
import { MEMORY_READ } from '../search/read-memory.js'
import type { SearchHit } from '../search/search.js'
import type { Compaction } from '../compaction/compact.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { thrownSentence } from '../domain/values/thrown.js'

/**
 * A tool, usable as it is: `tool.definition` goes into the request of the OpenAI chat API, `execute` takes the
 * arguments that came back.
 */
export interface AgentTool {
  /** The name that the model calls it by. */
  readonly name: string
  /** What the model is told of it. */
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** What `tools: [...]` of the OpenAI chat API takes. */
  readonly definition: {
    readonly type: 'function'
    readonly function: {
      readonly name: string
      readonly description: string
      readonly parameters: Readonly<Record<string, unknown>>
    }
  }
  /**
   * Takes the arguments as the JSON text of a tool call, or as an object; answers with the content of the tool message.
   * Never throws.
   */
  execute(args?: unknown): Promise<string>
}

const querySchema = z.object({ query: z.string().trim().min(1), limit: z.number().int().min(1).max(50).optional() })
const noArguments = z.object({})

export interface AgentToolUses {
  readonly memoryRead: (query: string, limit: number) => Promise<readonly SearchHit[]>
  readonly compact: () => Promise<Compaction>
}

/** Characters of a hit that the agent gets; the whole message is in the log. */
const HIT_CHARACTERS = 2_000
/**
 * Characters of all hits of an answer together, some 4,000 tokens: an answer that fills the window would be compacted
 * away at once.
 */
const ANSWER_CHARACTERS = 16_000

function tool<Schema extends z.ZodObject>(
  name: string,
  description: string,
  schema: Schema,
  run: (args: z.infer<Schema>) => Promise<unknown>,
): AgentTool {
  const parameters = z.toJSONSchema(schema, { target: 'draft-7' }) as Record<string, unknown>
  delete parameters['$schema']
  return {
    name,
    description,
    parameters,
    definition: { type: 'function', function: { name, description, parameters } },
    async execute(args) {
      try {
        const given: unknown = typeof args === 'string' ? JSON.parse(args === '' ? '{}' : args) : (args ?? {})
        const parsed = schema.safeParse(given)
        if (!parsed.success)
          return JSON.stringify({
            error: `${parsed.error.issues[0]?.path.join('.') || 'the object of arguments'} ${issueSentence(parsed.error.issues[0])}`,
          })
        return JSON.stringify(await run(parsed.data))
      } catch (error) {
        return JSON.stringify({ error: thrownSentence(error) })
      }
    },
  }
}

/** Of a batch of many messages the first and the last ones are enough to go on from. */
const cutIds = (ids: readonly string[]): { readonly messageIds: readonly string[]; readonly messages?: number } =>
  ids.length <= 10 ? { messageIds: ids } : { messageIds: [...ids.slice(0, 5), ...ids.slice(-5)], messages: ids.length }

const cut = (text: string): string =>
  text.length <= HIT_CHARACTERS
    ? text
    : `${text.slice(0, HIT_CHARACTERS)} [... ${String(text.length - HIT_CHARACTERS)} more characters]`

/** The tools of one conversation. */
export function createAgentTools(uses: AgentToolUses): readonly AgentTool[] {
  return [
    tool(
      MEMORY_READ,
      'Searches what was said earlier in this conversation and is no longer in the context: summaries and original messages, best first. Use it before you say that you do not remember.',
      querySchema,
      async ({ query, limit }) => {
        const found = await uses.memoryRead(query, limit ?? 10)
        const hits: unknown[] = []
        let room = ANSWER_CHARACTERS
        for (const { batchId, messageIds, startTime, endTime, text } of found) {
          const hit = { batchId, ...cutIds(messageIds), startTime, endTime, text: cut(text) }
          room -= JSON.stringify(hit).length
          if (room < 0) break
          hits.push(hit)
        }
        return {
          hits,
          ...(hits.length === found.length
            ? {}
            : {
                leftOut: `${String(found.length - hits.length)} more were found, for which there is no room here: ask for something narrower`,
              }),
        }
      },
    ),
    tool(
      'compact_context',
      'Compacts this conversation at once where its context is at its limit: old messages become summaries, and stay searchable by memory_read. Does nothing while there is room.',
      noArguments,
      async () => {
        const done = await uses.compact()
        return {
          messagesCompressed: done.messagesCompressed,
          batchesCreated: done.batchesCreated,
          tokensBefore: done.tokensBefore,
          tokensAfter: done.tokensAfter,
          ...(done.failure === undefined
            ? {}
            : { failure: 'failure' in done.failure ? done.failure.failure : done.failure.kind }),
        }
      },
    ),
  ]
}
