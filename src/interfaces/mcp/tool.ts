/** A tool of the server: its texts, its schemas and its function. The server binds it and renders the result. */
import type { CallToolResult, McpServer, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { PartOf } from '../../library/call-paths.js'
import type { ActorOptions, AgentTool, Chat, Ledger } from '../../library/ledger.js'
import type { Call as LedgerCall, OptionShape } from '../../schema/call.js'
import { isLedgerError } from '../../lib/ledger-error.js'
import { titlesOf } from '../../library/titles.js'
import { faultOf } from '../../library/problem.js'
import type { Binding, BoundLedger } from './binding.js'
import type { Operations } from './operations.js'
import { asText, type McpLimits } from './quotation.js'

/** A ledger with the calls of these names, and with what every tool may use. */
export type ToolLedger<Names extends string> = PartOf<Names> &
  BoundLedger & {
    readonly conversation: (...args: Parameters<Ledger['conversation']>) => Pick<Chat, 'pin'> & {
      /** The memory tools. */
      readonly tools: { readonly list: readonly Pick<AgentTool, 'name' | 'call'>[] }
    }
  }

/** What every tool and resource of a server uses. `Names` are the names of the calls that they make. */
export interface Host<Names extends string> {
  readonly ledger: ToolLedger<Names>
  readonly binding: Binding
  /** The actor, for calls that record something. */
  readonly actorOptions: ActorOptions
  readonly limits: Required<McpLimits>
  /** Rules with which every recall note begins. */
  readonly rules: readonly string[]
  readonly operations: Operations
  /** Called with internal errors, which the client also receives. */
  readonly onProblem: (problem: unknown) => void
}

/** One call of a tool. */
export interface Call<Names extends string> extends Omit<Host<Names>, 'onProblem'> {
  /** A conversation within the binding. */
  readonly conversationId: string
  /** Aborted if the client cancels the call or disconnects. */
  readonly signal: AbortSignal
}

/** One call of a tool with an optional conversation. */
export type CallOfAny<Names extends string> = Omit<Call<Names>, 'conversationId'> & {
  readonly conversationId: string | undefined
}

interface ToolDefinition<Input extends z.ZodRawShape, Output extends z.ZodObject, Names extends string> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly annotations: ToolAnnotations
  /** The calls of the ledger that it makes, besides `log` and those of a conversation. */
  readonly calls?: readonly LedgerCall<OptionShape, Names>[]
  readonly input: Input
  readonly output: Output
}

type Run<Input extends z.ZodRawShape, Output extends z.ZodObject, CallType> = (
  args: z.infer<z.ZodObject<Input>>,
  call: CallType,
) => Promise<z.input<Output>>

/** A tool that can be registered with a server. `Names` are the names of the calls that it makes. */
export interface McpTool<Names extends string = string> {
  readonly name: string
  readonly calls: readonly LedgerCall<OptionShape, Names>[]
  /** Whether it records something. */
  readonly records: boolean
  /** Whether the tool covers a whole scope: a server of one conversation does not offer it. */
  readonly needsScope: boolean
  readonly register: (server: McpServer, host: Host<Names>) => void
}

const conversation = z
  .string()
  .min(1)
  .max(512)
  .describe('Id of the conversation, from list_conversations, a hit of memory_read or the list of resources')

/** The text of an error for the client. */
export function errorText(error: unknown, onProblem: Host<never>['onProblem']): string {
  const { fault, message } = faultOf(error)
  if (fault !== 'bug') return message
  onProblem(error)
  return `internal error of Context Ledger: ${message}`
}

function createTool<Input extends z.ZodRawShape, Output extends z.ZodObject, Names extends string>(
  definition: ToolDefinition<Input, Output, Names>,
  conversationSchema: z.ZodType<string | undefined> | undefined,
  run: Run<Input, Output, CallOfAny<Names>>,
): McpTool<Names> {
  const { name, title: toolTitle, description, annotations, calls = [], input, output } = definition
  const ownInput = z.strictObject(input)
  // Only in answers that quote: people and programs write titles.
  const hasTitle = 'conversationId' in output.shape && 'quotation' in output.shape
  const outputSchema = hasTitle ? output.extend({ title: z.string().optional() }) : output
  return {
    name,
    calls,
    records: annotations.readOnlyHint !== true,
    needsScope: conversationSchema === undefined,
    register(server, { ledger, binding, actorOptions, limits, rules, operations, onProblem }) {
      // A server of one conversation has no argument for another one.
      const isFixed = binding.conversationId !== undefined
      const inputShape: z.ZodRawShape =
        isFixed || conversationSchema === undefined ? input : { conversation: conversationSchema, ...input }
      server.registerTool(
        name,
        { title: toolTitle, description, annotations, inputSchema: z.strictObject(inputShape), outputSchema },
        async (args, { mcpReq: { signal } }): Promise<CallToolResult> => {
          try {
            signal.throwIfAborted()
            const { conversation: named, ...ownArgs } = args
            const conversationId = isFixed
              ? binding.conversationId
              : typeof named === 'string'
                ? await binding.requireConversation(named)
                : undefined
            const call = { ledger, binding, actorOptions, limits, rules, operations, conversationId, signal }
            const result = await run(ownInput.parse(ownArgs), call)
            const title =
              hasTitle && conversationId !== undefined
                ? (await titlesOf(ledger, [conversationId])).get(conversationId)
                : undefined
            const answer = outputSchema.parse(title === undefined ? result : { ...result, title })
            return { content: [{ type: 'text', text: asText(answer) }], structuredContent: answer }
          } catch (error) {
            if (signal.aborted) return { content: [{ type: 'text', text: 'the call was cancelled' }], isError: true }
            const hint =
              isLedgerError(error, 'NoSuchConversation') && !isFixed
                ? '; list_conversations lists conversations, also by a part of their id or title'
                : ''
            return { content: [{ type: 'text', text: `${errorText(error, onProblem)}${hint}` }], isError: true }
          }
        },
      )
    },
  }
}

/** A tool for one conversation. */
export const toolOfConversation = <
  Input extends z.ZodRawShape,
  Output extends z.ZodObject,
  Names extends string = never,
>(
  definition: ToolDefinition<Input, Output, Names>,
  run: Run<Input, Output, Call<Names>>,
): McpTool<Names> =>
  createTool(definition, conversation, (args, { conversationId, ...call }) => {
    if (conversationId === undefined) throw new Error(`${definition.name} was called without a conversation`)
    return run(args, { ...call, conversationId })
  })

/** A tool for one conversation or for the whole scope. */
export const toolOfAny = <Input extends z.ZodRawShape, Output extends z.ZodObject, Names extends string = never>(
  definition: ToolDefinition<Input, Output, Names>,
  run: Run<Input, Output, CallOfAny<Names>>,
): McpTool<Names> => createTool(definition, conversation.optional(), run)

/** A tool for the whole scope. */
export const toolOfScope = <Input extends z.ZodRawShape, Output extends z.ZodObject, Names extends string = never>(
  definition: ToolDefinition<Input, Output, Names>,
  run: Run<Input, Output, CallOfAny<Names>>,
): McpTool<Names> => createTool(definition, undefined, run)

/** A tool that records nothing, returns the same result again, and makes no external requests. */
export const READS: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

/** A tool that records something and deletes nothing. It runs once for each operation id. */
export const RECORDS: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
