/**
 * The tools of the agent itself: to read what left its context, and to compact it. Bound to one conversation when they
 * are made; the arguments that a model writes can name no other.
 */
import { z } from 'zod'
import { MEMORY_READ } from '../application/search/read-memory.js'
import type { SearchHit } from '../application/search/search.js'
import type { Compaction } from '../application/compaction/compact.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { bad } from './options.js'

/**
 * A tool, usable as it is: `tool.definition` goes into the request of the OpenAI chat API, `execute` takes the
 * arguments that came back.
 */
export interface AgentTool {
  /** The name that the model calls it by. */
  readonly name: string
  /** Description for the model. */
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** The arguments as a schema of zod, for the AI SDK and other libraries that accept a Standard Schema. */
  readonly inputSchema: ToolInputSchema
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
  /** Like `execute`, but takes an object, returns data, and throws on errors. */
  call(args: unknown): Promise<unknown>
}

/** A schema as standardschema.dev defines it. */
export interface ToolInputSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>
  }
}

/** The result of a Standard Schema: the value, or what is wrong with it. */
type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] }

/** How much the answers of tools hold. */
export interface AgentToolLimits {
  /** Characters of one hit; the whole message is in the log. Default 2,000. */
  readonly hitCharacters?: number
  /** Characters of all hits of an answer together. Default 16,000, some 4,000 tokens. */
  readonly answerCharacters?: number
}

/** The name of the agent's tool that compacts. */
export const COMPACT_CONTEXT = 'compact_context'

/** The tool of a name, of a list that has it. */
export function toolOf<Named extends Pick<AgentTool, 'name'>>(tools: readonly Named[], name: string): Named {
  const found = tools.find((each) => each.name === name)
  if (found === undefined) throw new Error(`there is no tool ${name}`)
  return found
}

/** What `memory_read` is asked with. */
export const memoryQuerySchema = z.object({
  query: z.string().trim().min(1),
  limit: z.number().int().min(1).max(50).optional(),
})
/** Hits of `memory_read` where no limit is given. */
export const MEMORY_HITS = 10
const noArguments = z.object({})

export interface AgentToolUses {
  readonly memoryRead: (query: string, limit: number) => Promise<readonly SearchHit[]>
  readonly compact: () => Promise<Compaction>
}

const HIT_CHARACTERS = 2_000
/** An answer that fills the window would be compacted away at once. */
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
    inputSchema: schema,
    definition: { type: 'function', function: { name, description, parameters } },
    call,
    async execute(args) {
      try {
        const input: unknown = typeof args === 'string' ? JSON.parse(args === '' ? '{}' : args) : (args ?? {})
        return JSON.stringify(await call(input))
      } catch (error) {
        return JSON.stringify({ error: thrownSentence(error) })
      }
    },
  }

  async function call(args: unknown): Promise<unknown> {
    const parsed = schema.safeParse(args)
    if (parsed.success) return await run(parsed.data)
    const [issue] = parsed.error.issues
    throw bad(issue?.path.join('.') || 'the object of arguments', issueSentence(issue))
  }
}

/** Of a batch of many messages the first and the last ones are enough to go on from. */
const cutIds = (ids: readonly string[]): { readonly messageIds: readonly string[]; readonly messages?: number } =>
  ids.length <= 10 ? { messageIds: ids } : { messageIds: [...ids.slice(0, 5), ...ids.slice(-5)], messages: ids.length }

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)} [... ${String(text.length - most)} more characters]`

/** Hits for the agent, each shortened, as many as fit. */
export interface MemoryAnswer {
  readonly hits: readonly Readonly<Record<string, unknown>>[]
  /** Says how many there was no room for. */
  readonly leftOut?: string
}

/** Hits as an agent gets them. With `conversations` each says which one it is of. */
export function memoryAnswer(
  found: readonly SearchHit[],
  { hitCharacters = HIT_CHARACTERS, answerCharacters = ANSWER_CHARACTERS }: AgentToolLimits = {},
  conversations = false,
): MemoryAnswer {
  const hits: Readonly<Record<string, unknown>>[] = []
  let remainingCharacters = answerCharacters
  for (const { conversationId, batchId, messageIds, startTime, endTime, text } of found) {
    const hit = {
      ...(conversations ? { conversationId } : {}),
      batchId,
      ...cutIds(messageIds),
      startTime,
      endTime,
      text: cut(text, hitCharacters),
    }
    remainingCharacters -= JSON.stringify(hit).length
    if (remainingCharacters < 0) break
    hits.push(hit)
  }
  if (hits.length === found.length) return { hits }
  return {
    hits,
    leftOut: `${String(found.length - hits.length)} more were found, for which there is no room here: ask for something narrower`,
  }
}

/** The tools of one conversation. */
export function createAgentTools(uses: AgentToolUses, limits?: AgentToolLimits): readonly AgentTool[] {
  return [
    tool(
      MEMORY_READ,
      'Searches what was said earlier in this conversation and is no longer in the context: summaries and original messages, best first. Use it before you say that you do not remember.',
      memoryQuerySchema,
      async ({ query, limit }) => memoryAnswer(await uses.memoryRead(query, limit ?? MEMORY_HITS), limits),
    ),
    tool(
      COMPACT_CONTEXT,
      'Compacts this conversation at once where its context is at its limit: old messages become summaries, and stay searchable by memory_read. Does nothing while there is room.',
      noArguments,
      async () => {
        const outcome = await uses.compact()
        return {
          messagesCompressed: outcome.messagesCompressed,
          batchesCreated: outcome.batchesCreated,
          tokensBefore: outcome.tokensBefore,
          tokensAfter: outcome.tokensAfter,
          ...(outcome.failure === undefined
            ? {}
            : { failure: 'failure' in outcome.failure ? outcome.failure.failure : outcome.failure.kind }),
        }
      },
    ),
  ]
}
