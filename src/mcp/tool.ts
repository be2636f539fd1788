/** What a tool of the server is: its words, its schemas and what runs. The server binds it and renders what comes of it. */
import type { CallToolResult, McpServer, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { ActorOptions, AgentTool, Ledger } from '../library/ledger.js'
import { faultOf } from '../library/problem.js'
import type { Binding } from './binding.js'
import type { Operations } from './operations.js'
import { asText, type McpLimits } from './quotation.js'

/** What the tools and resources ask of a ledger. */
export type McpLedger = Pick<
  Ledger,
  'context' | 'messages' | 'log' | 'diff' | 'explain' | 'forgotten' | 'list' | 'search' | 'undo' | 'pin'
> & {
  /** The agent's own tools, by their names. */
  readonly tools: (...given: Parameters<Ledger['tools']>) => readonly Pick<AgentTool, 'name' | 'call'>[]
}

/** What every tool and resource of a server stands on. */
export interface Host {
  readonly ledger: McpLedger
  readonly binding: Binding
  /** Who asks, as what records something takes it. */
  readonly asking: ActorOptions
  readonly limits: Required<McpLimits>
  readonly operations: Operations
  /** Hears of a mistake of ours; whoever called is told of it too. */
  readonly onProblem: (problem: unknown) => void
}

/** One call of a tool. */
export interface Call extends Pick<Host, 'ledger' | 'binding' | 'asking' | 'limits' | 'operations'> {
  /** Within what the server is bound to. */
  readonly conversationId: string
  /** Aborted where the client takes the call back or leaves. */
  readonly signal: AbortSignal
}

/** One call of a tool that may go without a conversation. */
export type CallOfAny = Omit<Call, 'conversationId'> & { readonly conversationId: string | undefined }

interface Words<Input extends z.ZodRawShape, Output extends z.ZodObject> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly annotations: ToolAnnotations
  readonly input: Input
  readonly output: Output
}

type Run<Input extends z.ZodRawShape, Output extends z.ZodObject, Of> = (
  args: z.infer<z.ZodObject<Input>>,
  call: Of,
) => Promise<z.input<Output>>

/** A tool, ready to be bound. */
export interface McpTool {
  readonly name: string
  /** Whether it records something. */
  readonly records: boolean
  /** Whether it is about all that the server is bound to, which a server of one conversation has no use for. */
  readonly ofScope: boolean
  readonly register: (server: McpServer, host: Host) => void
}

const conversation = z
  .string()
  .min(1)
  .max(512)
  .describe('Id of the conversation, as list_conversations, hits of memory_read and the list of resources have it')

/** What somebody is told whose call was refused or failed. */
export function refusal(error: unknown, onProblem: Host['onProblem']): string {
  const { fault, message } = faultOf(error)
  if (fault !== 'bug') return message
  onProblem(error)
  return `Context Ledger made a mistake, and nobody else: ${message}`
}

function bound<Input extends z.ZodRawShape, Output extends z.ZodObject>(
  words: Words<Input, Output>,
  needs: z.ZodType<string | undefined> | undefined,
  run: Run<Input, Output, CallOfAny>,
): McpTool {
  const { name, title, description, annotations, input, output } = words
  const own = z.strictObject(input)
  return {
    name,
    records: annotations.readOnlyHint !== true,
    ofScope: needs === undefined,
    register(server, { ledger, binding, asking, limits, operations, onProblem }) {
      // A server of one conversation has no word for any other.
      const isFixed = binding.conversationId !== undefined
      const given: z.ZodRawShape = isFixed || needs === undefined ? input : { conversation: needs, ...input }
      server.registerTool(
        name,
        { title, description, annotations, inputSchema: z.strictObject(given), outputSchema: output },
        async (args, { mcpReq: { signal } }): Promise<CallToolResult> => {
          try {
            signal.throwIfAborted()
            const { conversation: named, ...others } = args
            const conversationId = isFixed
              ? binding.conversationId
              : typeof named === 'string'
                ? await binding.within(named)
                : undefined
            const call = { ledger, binding, asking, limits, operations, conversationId, signal }
            const answer = output.parse(await run(own.parse(others), call))
            return { content: [{ type: 'text', text: asText(answer) }], structuredContent: answer }
          } catch (error) {
            if (signal.aborted) return { content: [{ type: 'text', text: 'the call was taken back' }], isError: true }
            return { content: [{ type: 'text', text: refusal(error, onProblem) }], isError: true }
          }
        },
      )
    },
  }
}

/** A tool that is about one conversation. */
export const toolOfConversation = <Input extends z.ZodRawShape, Output extends z.ZodObject>(
  words: Words<Input, Output>,
  run: Run<Input, Output, Call>,
): McpTool =>
  bound(words, conversation, (args, { conversationId, ...call }) => {
    if (conversationId === undefined) throw new Error(`${words.name} was called without a conversation`)
    return run(args, { ...call, conversationId })
  })

/** A tool that is about one conversation, or about all that the server is bound to. */
export const toolOfAny = <Input extends z.ZodRawShape, Output extends z.ZodObject>(
  words: Words<Input, Output>,
  run: Run<Input, Output, CallOfAny>,
): McpTool => bound(words, conversation.optional(), run)

/** A tool that is about all that the server is bound to. */
export const toolOfScope = <Input extends z.ZodRawShape, Output extends z.ZodObject>(
  words: Words<Input, Output>,
  run: Run<Input, Output, CallOfAny>,
): McpTool => bound(words, undefined, run)

/** A tool that records nothing, gives the same again, and asks nobody outside. */
export const READS: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

/** A tool that records something, and loses nothing. Under the same operation id it does so once. */
export const RECORDS: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
