/**
 * A `Ledger` over a service, so that programs and the command line work with both. A function that the service
 * cannot offer throws an error that says so.
 */
import { thrownSentence } from '../domain/values/thrown.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import { createAgentTools } from '../library/agent-tools.js'
import type { ActorOptions, AppendOptions, Compressed, Ledger } from '../library/ledger.js'
import { dataOfProblem, problem } from '../library/problem.js'
import { bodyOf, notSupportedRemotely, ofKey, RemoteCalls, withoutActor } from './remote-calls.js'
import { editionCalls, progressOf } from './remote-editions.js'
import { followEvents, readLog } from './remote-events.js'
import { listConversations } from './remote-list.js'
import { readingCalls } from './remote-reading.js'
import { recordingCalls } from './remote-recording.js'
import type { ClientOptions } from './transport.js'

/** How to reach the service, and what goes with what is appended. */
export interface RemoteLedgerOptions extends ClientOptions {
  /** Settings for what is appended through this ledger; they are recorded. */
  readonly policy?: AppendOptions['policy']
}

/** Tool definitions for the model; the service answers the calls. */
const toolDefinitions = createAgentTools({
  memoryRead: () => Promise.resolve([]),
  compact: () => Promise.reject(new Error('the service answers it')),
})

/**
 * Opens a ledger over a service. It sends no request before the first call.
 * @throws TypeError if an option is invalid
 */
export function openRemoteLedger({ policy, ...options }: RemoteLedgerOptions): Ledger {
  const remote = new RemoteCalls(options)
  const { calls } = remote
  const close = (): Promise<void> => {
    remote.close()
    return Promise.resolve()
  }
  return {
    ...recordingCalls(remote, policy),
    ...readingCalls(remote),
    log: (conversationId, range) => readLog(remote, conversationId, range),
    follow: (range) => followEvents(remote, range),
    list: async (filter) => await listConversations(remote, filter),
    editions: editionCalls(remote),
    prompts: {
      list: async () => await remote.value(() => calls.listPrompts({})),
      show: async (which) => await remote.value(() => calls.getPrompt({ params: { prompt: which } })),
    },
    projections: projectionCalls(remote),
    whatIf: async (conversations, { onConversation, ...rest }) =>
      await remote.job(() => calls.whatIf({ body: bodyOf({ ...rest, conversations }) }), {
        onProgress: onConversation === undefined ? undefined : progressOf(onConversation),
      }),
    tools: (conversationId, limits) => toolsOf(remote, conversationId, limits),
    compress: async (history, conversationId, actor) => await compressHistory(remote, history, conversationId, actor),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function projectionCalls(remote: RemoteCalls): Ledger['projections'] {
  const { calls } = remote
  return {
    async status() {
      type Status = Awaited<ReturnType<Ledger['projections']['status']>>
      return (await remote.value<{ readonly projections: Status }>(() => calls.getProjections({}))).projections
    },
    async rebuild(names, { signal, onProgress, fresh, batchSize } = {}) {
      if (batchSize !== undefined) throw notSupportedRemotely('batchSize', 'the service has its own')
      await remote.job(() => calls.rebuildProjections({ body: bodyOf({ names, fresh }) }), { signal, onProgress })
    },
    async catchUp() {
      return (await remote.value<{ readonly position: bigint }>(() => calls.catchUpProjections({}))).position
    },
    fillVectors: async ({ limit, signal, onProgress } = {}) =>
      await remote.job(() => calls.fillVectors({ body: withoutUndefined({ limit }) }), { signal, onProgress }),
  }
}

function toolsOf(
  remote: RemoteCalls,
  conversationId: string,
  options: Parameters<Ledger['tools']>[1] = {},
): ReturnType<Ledger['tools']> {
  const { calls } = remote
  const limits = ofKey(options)
  return toolDefinitions.map((tool) => {
    const use = async (body: object): Promise<string> => {
      const params = { conversation: conversationId, tool: tool.name }
      return (await remote.answer(() => calls.useTool(bodyOf({ params, query: withoutUndefined(limits), body })))).value
        .content
    }
    return {
      ...tool,
      async execute(args) {
        try {
          const body: unknown = typeof args === 'string' ? JSON.parse(args === '' ? '{}' : args) : (args ?? {})
          return await use(objectOf(body))
        } catch (error) {
          return JSON.stringify({ error: thrownSentence(error) })
        }
      },
      async call(args) {
        const answer: unknown = JSON.parse(await use(objectOf(args)))
        if (typeof answer === 'object' && answer !== null && 'error' in answer)
          throw problem({ kind: 'BadInput', field: tool.name, detail: `says: ${String(answer.error)}` })
        return answer
      },
    }
  })
}

async function compressHistory<Message extends object>(
  remote: RemoteCalls,
  history: readonly Message[],
  conversationId: string,
  { actor }: ActorOptions = {},
): Promise<Compressed<Message>> {
  const { calls } = remote
  try {
    withoutActor(actor)
    const { value: compressed } = await remote.answer(() =>
      calls.compress({ params: { conversation: conversationId }, body: bodyOf({ messages: history }) }),
    )
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the service's own ledger gave it
    return compressed as unknown as Compressed<Message>
  } catch (error) {
    return {
      history: [...history],
      batchesCreated: 0,
      messagesCompressed: 0,
      tokensEstimateBefore: 0,
      tokensEstimateAfter: 0,
      error: dataOfProblem(error),
    }
  }
}

/** The arguments of a tool. */
function objectOf(args: unknown): object {
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args
  throw problem({ kind: 'BadInput', field: 'the arguments', detail: 'must be an object' })
}
