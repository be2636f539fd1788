/** The tools of an agent, and `compress`, over a service. They report errors in their results. */
import { thrownSentence } from '../../domain/values/thrown.js'
import { createAgentTools, type AgentTool } from '../../library/agent-tools.js'
import type { ActorOptions, ChatOptions, Compressed, MessageInput } from '../../library/ledger.js'
import { dataOfProblem, problem } from '../../library/problem.js'
import { useTool as useToolRoute } from '../../schema/routes/agent.js'
import { withoutActor, type Remote } from './remote.js'

/** Tool definitions for the model; the service answers the calls. */
const toolDefinitions = createAgentTools({
  memoryRead: () => Promise.resolve([]),
  compact: () => Promise.reject(new Error('the service answers it')),
})

const toolName = useToolRoute.params.shape.tool

/** The tools, bound to a conversation. */
export function remoteTools(remote: Remote, conversation: string, options: ChatOptions): readonly AgentTool[] {
  const query = withoutActor(options)
  return toolDefinitions.map((tool) => {
    const use = async (args: unknown): Promise<string> => {
      const body = objectOf(args)
      return (await remote.value('useTool', { params: { conversation, tool: toolName.parse(tool.name) }, query, body }))
        .content
    }
    return {
      ...tool,
      async execute(args) {
        try {
          return await use(typeof args === 'string' ? JSON.parse(args === '' ? '{}' : args) : (args ?? {}))
        } catch (error) {
          return JSON.stringify({ error: thrownSentence(error) })
        }
      },
      async call(args) {
        const answer: unknown = JSON.parse(await use(args))
        if (typeof answer === 'object' && answer !== null && 'error' in answer)
          throw problem({ kind: 'BadInput', field: tool.name, detail: `says: ${String(answer.error)}` })
        return answer
      },
    }
  })
}

/** The arguments of a tool. */
function objectOf(args: unknown): object {
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args
  throw problem({ kind: 'BadInput', field: 'the arguments', detail: 'must be an object' })
}

/** The context for a host's own list; the list itself if the service cannot be used. */
export async function compressRemotely<Message extends MessageInput>(
  remote: Remote,
  messages: readonly Message[],
  conversation: string,
  options: ActorOptions = {},
): Promise<Compressed<Message>> {
  try {
    withoutActor(options)
    return await remote.value('compress', { params: { conversation }, body: { messages } })
  } catch (error) {
    return {
      history: [...messages],
      batchesCreated: 0,
      messagesCompressed: 0,
      tokensEstimateBefore: 0,
      tokensEstimateAfter: 0,
      error: dataOfProblem(error),
    }
  }
}
